"""Esfandiari et al. 2022 in plain numbers: the real learners on drawn sums, without messages."""

from collections import deque
from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from posse.experiments import prepare
from posse.extend import FloatArray
from posse_systems.algorithms import (
    AnonymousLearner,
    Assignment,
    BatchedElimination,
    ExploreThenCommit,
    RandomMeans,
    UserGroup,
    effective_horizon,
    form_groups,
    schedule_length,
    sweeps,
)

_POINTS = 50
"""Points of a curve."""


def played(run: dict[str, Any], *, generator: np.random.Generator) -> dict[str, Any]:
    """The regret of all users, and its curve, of a run file of one of the three systems.

    Random means are those of the generator's instance. The first batch of Algorithm 1 has α = K
    (greedy) or 1: N >= K (C + 1).
    """
    given, users = run["arms"]["means"], run["agents"]["count"]
    drawn = RandomMeans(**given).table(users, generator) if isinstance(given, dict) else given
    means = np.array(drawn)
    p: Any = prepare({**run, "variant": "corrected"}).parameters
    arms = means.shape[1]
    match run["system"]:
        case "parallel-ucb":
            return parallel_ucb(means, p.horizon, generator)
        case "explore-then-commit":
            count = sweeps(p.horizon, arms, users, p.group_size, p.learning_rate)
            learner: Callable[..., AnonymousLearner] = partial(ExploreThenCommit, sweeps=count)
        case _:
            ratio = arms if p.decomposition == "greedy" else 1
            learner = partial(
                BatchedElimination,
                horizon=effective_horizon(p.horizon, ratio, p.group_size),
                rate=p.learning_rate,
                decomposition=p.decomposition,
                cluster_size=p.cluster_size,
                feedback=p.feedback,
                variant="corrected",
            )
    return _learned(learner, means, p.horizon, p.group_size, generator)


def _learned(
    learner_of: Callable[..., AnonymousLearner],
    means: FloatArray,
    horizon: int,
    group_size: int,
    generator: np.random.Generator,
) -> dict[str, Any]:
    users, arms = means.shape
    learner = learner_of(
        users=users, arms=arms, group_size=group_size, generator=generator, ties=generator
    )
    everybody, gaps = np.arange(users), means.max(axis=1, keepdims=True) - means
    planned: deque[Assignment] = deque()
    left, lost, curve = horizon, 0.0, [[0.0, 0.0]]
    while left >= schedule_length(group_size):
        if not planned:
            plan = learner.plan(np.ones(users, dtype=bool))
            if plan is None:
                break
            planned.extend(plan[0])
            continue
        assignment = planned.popleft()
        copies = min(assignment.copies, left // schedule_length(group_size))
        groups = form_groups(assignment.arms, group_size, generator)
        _observe(learner, groups, means, copies, generator)
        rounds = copies * schedule_length(group_size)
        left -= rounds
        lost += rounds * float(gaps[everybody, assignment.arms].sum())
        curve.append([float(horizon - left), lost])
    lost += left * float(gaps[everybody, learner.best()].sum())
    return _told(lost, [*curve, [float(horizon), lost]])


def _observe(
    learner: AnonymousLearner,
    groups: list[UserGroup],
    means: FloatArray,
    copies: int,
    generator: np.random.Generator,
) -> None:
    """Give the learner the estimates R_G - R_G^s of all members of all groups."""
    if not groups:
        return
    sizes = np.array([len(group.members) for group in groups])
    there = np.arange(sizes.max()) < sizes[:, None]
    users = np.concatenate([group.members for group in groups])
    arms = np.repeat([group.arm for group in groups], sizes)
    chance = np.zeros(there.shape)
    chance[there] = means[users, arms]
    whole = generator.binomial(copies, chance).sum(axis=1)
    # of each group and each member s the rewards of the others in the rounds without s
    rest = generator.binomial(copies, chance[:, None, :], (*there.shape, there.shape[1]))
    rest = rest.sum(axis=2) - np.diagonal(rest, axis1=1, axis2=2)
    # a learner takes estimates of one arm, and of an arm for each user as well
    found = (whole[:, None] - rest)[there] / copies
    learner.learn(users, arms, found, copies)


def parallel_ucb(means: FloatArray, horizon: int, generator: np.random.Generator) -> dict[str, Any]:
    """UCB1 by each user alone. Of arms that are level the first is pulled."""
    users, arms = means.shape
    rows = np.arange(users) * arms
    chance, gaps = means.ravel(), (means.max(axis=1, keepdims=True) - means).ravel()
    sums, counts = np.zeros(users * arms), np.zeros(users * arms)
    found, narrow, index = (np.zeros(users * arms) for _ in range(3))
    lost, curve, block = 0.0, [[0.0, 0.0]], -(-horizon // _POINTS)
    for begun in range(0, horizon, block):
        end = min(begun + block, horizon)
        before = counts.copy()
        for t, draws in enumerate(generator.random((end - begun, users)), start=begun + 1):
            if t <= arms:
                pulled = rows + t - 1
            else:
                np.multiply(narrow, (2 * log(t - 1)) ** 0.5, out=index)
                index += found
                pulled = index.reshape(users, arms).argmax(axis=1)
                pulled += rows
            got = sums[pulled] + (draws < chance[pulled])
            n = counts[pulled] + 1
            sums[pulled], counts[pulled] = got, n
            found[pulled], narrow[pulled] = got / n, 1 / np.sqrt(n)
        lost += float((counts - before) @ gaps)
        curve.append([float(end), lost])
    return _told(lost, curve)


def _told(lost: float, curve: list[list[float]]) -> dict[str, Any]:
    return {"value": lost, "curve": curve}
