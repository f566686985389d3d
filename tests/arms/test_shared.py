"""Arms that all agents share: pulled for the group, whose regret is counted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.arms.buffer import RewardBuffer
from posse.arms.shared import GroupArms
from posse.measure.numbers import counted
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import Pull
from tests.support.paced import Rising


def shared(limit: int | None = None, means: list[float] | None = None) -> GroupArms:
    table = None if means is None else np.array(means)
    return GroupArms(RewardBuffer(Rising(limit), 3), 2, 3, table)


PULLS = st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(1, 4)),
                 max_size=5)  # fmt: skip


@given(PULLS, st.integers(0, 30))
@example([([0, 1, 1], 1), ([1, 0], 2)], 30)
@example([([0, 1, 1], 2)], 5)
@example([([0, 1, 1], 3)], 5)
def test_an_arm_that_is_named_twice_is_pulled_twice_and_needs_twice_as_many(
    pulls: list[tuple[list[int], int]], limit: int
) -> None:
    arms, used = shared(limit=limit), [0, 0, 0]
    for named, times in pulls:
        order = Pull(tuple(named), times, each=True)
        short = [k for k in dict.fromkeys(named) if used[k] + named.count(k) * times > limit]
        if short:
            left = counted(limit - used[short[0]], "reward")
            said = f"arm {short[0]} has {left} left and {named.count(short[0]) * times} are needed"
            assert arms.shortage(order) == said
            return
        assert arms.shortage(order) == ""
        wanted = []
        for k in named:
            wanted.append([k + n for n in range(used[k], used[k] + times)])
            used[k] += times
        pulled = arms.pull(order)
        assert pulled.rewards is not None
        assert pulled.rewards.tolist() == wanted
        assert pulled.sums.tolist() == [sum(row) for row in wanted]


PLAYED = st.tuples(st.tuples(*[st.integers(-1, 2)] * 2), st.tuples(*[st.floats(0, 1)] * 2))


@given(st.lists(PLAYED, max_size=9))
@example([((1, 0), (1.0, 0.0)), ((1, -1), (1.0, 0.0))])
def test_who_pulled_what_and_the_groups_regret(slots: list[tuple[Any, Any]]) -> None:
    """Two agents on means 0.9, 0.5, 0.1: the best that both can get in a slot is 1.4."""
    arms, regret = shared(means=[0.5, 0.9, 0.1]), 0.0
    counts = np.zeros((2, 3), dtype=int)
    for played, payoffs in slots:
        if pulled := tuple(sorted({*played} - {-1})):
            arms.pull(Pull(pulled, 1))
        arms.played(played, payoffs)
        for rank, arm in enumerate(played):
            if arm >= 0:
                counts[rank, arm] += 1
        regret += 1.4 - sum(payoffs)
    assert arms.pulls.tolist() == counts.tolist()
    assert arms.slots == len(slots)
    assert arms.regret is not None
    assert arms.regret.total == pytest.approx(regret)


def test_the_groups_regret_is_on_the_scale_of_the_means_where_rewards_are_clipped() -> None:
    """Of [9, 13] the payoffs .5 and .25 are 11 and 10; both get nothing where they collide."""
    means = np.array([11.0, 10.0, 9.0])
    arms = GroupArms(RewardBuffer(Rising(), 3), 2, 3, means, scale=(9.0, 13.0))
    assert arms.regret is not None
    regrets = []
    for pulled, payoffs, winners in (
        ((0, 1), (0.5, 0.25), ()),
        ((0, 0), (0.0, 0.0), ()),  # a collision
        ((0, 0), (0.5, 0.0), ()),  # one of those that collided is paid
        ((0, 0), (0.0, 0.0), (1,)),  # a reward of 9, or below
        ((0, -1), (0.5, 0.0), ()),
        ((0, 2), (0.5, 0.0), ()),  # a reward of 9, or below
    ):
        arms.pull(Pull(tuple(sorted({*pulled} - {-1})), 1))
        arms.played(pulled, payoffs, winners)
        regrets.append(arms.regret.total)
    assert np.diff([0.0, *regrets]).tolist() == [0, 21, 10, 12, 10, 1]


def test_without_means_there_is_no_regret() -> None:
    arms = shared()
    arms.pull(Pull((0, 1), 1))
    arms.played((0, 1), (1.0, 1.0))
    assert arms.regret is None


@pytest.mark.parametrize(
    ("played", "payoffs"),
    [
        ((0,), (1.0,)),
        ((0, 1), (1.0,)),
        ((0, 2), (1.0, 1.0)),
        ((0, 3), (1.0, 1.0)),
        ((0, 1), (1.0, float("nan"))),
    ],
)
def test_a_slot_is_played_by_all_with_what_was_pulled_for_finite_payoffs(
    played: tuple[int, ...], payoffs: tuple[float, ...]
) -> None:
    arms = shared()
    arms.pull(Pull((0, 1), 1))
    with pytest.raises(LocalProtocolError, match="each agent needs an arm .* a finite number"):
        arms.played(played, payoffs)
    assert arms.slots == 0


def test_a_slot_is_played_once() -> None:
    arms = shared()
    arms.pull(Pull((0, 1), 1))
    arms.played((0, 1), (1.0, 1.0))
    with pytest.raises(LocalProtocolError, match="pulled in this slot"):
        arms.played((0, 1), (1.0, 1.0))
    arms.played((-1, -1), (0.0, 0.0))
    assert arms.slots == 2
