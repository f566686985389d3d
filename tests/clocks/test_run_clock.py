"""What time it is in a run, for the coordinator."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.arms.shared import GroupArms
from posse.clocks.run_clock import Conductor, SharedClock, SlotClock, WallClock
from posse.protocol.machine import Pull
from tests.support.paced import buffer


@given(st.lists(st.floats(0, 1e9)), st.integers(0, 2**62), st.integers(0, 2**50))
@example([50.0, 100.0, 70.0], 5_000_000_000, 2_500_000_000)
def test_slots_are_those_of_who_is_furthest_on_and_the_wall_counts_from_the_beginning(
    reached: list[float], began: int, nanoseconds: int
) -> None:
    clock = SlotClock()
    assert clock.now == 0.0
    for now in reached:
        clock.note_progress(now)
    assert clock.now == max(reached, default=0.0)
    read = iter([began, began + nanoseconds])
    assert WallClock(lambda: next(read)).now == pytest.approx(nanoseconds / 1e9)


def test_shared_arms_have_the_slots_that_were_played() -> None:
    arms = GroupArms(buffer(), 2, 2, None)
    clock = SharedClock(arms)
    clock.note_progress(100.0)
    assert clock.now == 0.0
    arms.pull(Pull((0, 1), 1))
    arms.played((0, 1), (1.0, 1.0))
    assert clock.now == 1.0


@given(st.lists(st.lists(st.floats(0.001, 10), min_size=1, max_size=8), min_size=1, max_size=6))
def test_agents_act_in_the_order_of_their_times(gaps: list[list[float]]) -> None:
    """Against a plain sort of every agent's times."""
    times = []
    for agent, steps in enumerate(gaps):
        at = 0.0
        for step in steps:
            at += step
            times.append((at, agent))
    waiting = {agent: [t for t, a in times if a == agent] for agent in range(len(gaps))}
    conductor = Conductor(len(gaps))
    for agent in waiting:
        assert conductor.next() is None
        assert conductor.take_due(agent, waiting[agent].pop(0))
    acted = []
    while (turn := conductor.next()) is not None:
        acted.append((conductor.now, turn))
        conductor.expect_due(turn)
        assert conductor.next() is None
        due = waiting[turn].pop(0) if waiting[turn] else math.inf
        assert conductor.take_due(turn, due)
    assert acted == sorted(times)


@given(st.lists(st.none() | st.floats(0, 9) | st.just(math.nan), max_size=12))
@example([1.0, None, math.nan, 0.5])
@example([1.0, 0.1])
def test_an_answer_is_taken_that_was_asked_for_and_is_of_no_time_that_has_passed(
    answers: list[float | None],
) -> None:
    """None: the agent has its turn, and is asked again."""
    conductor = Conductor(1)
    asked, now, due = True, 0.0, math.inf
    for answer in answers:
        if answer is None:
            turn = conductor.next()
            assert turn == (None if asked or due == math.inf else 0)
            if turn == 0:
                now, asked = due, True
                conductor.expect_due(0)
            continue
        taken = asked and answer >= now
        assert conductor.take_due(0, answer) == taken
        if taken:
            asked, due = False, answer
        assert conductor.waiting() == [0] * asked
        assert conductor.now == now
