"""What the server of anonymous bandits learns by: batched elimination, sweeps."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.protocol.machine import Note
from posse_systems.esfandiari2022.groups import form_groups
from posse_systems.esfandiari2022.learners import BatchedElimination, ExploreThenCommit
from posse_systems.esfandiari2022.messages import NoFeedbackRow
from tests.support.conversations import examples


def elimination(users: int = 8, **changes: Any) -> BatchedElimination:
    """Algorithm 1's learner for three arms and C = 2."""
    values: dict[str, Any] = {
        "users": users,
        "arms": 3,
        "group_size": 2,
        "horizon": 300.0,
        "rate": 0.01,
        "decomposition": "lp",
        "cluster_size": None,
        "feedback": "all",
        "variant": "corrected",
        "generator": np.random.default_rng(0),
        "ties": np.random.default_rng(1),
    }
    return BatchedElimination(**(values | changes))


@given(st.lists(st.integers(0, 30), max_size=6), st.sampled_from(["demand", "all"]))
@example([1_000, 1], "demand")
def test_demand_caps_what_is_used_per_batch(copies: list[int], feedback: str) -> None:
    learner = elimination(feedback=feedback)
    learner.plan(np.ones(8, dtype=bool))
    room = math.ceil(learner.ends[1] / 3) if feedback == "demand" else 10**9
    for count in copies:
        used = min(count, room)
        assert learner.learn(np.array([0, 1]), 0, np.array([0.5, 1.0]), count) == 2 * used
        room -= used
    assert learner.counts[0, 0] == learner.sums[1, 0] == 2 * learner.sums[0, 0]


@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_an_arm_that_too_few_want_stops_only_the_printed_form(variant: str) -> None:
    learner = elimination(variant=variant)
    learner.batch = 1
    learner.alive[2:, 1] = False
    planned = learner.plan(np.ones(8, dtype=bool))
    if variant == "printed":
        assert planned == ([], [Note(NoFeedbackRow(2, 1))])
        assert learner.plan(np.ones(8, dtype=bool)) is None
    else:
        assert planned is not None
        assert Note(NoFeedbackRow(2, 1)) in planned[1]
        assert planned[0]


@settings(max_examples=20)
@given(st.integers(2, 4), st.integers(0, 12), st.integers(2, 5), st.integers(0, 99))
@example(3, 13, 4, 0)
def test_a_sweep_gives_every_pair_exactly_one_estimate(
    group_size: int, more: int, arms: int, seed: int
) -> None:
    users = group_size + 1 + more
    learner = ExploreThenCommit(
        users=users,
        arms=arms,
        group_size=group_size,
        sweeps=5,
        generator=np.random.default_rng(seed),
        ties=np.random.default_rng(1),
    )
    planned = learner.plan(np.ones(users, dtype=bool))
    assert planned is not None
    counts = np.zeros((users, arms), dtype=int)
    for assignment in planned[0]:
        for group in form_groups(assignment.arms, group_size, np.random.default_rng(2)):
            counts[list(group.members), group.arm] += 1
    assert (counts == 1).all()


@examples(Path(__file__).with_name("learners.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
