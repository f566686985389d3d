"""What section 4 of Dubey and Pentland 2020 says of contamination, run and by numbers."""

from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np

from agent.trimmed import TrimmedMeans
from posse.papers.checks import Alike, Falling
from posse.papers.dubey.setting import byzantine, run
from posse.papers.experiment import Experiment
from posse.papers.limits import AtMost, Rate, UnderTheory
from posse.papers.points import Computation, Point, always, by_line
from posse.papers.sample import regret, value
from posse.papers.statements import claim, ours

_ASSUMED = "M = 30, p = .25, T = 150, means U[.3, .7] (in full M = 200, p = .1, T = 1000)."
_compared = partial(
    Experiment,
    y_label="regret of all agents",
    metric=regret,
    shape="bars",
    repeat=(20, 100),
)


def _fraction(quick: bool) -> list[Point]:
    half = 15 if quick else 100
    return by_line({
        "half of them lie, rate .1": byzantine(quick, 0.1, agents=half, assumed=0.05),
        "all lie, rate .05": byzantine(quick, 0.05, assumed=0.05),
    })  # fmt: skip


_BELIEVED = (0.01, 0.1, 0.3)


def _overestimated(quick: bool) -> list[Point]:
    return by_line(
        {f"believed {rate:g}": byzantine(quick, 0.01, assumed=rate) for rate in _BELIEVED}
    )


def _relayed(quick: bool) -> list[Point]:
    return by_line({
        "at the source, rate 2ε = .3": byzantine(quick, 0.3, 2, assumed=0.3),
        "by intermediaries, rate ε = .15": byzantine(quick, 0.15, 2, form="relay", assumed=0.3),
    })  # fmt: skip


_MEANS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9)
_SAMPLES = (150, 300, 550, 1000)
_RATE, _DELTA, _ARMS = 1e-3, 1e-6, 200


def _estimates(variant: Any, generator: np.random.Generator, mean: float, samples: int) -> Any:
    """The robust means of 200 arms of this mean, each reward replaced by 1 with probability ε."""
    estimator = TrimmedMeans(_ARMS, variant)
    rewards = generator.binomial(1, mean, _ARMS * samples).astype(float)
    rewards[generator.random(len(rewards)) < _RATE] = 1.0
    estimator.add(np.repeat(np.arange(_ARMS), samples), rewards)
    return estimator.estimate(_RATE, _DELTA)


def missed(variant: Any, generator: np.random.Generator, mean: float, samples: int) -> Any:
    """How often |μ_R - μ| > σ sqrt(ε) + sqrt(σ log(1/δ) / N), N half of the samples."""
    sigma = sqrt(mean * (1 - mean))
    allowed = sigma * sqrt(_RATE) + sqrt(sigma * log(1 / _DELTA) / (samples // 2))
    error = np.abs(_estimates(variant, generator, mean, samples) - mean)
    hits = int((error > allowed).sum())
    return {"value": hits / _ARMS, "hits": hits, "of": _ARMS}


def bias(variant: Any, generator: np.random.Generator, mean: float, samples: int) -> Any:
    """|μ_R - μ| on average over 200 arms, as a bias."""
    return {"value": abs(float(_estimates(variant, generator, mean, samples).mean()) - mean)}


def _means_points(of: Any, means: tuple[float, ...]) -> Any:
    return always(
        {f"μ = {mean:g}": {n: Computation(of, mean, n) for n in _SAMPLES} for mean in means}
    )


_GAPS = {"kind": "bernoulli", "means": [0.7, 0.55, 0.45, 0.4, 0.3]}


def _theorem_4_3(rate: float) -> dict[str, Any]:
    return run("byzantine-ucb", True, _GAPS, gamma=1, contamination={"rate": rate})


_RATES = (0.0, 1e-3, 1e-2)

EXPERIMENTS = (
    _compared(
        "dubey-fraction", "section 4.2", "A fraction of the agents is byzantine",
        points=_fraction,
        assumed=_ASSUMED,
        statements=(
            claim("a fraction f with ε is in expectation as all with f ε (here: within 10 %)",
                  "4.2", Alike(("all lie, rate .05", "half of them lie, rate .1"), 0.1)),
        ),
    ),
    _compared(
        "dubey-overestimate", "section 4.2", "The contamination is over-estimated",
        points=_overestimated,
        assumed=f"{_ASSUMED} True rate .01.",
        statements=(
            claim("if ε is over-estimated the performance remains unchanged (here: within 10 %)",
                  "4.2", Alike(tuple(f"believed {rate:g}" for rate in _BELIEVED), 0.1)),
        ),
    ),
    _compared(
        "dubey-relay", "section 4", "Messages corrupted on their way",
        points=_relayed,
        assumed=f"{_ASSUMED} γ = 2; the estimator believes .3.",
        statements=(
            claim("corruption by intermediaries acts as at most γε at the source", "4",
                  Falling(("at the source, rate 2ε = .3", "by intermediaries, rate ε = .15"))),
        ),
    ),
    Experiment(
        "dubey-coverage", "Theorem 4.2", "How often the robust mean misses its confidence bound",
        x_label="samples |S|",
        y_label="share of estimates beyond the bound",
        points=_means_points(missed, _MEANS),
        repeat=(10, 50),
        metric=value,
        log="x",
        assumed="Bernoulli rewards, ε = .001 (replaced by 1), δ = 10⁻⁶ as at t = 1000, "
        "σ² = μ(1 − μ), N = |S|/2.",
        statements=(
            claim("|μ_R − μ| <= σ√ε + √(σ log(1/δ)/N) with probability 1 − δ: means .3 to .7",
                  "Theorem 4.2",
                  Rate(("μ = 0.3", "μ = 0.5", "μ = 0.7"), _DELTA)),
            claim("the same for any law of finite variance: means .1, .2, .8, .9", "Theorem 4.2",
                  Rate(("μ = 0.1", "μ = 0.2", "μ = 0.8", "μ = 0.9"), _DELTA)),
        ),
    ),
    Experiment(
        "dubey-bias", "", "The bias of the robust mean on Bernoulli rewards",
        x_label="samples |S|",
        y_label="absolute bias",
        points=_means_points(bias, (0.1, 0.3, 0.5, 0.7, 0.9)),
        repeat=(10, 50),
        metric=value,
        log="x",
        assumed="ε = .001, δ = 10⁻⁶.",
        statements=(
            ours("at most .05 for means in [.3, .7]",
                 AtMost(("μ = 0.3", "μ = 0.5", "μ = 0.7"), 0.05)),
            ours("and for means of .1 and .9", AtMost(("μ = 0.1", "μ = 0.9"), 0.05)),
        ),
    ),
    Experiment(
        "dubey-theorem-4-3", "Theorem 4.3",
        "Regret of byzantine-proof cooperation against its bound",
        x_label="contamination ε",
        y_label="regret of all agents",
        points=always({"Byzantine": {rate: _theorem_4_3(rate) for rate in _RATES}}),
        repeat=(10, 50),
        metric=regret,
        assumed="M = 30, p = .25, T = 150, γ = 1; means .7, .55, .45, .4, .3, so that "
        "2σ√ε < Δ, which the proof needs where the theorem prints 2σε < Δ.",
        statements=tuple(
            claim(f"ε = {rate:g}: regret is below the bound", "Theorem 4.3",
                  UnderTheory("Byzantine", rate, _theorem_4_3(rate)))
            for rate in _RATES
        ),
    ),
)  # fmt: skip
