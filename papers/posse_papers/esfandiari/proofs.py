"""Steps of the proofs of Esfandiari et al. 2022 that survive in the text at hand, in numbers."""

from functools import partial
from math import erfc, log, log2, sqrt
from typing import Any

import numpy as np

from posse_papers.steps import Step, steps
from posse_systems.algorithms import schedule_length, sweeps


def lost_best(gamma: float, horizon: int) -> float:
    """K B P(an arm overtakes the best by its width) over 2/(HK)²: appendix A; K = 5.

    The means of τ samples of unit noise differ by N(0, 2/τ), the width is sqrt(γ log(HK)/τ).
    """
    arms, batches = 5, np.ceil(log2(log2(horizon)))
    beyond = erfc(sqrt(gamma * log(horizon * arms) / 2) / sqrt(2)) / 2
    return float(arms * batches * beyond / (2 / (horizon * arms) ** 2))


def integral(arms: int) -> float:
    """The farthest that a vertex of the polytope (1) is from 0 and 1, plus 1; Lemma 4.

    Σ_j y_ij <= 1 for each user, Σ_i y_ij >= C + 1 for each arm; 40 random directions, C = 2,
    six users for each arm.
    """
    from scipy.optimize import linprog  # noqa: PLC0415

    generator, users = np.random.default_rng(arms), 6 * arms
    rows = np.kron(np.eye(users), np.ones(arms))
    columns = np.kron(np.ones(users), np.eye(arms))
    worst = 0.0
    for _ in range(40):
        found = linprog(
            generator.normal(size=users * arms),
            A_ub=np.vstack([rows, -columns]), b_ub=np.r_[np.ones(users), -3 * np.ones(arms)],
            bounds=(0, 1), method="highs-ds",
        ).x  # fmt: skip
        worst = max(worst, float(np.abs(found - found.round()).max()))
    return 1 + worst


def noise_of_sums(group: int) -> float:
    """2 |G| - 1 rewards, 1-subgaussian each, over the 4C + 1 of Lemma 2; |G| <= 2C + 1, C = 5."""
    return (2 * group - 1) / (4 * 5 + 1)


def rounds_of(group_size: int) -> float:
    """The largest group, 2C + 1, and the whole over the 2C + 2 rounds of the sub-algorithm."""
    return (2 * group_size + 1 + 1) / schedule_length(group_size)


def committed(horizon: int) -> float:
    """The rounds that explore-then-commit explores over T; K = 3, C = 5, c = .1."""
    return sweeps(horizon, 3, 24, 5, 0.1) * 3 * schedule_length(5) / horizon


def rounded_up(edges: int) -> float:
    """α D + N K + 1 over the assignments of N K + 1 vertices rounded up: Lemma 3; α D = 1000."""
    generator = np.random.default_rng(edges)
    weights = generator.dirichlet(np.ones(edges + 1))
    return float(np.ceil(1000 * weights).sum() / (1000 + edges + 1))


def gap_of_3(group_size: int) -> float:
    """The chance that a user tells its arm at gap sqrt(CK/T)/2 from T/K sums of C + 1 rewards.

    Pinsker: sqrt(T/K Δ² / (2 (C + 1) σ²)) / 2 of the distance 1; σ = 1.
    """
    return sqrt(group_size / (4 * 2 * (group_size + 1))) / 2


STEPS = (
    Step("the best arm is lost with probability 2/(HK)² at most", "Appendix A",
         partial(lost_best, 12.0), (10, 1000, 10**6), "γ = 12, K = 5, unit Gaussian noise",
         wrong=(("γ = 4", partial(lost_best, 4.0)),)),
    Step("the constraints' vertices are integral", "Lemma 4, 1", integral, (2, 3, 4),
         "C = 2, six users an arm, 40 directions", True),
    Step("an estimate has 4C + 1 rewards at most", "Lemma 2", noise_of_sums, (6, 8, 11), "C = 5"),
    Step("a group's members all leave within 2C + 2 rounds", "Section 3.1", rounds_of, (2, 5, 20),
         exact=True),
    Step("rounding N K + 1 weights up adds N K + 1 assignments", "Lemma 3, 2, 3", rounded_up,
         (10, 100, 1000)),
    Step("explore-then-commit explores less than T rounds", "Theorem 2", committed,
         (10_000, 10**6), "c = .1, K = 3, C = 5"),
    Step("T/K sums tell the arm of Theorem 3's family with probability 1/2 at most", "Theorem 3",
         gap_of_3, (3, 5, 50), "Pinsker's inequality"),
)  # fmt: skip


def at(number: int, x: Any) -> float:
    """The ratio of a step at a place."""
    return float(STEPS[number].ratio(x))


EXPERIMENTS = (
    steps(
        "esfandiari-proofs", "Lemmas 2 to 4, Theorems 2 and 3, appendix A",
        "Steps of the proofs, in numbers",
        STEPS, at, "Formulas are missing in the text at hand, and taken as the algorithms have "
        "them.",
    ),
)  # fmt: skip
