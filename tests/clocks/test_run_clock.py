"""What time it is in a run, for the coordinator."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.arms.shared import GroupArms
from posse.clocks.run_clock import Conductor, SharedClock, SlotClock, WallClock
from posse.protocol.machine import Pull
from tests.support.paced import buffer


def test_slots_are_those_of_the_agent_that_is_furthest_on() -> None:
    clock = SlotClock()
    assert clock.now == 0.0
    for now in (50.0, 100.0, 70.0):
        clock.note_progress(now)
    assert clock.now == 100.0


def test_shared_arms_have_the_slots_that_were_played() -> None:
    arms = GroupArms(buffer(), 2, 2, None)
    clock = SharedClock(arms)
    clock.note_progress(100.0)
    assert clock.now == 0.0
    arms.pull(Pull((0, 1), 1))
    arms.played((0, 1), (1.0, 1.0))
    assert clock.now == 1.0


def test_the_wall_counts_seconds_since_the_run_began() -> None:
    nanoseconds = iter([5_000_000_000, 7_500_000_000])
    assert WallClock(lambda: next(nanoseconds)).now == 2.5


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


@pytest.mark.parametrize("due", [math.nan, 0.5])
def test_a_time_that_has_passed_is_not_taken(due: float) -> None:
    conductor = Conductor(1)
    conductor.take_due(0, 1.0)
    conductor.next()
    conductor.expect_due(0)
    assert not conductor.take_due(0, due)
    assert conductor.waiting() == [0]


def test_an_answer_that_was_not_asked_for_is_not_taken() -> None:
    conductor = Conductor(1)
    assert conductor.take_due(0, 1.0)
    assert not conductor.take_due(0, 0.1)
    assert conductor.next() == 0
    assert conductor.now == 1.0
