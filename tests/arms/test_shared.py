"""Arms that all agents share: pulled for the group, whose regret is counted."""

import numpy as np
import pytest

from posse.arms.buffer import RewardBuffer
from posse.arms.shared import GroupArms
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import Pull
from tests.support.paced import Rising


def shared(limit: int | None = None, means: list[float] | None = None) -> GroupArms:
    table = None if means is None else np.array(means)
    return GroupArms(RewardBuffer(Rising(limit), 3), 2, 3, table)


def test_an_arm_that_is_named_twice_is_pulled_twice() -> None:
    arms = shared()
    assert arms.pull(Pull((0, 1, 1), 1)).sums.tolist() == [0, 1, 2]
    pulled = arms.pull(Pull((1, 0), 2, each=True))
    assert pulled.sums.tolist() == [3 + 4, 1 + 2]
    assert pulled.rewards is not None
    assert pulled.rewards.tolist() == [[3, 4], [1, 2]]


def test_an_arm_that_is_named_twice_needs_twice_as_many() -> None:
    arms = shared(limit=5)
    assert arms.shortage(Pull((0, 1, 1), 2)) == ""
    said = "arm 1 has 5 rewards left and 6 are needed"
    assert arms.shortage(Pull((0, 1, 1), 3)) == said


def test_who_pulled_what_and_the_groups_regret() -> None:
    """Two agents on means 0.9, 0.5, 0.1: the best that both can get in a slot is 1.4."""
    arms = shared(means=[0.5, 0.9, 0.1])
    arms.pull(Pull((0, 1), 1))
    arms.played((1, 0), (1.0, 0.0))
    arms.pull(Pull((1,), 1))
    arms.played((1, -1), (1.0, 0.0))
    assert arms.pulls.tolist() == [[0, 2, 0], [1, 0, 0]]
    assert arms.slots == 2
    assert arms.regret is not None
    assert arms.regret.total == np.float64(2 * 1.4 - 2.0)


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
