"""Looking ahead never changes what is drawn, nor its order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from posse.arms.buffer import RewardBuffer
from posse.measure.numbers import counted
from tests.support.conversations import examples
from tests.support.paced import Rising


class Counting(Rising):
    """Arm k gives 100 k, 100 k + 1, …, and it is counted how often totals are asked for."""

    def __init__(self, limit: int | None = None, simulated: bool = True) -> None:
        super().__init__(limit)
        self.simulated = simulated
        self.totalled = 0

    def draw(self, arm: int, count: int) -> Any:
        return 99.0 * arm + super().draw(arm, count)

    def totals(self, arms: tuple[int, ...], times: int) -> Any:
        self.totalled += 1
        return super().totals(arms, times)


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["peek", "take", "sums"]),
        st.sampled_from([(0, 1), (0,), (1,)]),
        st.integers(1, 9),
    ),
    max_size=30,
)
Operations = list[tuple[str, tuple[int, ...], int]]


class Plain:
    """What a buffer of arms 0 and 1 must do, by all rewards of each."""

    def __init__(self) -> None:
        self.left = [100.0 * arm + np.arange(300.0) for arm in (0, 1)]

    def peek(self, arms: tuple[int, ...], times: int) -> Any:
        return np.array([self.left[k][:times] for k in arms])

    def take(self, arms: tuple[int, ...], times: int) -> Any:
        taken = self.peek(arms, times)
        for k in arms:
            self.left[k] = self.left[k][times:]
        return taken

    def sums(self, arms: tuple[int, ...], times: int) -> Any:
        return self.take(arms, times).sum(axis=1)


def used(buffer: Any, operations: Operations) -> list[Any]:
    """What these operations give, and the types of it."""
    found = [getattr(buffer, what)(arms, times) for what, arms, times in operations]
    return [(numbers.dtype, numbers.tolist()) for numbers in found]


@given(OPERATIONS)
def test_rewards_are_used_in_order_whatever_was_peeked_at(
    operations: Operations,
) -> None:
    assert used(RewardBuffer(Counting(), 2), operations) == used(Plain(), operations)


@given(OPERATIONS, st.integers(0, 12), st.sampled_from([(0, 1), (0,), (1,)]), st.integers(1, 9))
@example([("take", (1,), 3)], 4, (0, 1), 10)
@example([("peek", (0,), 3), ("take", (0,), 2)], 4, (0,), 3)
def test_where_rewards_end_a_peek_is_as_wide_as_the_shortest_arm_and_the_shortage_is_said(
    operations: Operations, limit: int, arms: tuple[int, ...], times: int
) -> None:
    buffer, left = RewardBuffer(Counting(limit=limit), 2), [limit, limit]
    for what, of, count in operations:
        width = min(count, *(left[k] for k in of))
        if what == "peek":
            assert buffer.peek(of, count).shape == (len(of), width)
        else:
            assert buffer.take(of, count).shape == (len(of), width)
            for k in of:
                left[k] -= width
    short = [k for k in arms if left[k] < times]
    rewards = counted(left[short[0]], "reward") if short else ""
    said = f"arm {short[0]} has {rewards} left and {times} are needed" if short else ""
    assert buffer.shortage(arms, times) == said
    assert RewardBuffer(Counting(), 2).shortage(arms, 10**9) == ""


class InTurn(Counting):
    """Rewards of 0 and 1 in turn."""

    binary = True

    def draw(self, arm: int, count: int) -> Any:
        return super().draw(arm, count) % 2


class AsFloats(InTurn):
    binary = False


@given(OPERATIONS)
def test_rewards_of_0_and_1_are_kept_in_bytes_and_used_as_floats(
    operations: Operations,
) -> None:
    in_bytes, as_floats = (RewardBuffer(arms, 2) for arms in (InTurn(), AsFloats()))
    assert used(in_bytes, operations) == used(as_floats, operations)


@examples(Path(__file__).with_name("buffer.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
