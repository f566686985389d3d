"""Theorems 1 to 4 and Corollaries 1 and 2 of Li and Song 2022: rounds, cost and regret."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from posse.papers.checks import alike, at_most, check, equal, plan_of, under_theory
from posse.papers.experiment import Axes, Experiment, Lines, along, bars
from posse.papers.li.setting import GRAPHS, LONG, bounded, cdp, ddp, hdp, instance, parts, unlimited
from posse.papers.sample import communications, cost, cost_of_a_round, regret
from posse.papers.statements import Finding, Measured, claim, verdict
from posse.theory.bounds import mean_gaps, positive
from posse.theory.federated import elimination_rounds
from protocol.federated import uploaders

_TEN: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 10}}
_M = 50
_SHARES = {"p=1": 1.0, "p=0.6": 0.6}
FREE = cdp(arms=_TEN, horizon=LONG, noise="printed")


@check
def few_rounds(measured: Measured, line: str) -> Finding:
    """Every run takes at most ⌈log2(1/Δ) + 1⌉ rounds, Δ the smallest gap of its instance."""
    spec = plan_of(measured, line).spec
    spare = []
    for number, sample in enumerate(measured.runs[line, 0.0]):
        limit = elimination_rounds(float(positive(mean_gaps(spec, number)).min()))
        spare.append(limit - (sample.communications or 0))
    under = sum(rest >= 0 for rest in spare)
    said = f"in {under} of {len(spare)} runs; at least {min(spare)} to spare"
    return verdict(under == len(spare), said)


def equation_26(line: str, x: float) -> float:
    """M Σ_k Δ_k n_k with the proof's constants, ε = 1, the one instance and T = 10^6:

    n_k = max(96 log(R²KT) / (p Δ_k² Δ^(2/R)), 16 R sqrt(6 log(R²KT)) / (√M p^1.5 ε Δ_k Δ^(1/R)))
    over M.
    """
    p, arms = _SHARES[line], 100
    gaps = instance()[1][1:]
    logs, least = math.log(x**2 * arms * LONG), float(gaps[0])
    chance = 96 * logs / (p * gaps**2 * least ** (2 / x))
    noise = 16 * x * math.sqrt(6 * logs) / (math.sqrt(_M) * p**1.5 * gaps * least ** (1 / x))
    return float((gaps * np.maximum(chance, noise)).sum())


@check
def times_more(measured: Measured, lines: Iterable[str]) -> Finding:
    """The regret is at most min(M, T^(2/R) / p^1.5) times that without a limit."""
    free = measured.mean("without a limit", 0.0)[0]
    limited = at_most(
        lines, lambda line, x: float(free * min(_M, LONG ** (2 / x) / _SHARES[line] ** 1.5))
    )
    return limited(measured)


_TWENTY = 20


_LINKS = {"complete": 1.0 * 190, "star": 2.0 * 19, "ring": 10.0 * 20}
"""d_G Σ d_i / 2 of each graph of 20."""


def _free_and_cut(over: Callable[..., Any], links: dict[str, Any]) -> Lines:
    """Without a limit and in three rounds, the latter with a server too."""
    twenty = partial(over, agents=_TWENTY, arms=_TEN)
    cut = {"max_rounds": 3, "gap": 0.05}
    return {
        **{name: twenty(of) for name, of in links.items()},
        **{f"{name}, R = 3": twenty(of, **cut) for name, of in links.items()},
        "CDP-MAB, R = 3": cdp(_TWENTY, _TEN, **cut),
    }


_PARTS = {
    "four complete": (parts("complete", 5, 5, 5, 5), 1),
    "four stars": (parts("star", 5, 5, 5, 5), 2),
    "four rings": (parts("ring", 5, 5, 5, 5), 2),
}


def _round_at_most(name: str, less: int) -> float:
    """c2 M max_q (d_q - `less`) + c1 Q with c1 = 50, c2 = 1, Q = 4."""
    return float(_TWENTY * (_PARTS[name][1] - less) + 50 * 4)


_CUT_GRAPHS, _CUT_PARTS = ([f"{name}, R = 3" for name in names] for names in (_LINKS, _PARTS))
_theorem = partial(Experiment, axes=bars("regret"), metric=regret, repeat=(10, 100))

EXPERIMENTS = (
    _theorem(
        "li-theorem-1", "Theorem 1", "Rounds, cost and regret of CDP-MAB",
        claim("at most ⌈log(1/Δ) + 1⌉ rounds (log to the base 2)", "Theorem 1, proof",
              few_rounds("CDP-MAB")),
        claim("a communication cost of c1 M for each round", "Theorem 1",
              equal({"CDP-MAB": 25.0 * _M}, cost_of_a_round)),
        claim("regret below the proof's sum over the arms", "Theorem 1, equation 22",
              under_theory("CDP-MAB")),
        lines={"CDP-MAB": FREE},
        axes=bars("rounds of communication"), metric=communications, repeat=(30, 100),
        variants=("corrected",),
        assumed="M = 50, K = 10, means U[0, 1], T = 10⁶, ε = 1; every run has its own instance. "
        "The sum is of the first line of equation 22, whose third has 16 for 128.",
    ),
    _theorem(
        "li-theorem-2", "Theorem 2", "CDP-MAB in R rounds with partial participation",
        claim("a communication cost of c1 ⌈pM⌉ R (runs that identify an arm before may save "
              "rounds: at most)", "Theorem 2",
              at_most(_SHARES, lambda line, rounds: 25 * uploaders(_M, _SHARES[line]) * rounds,
                      metric=cost)),
        claim("regret below the proof's sum over the arms", "Theorem 2, equation 26",
              at_most(_SHARES, equation_26)),
        claim("min(M, T^(2/R)/p^1.5) times the regret without a limit at most", "I, Theorem 2",
              times_more(_SHARES)),
        lines={
            **along(lambda p, rounds: bounded(rounds, participation=p), _SHARES, (2, 3, 4, 5)),
            "without a limit": unlimited(),
        },
        axes=Axes("rounds R", "regret", "y"), variants=("corrected",),
        assumed="M = 50, K = 100, one instance whose smallest gap is told, T = 10⁶, ε = 1, c1 = "
        "25. R = 2 with p = .6 and less does not end before T.",
    ),
    _theorem(
        "li-theorem-3", "Theorem 3, Corollary 1, Table I",
        "Cost and regret of DDP-MAB, without a limit and in three rounds",
        claim("a round costs c2 d_G Σ d_i / 2 (on star, ring and complete graph exactly)",
              "Theorem 3", equal(_LINKS, cost_of_a_round)),
        *(
            claim(f"{kind}: regret below the proof's sum with the delay's share",
                  "Theorem 3, equations 22, 29", under_theory(kind))
            for kind in _LINKS
        ),
        claim("R rounds: a cost of c2 d_G R Σ d_i / 2 at most", "Corollary 1",
              at_most(_CUT_GRAPHS, lambda line, x: 3 * _LINKS[line.partition(",")[0]],
                      metric=cost)),
        claim("R rounds: the regret is that of CDP-MAB and O(M (d_G − 1)) (here: within 10 %)",
              "Corollary 1", alike("CDP-MAB, R = 3", _CUT_GRAPHS, 0.1)),
        lines=_free_and_cut(ddp, {kind: GRAPHS[kind] for kind in _LINKS}),
        variants=("corrected",),
        assumed="M = 20, K = 10, T = 10⁵, ε = 1, c2 = 1; in three rounds the smallest gap is told "
        "to be .05.",
    ),
    _theorem(
        "li-theorem-4", "Theorem 4, Corollary 2",
        "Cost and regret of HDP-MAB, without a limit and in three rounds",
        claim("a round costs at most c2 M max d_G + c1 Q", "Theorem 4",
              at_most(_PARTS, lambda line, x: _round_at_most(line, 0), metric=cost_of_a_round)),
        *(
            claim(f"{name}: regret below the proof's sum with the delay's share",
                  "Theorem 4, equations 22, 34", under_theory(name), "corrected")
            for name in _PARTS
        ),
        claim("R rounds: a cost of O(c2 M max (d_G − 1) + c1 Q) R (here: with the constant 1)",
              "Corollary 2",
              at_most(_CUT_PARTS, lambda line, x: _round_at_most(line.partition(",")[0], 1),
                      metric=cost_of_a_round)),
        claim("R rounds: the regret is that of CDP-MAB and O(M max d_G) (here: within 10 %)",
              "Corollary 2", alike("CDP-MAB, R = 3", _CUT_PARTS, 0.1)),
        lines=_free_and_cut(hdp, {name: of for name, (of, _) in _PARTS.items()}),
        assumed="M = 20 in four components of five, K = 10, T = 10⁵, ε = 1, c1 = 50, c2 = 1; in "
        "three rounds the smallest gap is told to be .05. Of complete components a round costs "
        "c2 (M − Q) + c1 Q, which no constant makes of Corollary 2's c1 Q.",
    ),
)  # fmt: skip
