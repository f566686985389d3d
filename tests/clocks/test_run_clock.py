"""What time it is in a run, for the coordinator."""

import pytest

from posse.arms.shared import SharedArms
from posse.clocks.conductor import Conductor
from posse.clocks.run_clock import run_clock
from tests.support.paced import buffer


def no_clock() -> int:
    raise AssertionError("this clock is not to be read")


def test_slots_are_those_of_the_agent_that_is_furthest_on() -> None:
    clock = run_clock("slots", 3, None, no_clock)
    assert clock.now == 0.0
    for now in (50.0, 100.0, 70.0):
        clock.reached(now)
    assert clock.now == 100.0


def test_shared_arms_have_the_slots_that_were_played() -> None:
    arms = SharedArms(buffer(), 2, 2, None)
    clock = run_clock("slots", 2, arms, no_clock)
    clock.reached(100.0)
    assert clock.now == 0.0
    arms.played((0, 1), (1.0, 1.0))
    assert clock.now == 1.0


def test_the_wall_counts_seconds_since_the_run_began() -> None:
    nanoseconds = iter([5_000_000_000, 7_500_000_000])
    assert run_clock("wall", 3, None, lambda: next(nanoseconds)).now == 2.5


@pytest.mark.parametrize("kind", ["slots", "wall"])
def test_nobody_is_asked_when_it_acts_where_nobody_conducts(kind: str) -> None:
    clock = run_clock(kind, 3, None, lambda: 0)
    clock.owes(1)
    assert not clock.heard(1, 4.0)
    assert clock.waiting() == []
    assert clock.next() is None


def test_the_virtual_clock_is_the_conductors() -> None:
    clock = run_clock("virtual", 3, None, no_clock)
    assert isinstance(clock, Conductor)
    clock.reached(100.0)
    assert clock.now == 0.0
