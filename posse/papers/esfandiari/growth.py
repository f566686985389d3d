"""Lemma 1 and Theorems 1 and 2 of Esfandiari et al. 2022: how regret grows."""

from functools import partial
from itertools import pairwise
from math import inf, log, sqrt
from typing import Any

import numpy as np

from posse.papers.checks import Exponent
from posse.papers.esfandiari.setting import UNIFORM, C, anonymous, commit
from posse.papers.experiment import Experiment, computed
from posse.papers.limits import AtMost
from posse.papers.points import Computation, Point, always, by_line
from posse.papers.sample import regret
from posse.papers.statements import claim
from protocol.anonymous import grid

_PROVED = 12
"""γ of appendix A, with which the best arm is lost with probability 2/(HK)² at most."""


def batch(variant: Any, generator: np.random.Generator, arms: int, horizon: int) -> dict[str, Any]:
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
    return {"value": worst / sqrt(arms * horizon * log(horizon * arms))}


_ARMS, _BATCHES = (2, 5, 20), (1e3, 1e4, 1e5, 1e6)


_THREE = {**UNIFORM, "count": 3}
_TIMES, _GROUPS = (5_000, 50_000, 700_000), (3, 5, 10)
"""Horizons at which α = 1 and B = ⌈log2 log2 H⌉ = 4 throughout."""


def _times(quick: bool) -> list[Point]:
    times = _TIMES[:2] if quick else _TIMES
    return by_line({
        "Algorithm 1": {t: anonymous(96, _THREE, t) for t in times},
        "explore-then-commit": {t: commit(24, _THREE, t) for t in times},
    })  # fmt: skip


_grows = partial(
    Experiment,
    y_label="regret of all users",
    metric=regret,
    log="xy",
    variants=("corrected",),
)

EXPERIMENTS = (
    computed(
        "esfandiari-batches", "Lemma 1", "The regret of one batch of BaSE",
        x_label="horizon H",
        y_label="over sqrt(K H log(HK))",
        points=always({f"K = {arms}": {h: Computation(batch, arms, int(h)) for h in _BATCHES}
                       for arms in _ARMS}),
        repeat=(40, 1000),
        log="x",
        assumed="B = ⌈log2 log2 H⌉, γ = 12, means U[0, 1], unit Gaussian noise. The constant of "
        "the proof, two radii of an arm that survived the batch before, is 2 sqrt 12 = 6.9.",
        statements=(
            claim("E[D_b max Δ_j over the alive arms] = Õ(√(K H)) in every batch (here: the "
                  "proof's constant)", "Lemma 1",
                  AtMost(tuple(f"K = {arms}" for arms in _ARMS), 2 * sqrt(_PROVED))),
        ),
    ),
    _grows(
        "esfandiari-horizon", "Theorems 1 and 2", "How regret grows with time",
        x_label="rounds T",
        points=_times,
        repeat=(6, 20),
        assumed=f"K = 3, C = {C}; Algorithm 1 with N = 96, LP, explore-then-commit with N = 24. T "
        "is so that α = 1 and B = 4 stay the same.",
        statements=(
            claim("Algorithm 1: at most N C √(αKT), as T^½ (here: up to T^.6)", "Theorem 1",
                  Exponent(("Algorithm 1",), -inf, 0.6)),
            claim("explore-then-commit: as T^⅔ (here: T^.57 to T^.77)", "Theorem 2",
                  Exponent(("explore-then-commit",), 0.57, 0.77)),
        ),
    ),
    _grows(
        "esfandiari-groups", "Theorems 1 and 2", "How regret grows with the size of the groups",
        x_label="anonymity C",
        points=always({
            "Algorithm 1": {c: anonymous(200, _THREE, 100_000, c) for c in _GROUPS},
            "explore-then-commit": {c: commit(24, _THREE, 100_000, c) for c in _GROUPS},
        }),
        repeat=(6, 20),
        assumed="K = 3, T = 10⁵; Algorithm 1 with N = 200, so that α = 1 (U >= K (C + 1)) and "
        "B = 4 stay the same, explore-then-commit with N = 24.",
        statements=(
            claim("Algorithm 1: at most as C (here: up to C^1.1)", "Theorem 1",
                  Exponent(("Algorithm 1",), -inf, 1.1)),
            claim("explore-then-commit: at most as C^⅔ (here: up to C^.75)", "Theorem 2",
                  Exponent(("explore-then-commit",), -inf, 0.75)),
        ),
    ),
)  # fmt: skip
