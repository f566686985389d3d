"""Sections 3.1, 3.2 and 3.4 of Esfandiari et al. 2022: estimates and assignments, by numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from coordinator.decomposition import Decomposition, at_random, by_flow, greedy
from posse.papers.checks import at_most, equal, matches
from posse.papers.esfandiari.setting import C
from posse.papers.experiment import Axes, Computation, along, computed
from posse.papers.sample import named
from posse.papers.statements import claim, ours
from protocol.anonymous import estimates, roster, schedule_length


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


_K, _D = 4, 2000


def decompose(name: str, cluster: int, *, generator: np.random.Generator) -> dict[str, Any]:
    """A random instance in which each of four arms is the best of `cluster` users.

    "value": assignments over α D + N K + 1 with the paper's α; "rounds": assignments over D;
    "informed": the least number of estimates of a pair over D/|A_i|; "ratio": α as it was found.
    """
    users = _K * cluster
    alive = generator.random((users, _K)) < 0.7
    alive[np.arange(users), np.arange(users) % _K] = True
    kinds: dict[str, Callable[..., Decomposition]] = {
        "greedy": greedy,
        "random": at_random,
        "lp": partial(by_flow, cluster_size=cluster),
    }
    found = kinds[name](alive, _D, C, generator=generator)
    informed = np.zeros((users, _K))
    for assignment in found.assignments:
        counts = np.bincount(assignment.arms, minlength=_K)
        useful = counts[assignment.arms] > C
        informed[np.arange(users), assignment.arms] += assignment.copies * useful
    share = float((informed / (_D / alive.sum(axis=1, keepdims=True)))[alive].min())
    alpha = _K if name == "greedy" else -(-_K // min(_K, cluster // (C + 1)))
    return {
        "value": found.length / (alpha * _D + users * _K + 1),
        "rounds": found.length / _D,
        "informed": share,
        "ratio": found.ratio,
    }


EXPERIMENTS = (
    computed(
        "esfandiari-estimates", "Lemma 2", "Estimates from sums over groups",
        claim("the estimate is unbiased", "Lemma 2", matches("error", 0.0, widened=1.3)),
        claim("it is √(4C + 1) times as subgaussian as a reward (here: its variance is at most "
              "(4C + 1)/4)", "Lemma 2", at_most("variance", (4 * C + 1) / 4)),
        ours("its variance is p_s(1−p_s) + 2 Σ p(1−p), so that it grows with the group",
             matches("variance", lambda line, size: exact_variance(size), widened=1.3)),
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
              at_most("lp", 2.0, 12, named("ratio"), every=True)),
        claim("LP: at most α D + N K + 1 assignments", "Lemma 3, Corollaries 1, 2",
              at_most("lp", 1.0, every=True)),
        claim("greedy and LP give every user D/|A_i| estimates of every alive arm",
              "Lemma 3, 3.4.1",
              at_most(("greedy", "lp"), 1.0, metric=named("informed"), sign=-1, every=True)),
        claim("random takes more than D assignments to do so (U = 24)", "3.4.2",
              at_most("random", 1.0, 24, named("rounds"), sign=-1)),
        ours("random serves everybody within 2 D assignments (U = 24)",
             at_most("random", 1.0, 24, named("informed"), sign=-1)),
        # U: C + 1, enough for two blocks of two arms, and K (C + 1)
        lines=along(partial(Computation, decompose), ("greedy", "random", "lp"), (6, 12, 24)),
        axes=Axes("users per cluster U", "assignments over α D + N K + 1"), repeat=(8, 50),
        limit=1.0,
        assumed="K = 4, C = 5, D = 2,000, N = 4 U; every arm is alive for a user with probability "
        ".7, and its own best arm always. U = 6 = C + 1, 12, and 24 = K (C + 1).",
    ),
)  # fmt: skip
