"""Figures 4 to 8 of Li and Song 2022: agents with a server."""

from functools import partial
from typing import Any

from posse.papers.checks import alike, bounded, check, falling, ratio, trend, within
from posse.papers.experiment import Axes, Experiment, Lines, along, curves
from posse.papers.li.setting import ASSUMED, CENTRED, HETEROGENEOUS, LONG, SILENT, cdp, unlimited
from posse.papers.li.setting import bounded as in_rounds
from posse.papers.sample import cost, regret
from posse.papers.statements import Finding, Measured, claim, ours

_EPSILONS = {"ε=0.1": 0.1, "ε=0.3": 0.3, "ε=0.5": 0.5, "ε=1": 1.0}


def _figure_4(noise: str) -> Lines:
    epsilons = _EPSILONS | {"no noise": SILENT}
    return {line: cdp(epsilon=epsilon, noise=noise) for line, epsilon in epsilons.items()}


_READINGS: dict[str, dict[str, Any]] = {
    "each agent by itself, ε": {"noise": "per_agent"},
    "shared, half honest, ε": {"noise": "shared", "honest": 0.5},
    "shared, all honest, ε": {"noise": "shared", "honest": 1.0},
    "as printed, M ε": {"noise": "printed"},
}
_TWENTY: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 20}}
_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
_ROUNDS = {f"R={rounds}": rounds for rounds in (2, 3, 4, 5)}


def _figure_7(quick: bool) -> Lines:
    shares = (0.2, 0.6, 1.0) if quick else _SHARES
    limited = along(lambda rounds, p: in_rounds(rounds, participation=p), _ROUNDS, shares)
    return {**limited, "without a limit": {1.0: unlimited()}}


_STRUCTURES = {"homogeneous": CENTRED, "heterogeneous": HETEROGENEOUS}


@check
def linear(measured: Measured, line: str) -> Finding:
    """Once the own best arm is found: the last quarter costs .9 of the one before or more."""
    third, last = measured.grown(line, LONG / 2, 0.75 * LONG, LONG)
    rest, half = bounded(list(last - 0.9 * third))
    said = f"third quarter {third.mean():,.0f}, last quarter {last.mean():,.0f}"
    return Finding(within(rest - half, rest + half, least=0), said)


_figure = partial(
    Experiment, axes=curves("time (slots)", "regret"), metric=regret, repeat=(40, 100),
    variants=("corrected",),
)  # fmt: skip

EXPERIMENTS = (
    _figure(
        "li-4", "Figure 4", "Regret of CDP-MAB against ε",
        claim("regret increases as ε decreases: .1, .3, .5, 1 from the top", "VII-A1",
              falling(*_EPSILONS)),
        claim("ε = 1 is the non-private case (here: within 5 % of no noise)", "VII-A1",
              alike("no noise", "ε=1", 0.05)),
        lines=_figure_4("printed"),
        assumed=ASSUMED,
    ),
    _figure(
        "li-4-per-agent", "", "Regret of CDP-MAB against ε, noise for each agent by itself",
        ours("the order of Figure 4", falling(*_EPSILONS)),
        ours("ε = 1 is within 5 % of no noise", alike("no noise", "ε=1", 0.05)),
        lines=_figure_4("per_agent"),
        assumed=f"{ASSUMED} Noise Lap(1/(ε d)): ε is each agent's own level, where the printed "
        "noise gives it M ε.",
    ),
    _figure(
        "li-shared", "", "Regret of CDP-MAB by where its noise is added",
        ours("at ε for each agent, shared noise costs less regret than noise by itself; the more "
             "agents are honest the less; most is saved by M ε for ε", falling(*_READINGS)),
        ours("shared noise, half of the agents honest, costs at most two thirds of the regret of "
             "noise by itself", ratio(("shared, half honest, ε", 0.0),
                                      ("each agent by itself, ε", 0.0), 0.0, 2 / 3)),
        lines={
            line: cdp(arms=_TWENTY, horizon=20_000, epsilon=0.5, **noise)
            for line, noise in _READINGS.items()
        },
        repeat=(20, 100),
        assumed="T = 20,000, K = 20, means U[0, 1], M = 50, ε = .5, δ' = 10⁻⁶. The server reads "
        "each agent's means, with shared noise the sum over all agents alone.",
    ),
    _figure(
        "li-5", "Figure 5", "Partial participation",
        claim("regret at T decreases as p increases", "VII-A2", trend("CDP-MAB", -1)),
        lines={"CDP-MAB": {p: cdp(participation=p) for p in _SHARES}},
        axes=Axes("participation p", "regret"),
        assumed=f"{ASSUMED} ε = 1.",
    ),
    _figure(
        "li-6", "Figure 6", "At most R rounds of communication",
        claim("regret decreases as R increases", "VII-A2", trend("CDP-MAB", -1)),
        claim("R = 4 and R = 5 are almost the same (here: within 10 %)", "VII-A2",
              ratio(("CDP-MAB", 4), ("CDP-MAB", 5), 0.9, 1.1)),
        lines={"CDP-MAB": {rounds: in_rounds(rounds) for rounds in _ROUNDS.values()}},
        axes=Axes("rounds R", "regret"),
        assumed="T = 10⁶; one instance, whose smallest gap is told; ε = 1.",
    ),
    _figure(
        "li-7", "Figure 7", "Rounds and participation together",
        claim("a clear trade-off of cost and regret: less regret with every round more", "VII-A2",
              falling(*_ROUNDS)),
        claim("and less regret with more participation", "VII-A2", trend(_ROUNDS, -1)),
        claim("R = 5, p = 1: the regret is close to that of Figure 4 at ε = 1 (here: within 10 % "
              "of no limit on the rounds)", "VII-A2",
              ratio(("R=5", 1.0), ("without a limit", 1.0), 0.9, 1.1)),
        claim("R = 5, p = 1: close to the largest cost (here: within a fifth)", "VII-A2",
              ratio(("R=5", 1.0), ("without a limit", 1.0), 0.8, 1.2, cost)),
        lines=_figure_7,
        axes=Axes("participation p", "regret"), repeat=(20, 100),
        assumed="T = 10⁶; one instance, whose smallest gap is told; ε = 1.",
    ),
    _figure(
        "li-8", "Figure 8", "Together or alone, homogeneous and heterogeneous rewards",
        claim("CDP-MAB's regret is similar under both structures (here: within a quarter)",
              "VII-A3", alike("CDP-MAB, homogeneous", "CDP-MAB, heterogeneous", 0.25)),
        claim("homogeneous: it reaches 1/M of the single agents' (here: 1/4 to 1/6)", "VII-A3",
              ratio(("single-MAB, homogeneous", 0.0), ("CDP-MAB, homogeneous", 0.0), 4.0, 6.0)),
        claim("heterogeneous: a single agent cannot converge, its regret is linear in the exploit "
              "phase (here: the second half)", "VII-A3",
              linear("single-MAB, heterogeneous")),
        lines={
            f"{system}, {name}": {**cdp(5, arms, horizon=LONG), "system": system.lower()}
            for name, arms in _STRUCTURES.items()
            for system in ("CDP-MAB", "single-MAB")
        },
        repeat=(300, 1000),
        assumed="T = 10⁶; M = 5, K = 10; global means U[.1, .9], own offsets U[-.1, .1] centred.",
    ),
)  # fmt: skip
