"""What section 4 of Dubey and Pentland 2020 says of contamination, run and by numbers."""

from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np

from agent.trimmed import TrimmedMeans
from posse.papers.checks import alike, falling, rate, under_theory
from posse.papers.dubey.setting import REGRET, byzantine, run
from posse.papers.experiment import Axes, Computation, Experiment, along, bars
from posse.papers.sample import regret
from posse.papers.statements import claim, ours

_ASSUMED = "M = 30, p = .25, T = 150, means U[.3, .7] (in full M = 200, p = .1, T = 1000)."
_UNTRIMMED = (
    "Corrected, an estimator that believes 1/8 or more trims nothing, for its interval never holds "
    "three quarters of the points."
)
_compared = partial(Experiment, axes=bars(REGRET), metric=regret, repeat=(20, 100))
_RATE, _DELTA, _ARMS = 1e-3, 1e-6, 200


def missed(mean: float, samples: int, *, variant: Any, generator: np.random.Generator) -> Any:
    """How often |μ_R - μ| > σ sqrt(ε) + sqrt(σ log(1/δ) / N), N half of the samples, of 200 arms.

    Each reward is replaced by 1 with probability ε.
    """
    estimator = TrimmedMeans(_ARMS, variant)
    rewards = generator.binomial(1, mean, _ARMS * samples).astype(float)
    rewards[generator.random(len(rewards)) < _RATE] = 1.0
    estimator.add(np.repeat(np.arange(_ARMS), samples), rewards)
    sigma = sqrt(mean * (1 - mean))
    allowed = sigma * sqrt(_RATE) + sqrt(sigma * log(1 / _DELTA) / (samples // 2))
    error = np.abs(estimator.estimate(_RATE, [_DELTA])[0] - mean)
    hits = int((error > allowed).sum())
    return {"value": hits / _ARMS, "hits": hits, "of": _ARMS}


_GAPS = {"kind": "bernoulli", "means": [0.7, 0.55, 0.45, 0.4, 0.3]}
_TRUE = (0.0, 1e-3, 1e-2)

EXPERIMENTS = (
    _compared(
        "dubey-fraction", "section 4.2", "A fraction of the agents is byzantine",
        claim("a fraction f with ε is in expectation as all with f ε (here: within 10 %)", "4.2",
              alike("all lie, rate .05", "half of them lie, rate .1", 0.1)),
        lines=lambda quick: {
            "half of them lie, rate .1":
                byzantine(quick, 0.1, agents=15 if quick else 100, assumed=0.05),
            "all lie, rate .05": byzantine(quick, 0.05, assumed=0.05),
        },
        assumed=_ASSUMED,
    ),
    _compared(
        "dubey-overestimate", "section 4.2", "The contamination is over-estimated",
        claim("if ε is over-estimated the performance remains unchanged (here: within 10 %)",
              "4.2", alike("believed 0.01", ("believed 0.1", "believed 0.3"), 0.1)),
        lines=lambda quick: {
            f"believed {rate:g}": byzantine(quick, 0.01, assumed=rate) for rate in (0.01, 0.1, 0.3)
        },
        assumed=f"{_ASSUMED} True rate .01. {_UNTRIMMED}",
    ),
    _compared(
        "dubey-relay", "section 4", "Messages corrupted on their way",
        ours("corruption by intermediaries costs less regret than γε at the source",
             falling("at the source, rate 2ε = .3", "by intermediaries, rate ε = .15")),
        lines=lambda quick: {
            "at the source, rate 2ε = .3": byzantine(quick, 0.3, 2, assumed=0.3),
            "by intermediaries, rate ε = .15":
                byzantine(quick, 0.15, 2, form="relay", assumed=0.3),
        },
        repeat=(20, 50),
        assumed=f"{_ASSUMED} γ = 2; the estimator believes .3, beyond Theorem 4.3's condition. The "
        f"paper only says that a message is corrupted with probability γε at most. {_UNTRIMMED}",
    ),
    Experiment(
        "dubey-coverage", "Theorem 4.2", "How often the robust mean misses its confidence bound",
        claim("|μ_R − μ| <= σ√ε + √(σ log(1/δ)/N) with probability 1 − δ: means .3 to .7",
              "Theorem 4.2", rate(("μ = 0.3", "μ = 0.5", "μ = 0.7"), _DELTA)),
        claim("the same for any law of finite variance: means .1, .2, .8, .9", "Theorem 4.2",
              rate(("μ = 0.1", "μ = 0.2", "μ = 0.8", "μ = 0.9"), _DELTA)),
        lines=along(partial(Computation, missed),
                   {f"μ = {mean:g}": mean for mean in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9)},
                   (150, 300, 550, 1000)),
        axes=Axes("samples |S|", "share of estimates beyond the bound", "x"),
        repeat=(10, 50),
        assumed="Bernoulli rewards, ε = .001 (replaced by 1), δ = 10⁻⁶ as at t = 1000, "
        "σ² = μ(1 − μ), N = |S|/2.",
    ),
    Experiment(
        "dubey-theorem-4-3", "Theorem 4.3",
        "Regret of byzantine-proof cooperation against its bound",
        *(
            claim(f"ε = {rate:g}: regret is below the bound", "Theorem 4.3",
                  under_theory("Byzantine", rate))
            for rate in _TRUE
        ),
        lines={"Byzantine": {
            rate: run("byzantine-ucb", True, _GAPS, gamma=1, contamination={"rate": rate})
            for rate in _TRUE
        }},
        axes=Axes("contamination ε", REGRET), metric=regret, repeat=(6, 50),
        assumed="M = 30, p = .25, T = 150, γ = 1; means .7, .55, .45, .4, .3, so that "
        "2σ√ε < Δ, which the proof needs where the theorem prints 2σε < Δ.",
    ),
)  # fmt: skip
