"""Theorems 3 to 5 of Esfandiari et al. 2022: lower bounds, on the instances of their proofs."""

from functools import partial
from itertools import product
from math import inf, sqrt
from typing import Any

from posse.papers.checks import exponent
from posse.papers.esfandiari.setting import REGRET, anonymous, commit
from posse.papers.experiment import Axes, Computation, Experiment, bars, computed
from posse.papers.limits import at_most, equal
from posse.papers.sample import named, regret
from posse.papers.statements import claim

_N, _K = 60, 3


def _one_favourite(group_size: int, horizon: int) -> list[list[float]]:
    """Means 1/2, and more by sqrt(CK/T)/2 for each user's one arm: Theorem 3's family."""
    gap = sqrt(group_size * _K / horizon) / 2
    return [[0.5 + gap * (arm == user % _K) for arm in range(_K)] for user in range(_N)]


def lower(line: str, x: float) -> float:
    """.05 N sqrt(C K T)."""
    return 0.05 * _N * sqrt(float(line.removeprefix("C = ")) * _K * x)


def _two_users_alike(horizon: int) -> list[list[float]]:
    """Theorem 4's family: N = K = 3, C = 2; users 1 and 2 differ by T^(-1/3) in arms 1 and 2."""
    gap = horizon ** (-1 / 3)
    return [[0.5 + gap, 0.5 - gap, 0.0], [0.5 - gap, 0.5 + gap, 0.0], [0.0, 0.0, 1.0]]


def two_users(variant: Any, generator: Any) -> dict[str, Any]:
    """Theorem 5's family, N = C = 2, by trying every assignment.

    "informative": assignments whose sum differs between the two instances; "value": the least
    regret of a round, on average over both.
    """
    instances = ([[1, 0], [0, 1]], [[0, 1], [1, 0]])
    informative, least = 0, inf
    for arms in product(range(2), repeat=2):
        sums = [sum(means[user][arm] for user, arm in enumerate(arms)) for means in instances]
        # a sum is seen only if both users are on one arm
        informative += arms[0] == arms[1] and sums[0] != sums[1]
        least = min(least, sum(2 - total for total in sums) / 2)
    return {"value": float(least), "informative": float(informative)}


_RATES = {f"c = {rate:g}": rate for rate in (0.02, 0.1, 0.5)}
_hard = partial(
    Experiment, axes=Axes("rounds T", REGRET, "xy"), metric=regret, repeat=(4, 20),
    variants=("corrected",),
)  # fmt: skip

EXPERIMENTS = (
    _hard(
        "esfandiari-lower", "Theorem 3", "Algorithm 1 on the family of the lower bound",
        claim("regret is at least Ω(N √(CKT)) (here: a twentieth of it)", "Theorem 3",
              at_most(("C = 3", "C = 5"), lower, sign=-1)),
        lines={
            f"C = {c}": {t: anonymous(_N, _one_favourite(c, t), t, c) for t in (20_000, 200_000)}
            for c in (3, 5)
        },
        assumed="N = 60, K = 3, U = 20; Bernoulli means 1/2, and for each user's own arm "
        "sqrt(CK/T)/2 more.",
    ),
    _hard(
        "esfandiari-unclustered", "Theorem 4", "Explore-then-commit on the family without clusters",
        claim("any algorithm: at least Ω(T^⅔) (here: at least T^.6 with any learning rate)",
              "Theorem 4", exponent(_RATES, 0.6, inf)),
        lines={
            line: {t: commit(3, _two_users_alike(t), t, 2, rate) for t in (3000, 30_000, 300_000)}
            for line, rate in _RATES.items()
        },
        assumed="N = K = 3, C = 2, the two instances' gap T^(-1/3), as the proof sets it.",
    ),
    computed(
        "esfandiari-few", "Theorem 5", "As many users as a group needs",
        claim("no assignment tells the two instances apart", "Theorem 5",
              equal({"N = C = 2": 0.0}, named("informative"))),
        claim("so that regret is at least Ω(T): of any round 1 on average", "Theorem 5",
              at_most("N = C = 2", 1.0, sign=-1)),
        lines={"N = C = 2": Computation(two_users)},
        axes=bars("least regret of a round"),
        assumed="Both instances of the proof, every assignment tried.",
    ),
)  # fmt: skip
