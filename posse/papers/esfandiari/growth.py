"""Lemma 1 and Theorems 1 and 2 of Esfandiari et al. 2022: how regret grows."""

from functools import partial
from itertools import pairwise
from math import inf, log, sqrt
from typing import Any

import numpy as np

from posse.papers.checks import exponent
from posse.papers.esfandiari.setting import REGRET, UNIFORM, C, anonymous, commit
from posse.papers.experiment import Axes, Computation, Experiment, computed
from posse.papers.limits import at_most
from posse.papers.sample import regret
from posse.papers.statements import claim
from protocol.anonymous import grid

_PROVED = 12
"""γ of appendix A, with which the best arm is lost with probability 2/(HK)² at most."""


def batch(variant: Any, generator: np.random.Generator, arms: int, horizon: int) -> float:
    """max_b D_b max_{j in A_b} Δ_j over sqrt(K H log(HK)) of BaSE, unit Gaussian noise.

    One user, means U[0, 1]; after batch b an arm leaves when its mean of τ_b samples is
    sqrt(γ log(HK) / τ_b) below the best.
    """
    means = generator.uniform(0, 1, arms)
    gaps = means.max() - means
    ends = [0, *grid(horizon)]
    alive = np.arange(arms)
    sums, taken, worst = np.zeros(arms), 0, 0.0
    for before, end in pairwise(ends):
        demand = end - before
        worst = max(worst, demand * float(gaps[alive].max()))
        each = max(1, demand // len(alive))
        sums[alive] += generator.normal(each * means[alive], sqrt(each))
        taken += each
        found = sums[alive] / taken
        width = sqrt(_PROVED * log(horizon * arms) / taken)
        alive = alive[found > found.max() - width]
    return worst / sqrt(arms * horizon * log(horizon * arms))


_THREE = {**UNIFORM, "count": 3}
_TIMES, _GROUPS = (5_000, 50_000, 700_000), (3, 5, 10)
"""Horizons at which α = 1 and B = ⌈log2 log2 H⌉ = 4 throughout; C."""
_ARMS = {f"K = {arms}": arms for arms in (2, 5, 20)}
_BATCHED, _COMMIT = "Algorithm 1", "explore-then-commit"
_grows = partial(Experiment, metric=regret, repeat=(6, 20), variants=("corrected",))

EXPERIMENTS = (
    computed(
        "esfandiari-batches", "Lemma 1", "The regret of one batch of BaSE",
        claim("E[D_b max Δ_j over the alive arms] = Õ(√(K H)) in every batch (here: the proof's "
              "constant)", "Lemma 1", at_most(_ARMS, 2 * sqrt(_PROVED))),
        lines={line: {float(h): Computation(batch, arms, h) for h in (1000, 10**4, 10**5, 10**6)}
               for line, arms in _ARMS.items()},
        axes=Axes("horizon H", "over sqrt(K H log(HK))", "x"), repeat=(40, 1000),
        assumed="B = ⌈log2 log2 H⌉, γ = 12, means U[0, 1], unit Gaussian noise. The constant of "
        "the proof, two radii of an arm that survived the batch before, is 2 sqrt 12 = 6.9.",
    ),
    _grows(
        "esfandiari-horizon", "Theorems 1 and 2", "How regret grows with time",
        claim("Algorithm 1: at most N C √(αKT), as T^½ (here: up to T^.6)", "Theorem 1",
              exponent(_BATCHED, -inf, 0.6)),
        claim("explore-then-commit: as T^⅔ (here: T^.57 to T^.77)", "Theorem 2",
              exponent(_COMMIT, 0.57, 0.77)),
        lines=lambda quick: {
            _BATCHED: {t: anonymous(96, _THREE, t) for t in _TIMES[: 2 if quick else 3]},
            _COMMIT: {t: commit(24, _THREE, t) for t in _TIMES[: 2 if quick else 3]},
        },
        axes=Axes("rounds T", REGRET, "xy"),
        assumed=f"K = 3, C = {C}; Algorithm 1 with N = 96, LP, explore-then-commit with N = 24. T "
        "is so that α = 1 and B = 4 stay the same.",
    ),
    _grows(
        "esfandiari-groups", "Theorems 1 and 2", "How regret grows with the size of the groups",
        claim("Algorithm 1: at most as C (here: up to C^1.1)", "Theorem 1",
              exponent(_BATCHED, -inf, 1.1)),
        claim("explore-then-commit: at most as C^⅔ (here: up to C^.75)", "Theorem 2",
              exponent(_COMMIT, -inf, 0.75)),
        lines={
            _BATCHED: {c: anonymous(200, _THREE, 100_000, c) for c in _GROUPS},
            _COMMIT: {c: commit(24, _THREE, 100_000, c) for c in _GROUPS},
        },
        axes=Axes("anonymity C", REGRET, "xy"),
        assumed="K = 3, T = 10⁵; Algorithm 1 with N = 200, so that α = 1 (U >= K (C + 1)) and "
        "B = 4 stay the same, explore-then-commit with N = 24.",
    ),
)  # fmt: skip
