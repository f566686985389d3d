"""Lemmas and theorems of Esfandiari et al. 2022: estimates, assignments, and how regret grows."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from math import inf, log, sqrt
from typing import Any

import numpy as np

from posse_papers.checks import above, at_most, equal, exponent, matches
from posse_papers.esfandiari.figures import REGRET, UNIFORM, C, anonymous, commit, plainly
from posse_papers.experiment import Axes, Computation, Experiment, along, bars, computed
from posse_papers.sample import named, regret
from posse_papers.statements import claim, ours, over
from posse_papers.worlds import beside, changed, multiplied
from posse_systems.algorithms import (
    Decomposition,
    at_random,
    by_flow,
    estimates,
    greedy,
    grid,
    roster,
    schedule_length,
)


def _members(size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Means of a group's members, evenly in [.1, .9]."""
    return np.linspace(0.1, 0.9, size)


def estimate(size: int, what: str, *, generator: np.random.Generator) -> float:
    """The estimate R_G - R_G^s of a group's first member: its mean error, or its variance."""
    trials, group, means = 4000, tuple(range(size)), _members(size)
    sums = np.array([
        generator.binomial(1, means[list(roster(step, group))], (trials, len(roster(step, group))))
        .sum(axis=1)
        for step in range(schedule_length(C))
    ])  # fmt: skip
    first = np.array([estimates(column, size)[0] for column in sums.T.astype(float)])
    if what == "variance":
        return float(first.var(ddof=1))
    return float(first.mean() - means[0])


def exact_variance(size: float) -> float:
    """p_s (1 - p_s) + 2 Σ_others p (1 - p) for the first member."""
    spread = _members(int(size)) * (1 - _members(int(size)))
    return float(spread[0] + 2 * spread[1:].sum())


_FOUR, _DEMAND = 4, 2000


def decompose(name: str, cluster: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """A random instance in which each of four arms is the best of `cluster` users.

    "value": assignments over α D + N K + 1 with the paper's α; "rounds": assignments over D;
    "informed": the least number of estimates of a pair over D/|A_i|; "ratio": α as it was found.
    """
    users = _FOUR * cluster
    alive = generator.random((users, _FOUR)) < 0.7
    alive[np.arange(users), np.arange(users) % _FOUR] = True
    kinds: dict[str, Callable[..., Decomposition]] = {
        "greedy": greedy,
        "random": at_random,
        "lp": partial(by_flow, cluster_size=cluster),
    }
    found = kinds[name](alive, _DEMAND, C, generator=generator)
    informed = np.zeros((users, _FOUR))
    for assignment in found.assignments:
        counts = np.bincount(assignment.arms, minlength=_FOUR)
        useful = counts[assignment.arms] > C
        informed[np.arange(users), assignment.arms] += assignment.copies * useful
    share = float((informed / (_DEMAND / alive.sum(axis=1, keepdims=True)))[alive].min())
    alpha = _FOUR if name == "greedy" else -(-_FOUR // min(_FOUR, cluster // (C + 1)))
    return {
        "value": found.length / (alpha * _DEMAND + users * _FOUR + 1),
        "rounds": found.length / _DEMAND,
        "informed": share,
        "ratio": found.ratio,
    }


_PROVED = 12
"""γ of appendix A, with which the best arm is lost with probability 2/(HK)² at most."""


def batch(arms: int, horizon: int, *, generator: np.random.Generator) -> float:
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
_grows = partial(Experiment, metric=regret, repeat=(15, 30), variants=("corrected",))


_N, _K = 60, 3
_SIZES = {"C = 3": 3, "C = 5": 5}


def _one_favourite(group_size: int, horizon: int) -> list[list[float]]:
    """Means 1/2, and more by sqrt(CK/T)/2 for each user's one arm: Theorem 3's family."""
    gap = sqrt(group_size * _K / horizon) / 2
    return [[0.5 + gap * (arm == user % _K) for arm in range(_K)] for user in range(_N)]


def lower(line: str, x: float) -> float:
    """.05 N sqrt(C K T)."""
    return 0.05 * _N * sqrt(_SIZES[line] * _K * x)


def _two_users_alike(horizon: int) -> list[list[float]]:
    """Theorem 4's family: N = K = 3, C = 2; users 1 and 2 differ by T^(-1/3) in arms 1 and 2."""
    gap = horizon ** (-1 / 3)
    return [[0.5 + gap, 0.5 - gap, 0.0], [0.5 - gap, 0.5 + gap, 0.0], [0.0, 0.0, 1.0]]


def two_users() -> dict[str, Any]:
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
_hard = partial(_grows, axes=Axes("rounds T", REGRET, "xy"), repeat=(12, 20))


_biased = changed("off by a tenth of a reward", "error", lambda measured, point: (1.0, 0.1))


EXPERIMENTS = (
    computed(
        "esfandiari-estimates", "Lemma 2", "Estimates from sums over groups",
        claim("the estimate is unbiased", "Lemma 2", matches("error", 0.0, widened=1.3),
              wrong=_biased),
        claim("it is √(4C + 1) times as subgaussian as a reward: its variance is at most "
              "(4C + 1)/4", "Lemma 2", at_most("variance", (4 * C + 1) / 4),
              wrong=multiplied("twice the variance", "variance", 2.0)),
        ours("its variance is p_s(1−p_s) + 2 Σ p(1−p), so that it grows with the group",
             matches("variance", lambda line, size: exact_variance(size), widened=1.3),
             wrong=multiplied("half of it", "variance", 0.5)),
        lines=along(lambda what, size: Computation(estimate, size, what), ("error", "variance"),
                   (6, 8, 11)),
        axes=Axes("size of the group", "mean error, variance"), repeat=(20, 100),
        assumed="C = 5; the members' means lie evenly in [.1, .9], the first member's is .1. A "
        "Bernoulli reward is 1/2-subgaussian.",
    ),
    computed(
        "esfandiari-decomposition", "Lemmas 3, 5 and 6, Corollaries 1 and 2",
        "Assignments that serve a demand",
        claim("greedy, α = K: at most α D + N K + 1 assignments for U >= C + 1", "3.4.1",
              at_most("greedy", 1.0, every=True)),
        claim("LP for U >= K (C + 1): α = 1", "Lemma 5, Corollary 1",
              equal({("lp", 24): 1.0}, named("ratio"))),
        claim("LP for U = 12, two blocks of two arms: α = 2", "Lemma 6, Corollary 2",
              at_most("lp", 2.0, 12, named("ratio"), every=True),
              wrong=beside("greedy's K", {"lp": "greedy"})),
        claim("LP: at most α D + N K + 1 assignments", "Lemma 3, Corollaries 1, 2",
              at_most("lp", 1.0, every=True),
              wrong=multiplied("twice as many", "lp", 2.0)),
        claim("greedy and LP give every user D/|A_i| estimates of every alive arm",
              "Lemma 3, 3.4.1",
              at_most(("greedy", "lp"), 1.0, metric=named("informed"), sign=-1, every=True),
              wrong=beside("random", {"greedy": "random", "lp": "random"})),
        claim("random takes more than LP's D assignments to do so (U = 24)", "3.4.2",
              above("random", "lp", 24, named("rounds"))),
        ours("random serves everybody within 2 D assignments (U = 24)",
             at_most("random", 1.0, 24, named("informed"), sign=-1)),
        # U: C + 1, enough for two blocks of two arms, and K (C + 1)
        lines=along(partial(Computation, decompose), ("greedy", "random", "lp"), (6, 12, 24)),
        axes=Axes("users per cluster U", "assignments over α D + N K + 1"), repeat=(8, 50),
        limit=1.0,
        assumed="K = 4, C = 5, D = 2,000, N = 4 U; every arm is alive for a user with probability "
        ".7, and its own best arm always. U = 6 = C + 1, 12, and 24 = K (C + 1).",
    ),
    computed(
        "esfandiari-batches", "Lemma 1", "The regret of one batch of BaSE",
        claim("E[D_b max Δ_j over the alive arms] = Õ(√(K H)) in every batch", "Lemma 1",
              at_most(_ARMS, 2 * sqrt(_PROVED)),
              wrong=multiplied("as H, not √H", _ARMS, lambda h: sqrt(h / 1000))),
        lines=along(partial(Computation, batch), _ARMS, (1000, 10**4, 10**5, 10**6)),
        axes=Axes("horizon H", "over sqrt(K H log(HK))", "x"), repeat=(40, 1000),
        assumed="B = ⌈log2 log2 H⌉, γ = 12, means U[0, 1], unit Gaussian noise. The constant of "
        "the proof, two radii of an arm that survived the batch before, is 2 sqrt 12 = 6.9.",
    ),
    _grows(
        "esfandiari-horizon", "Theorems 1 and 2", "How regret grows with time",
        claim("Algorithm 1: at most N C √(αKT), as T^½", "Theorem 1",
              over(lambda power: exponent(_BATCHED, -inf, power), power=(0.55, 0.6, 0.65))),
        claim("explore-then-commit: at most as T^⅔", "Theorem 2",
              over(lambda power: exponent(_COMMIT, -inf, power), power=(0.7, 0.77, 0.85))),
        lines=partial(plainly, {
            _BATCHED: {t: anonymous(96, _THREE, t) for t in _TIMES},
            _COMMIT: {t: commit(24, _THREE, t) for t in _TIMES},
        }),
        axes=Axes("rounds T", REGRET, "xy"),
        assumed=f"K = 3, C = {C}; Algorithm 1 with N = 96, LP, explore-then-commit with N = 24. T "
        "is so that α = 1 and B = 4 stay the same.",
    ),
    _grows(
        "esfandiari-groups", "Theorems 1 and 2", "How regret grows with the size of the groups",
        claim("Algorithm 1: at most as C", "Theorem 1",
              over(lambda power: exponent(_BATCHED, -inf, power), power=(1.1, 1.25))),
        claim("explore-then-commit: at most as C^⅔", "Theorem 2",
              over(lambda power: exponent(_COMMIT, -inf, power), power=(0.75, 1.0))),
        lines=partial(plainly, {
            _BATCHED: {c: anonymous(200, _THREE, 100_000, c) for c in _GROUPS},
            _COMMIT: {c: commit(24, _THREE, 100_000, c) for c in _GROUPS},
        }),
        axes=Axes("anonymity C", REGRET, "xy"),
        assumed="K = 3, T = 10⁵; Algorithm 1 with N = 200, so that α = 1 (U >= K (C + 1)) and "
        "B = 4 stay the same, explore-then-commit with N = 24.",
    ),
    _hard(
        "esfandiari-lower", "Theorem 3", "Algorithm 1 on the family of the lower bound",
        claim("regret is at least Ω(N √(CKT))", "Theorem 3", over(
                  lambda share: at_most(
                      _SIZES, lambda line, x: share / 0.05 * lower(line, x), sign=-1),
                  share=(0.05, 0.1)),
              wrong=multiplied("without the factor √C", _SIZES, 1 / sqrt(3))),
        lines=partial(plainly, along(
            lambda c, t: anonymous(_N, _one_favourite(c, t), t, c), _SIZES, (20_000, 200_000)
        )),
        assumed="N = 60, K = 3, U = 20; Bernoulli means 1/2, and for each user's own arm "
        "sqrt(CK/T)/2 more.",
    ),
    _hard(
        "esfandiari-unclustered", "Theorem 4", "Explore-then-commit on the family without clusters",
        claim("any algorithm: at least Ω(T^⅔)", "Theorem 4",
              over(lambda c, power: exponent(c, power, inf), c=(*_RATES,), power=(0.5, 0.6))),
        lines=partial(plainly, along(
            lambda rate, t: commit(3, _two_users_alike(t), t, 2, rate), _RATES,
            (3000, 30_000, 300_000)
        )),
        repeat=(5, 20),
        assumed="N = K = 3, C = 2, the two instances' gap T^(-1/3), as the proof sets it.",
    ),
    computed(
        "esfandiari-few", "Theorem 5", "As many users as a group needs",
        claim("no assignment tells the two instances apart", "Theorem 5",
              equal({"N = C = 2": 0.0}, named("informative"))),
        claim("so that regret is at least Ω(T): of any round 1 on average", "Theorem 5",
              at_most("N = C = 2", 1.0, sign=-1),
              wrong=multiplied("half of it", "N = C = 2", 0.5)),
        lines={"N = C = 2": Computation(two_users)},
        axes=bars("least regret of a round"),
        assumed="Both instances of the proof, every assignment tried.",
    ),
)  # fmt: skip
