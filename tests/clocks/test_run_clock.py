"""What time it is in a run, for the coordinator."""

from posse.arms.shared import SharedArms
from posse.clocks.conductor import Conductor
from posse.clocks.run_clock import SharedClock, SlotClock, WallClock
from protocol.machine import Pull
from tests.support.paced import buffer


def test_slots_are_those_of_the_agent_that_is_furthest_on() -> None:
    clock = SlotClock()
    assert clock.now == 0.0
    for now in (50.0, 100.0, 70.0):
        clock.reached(now)
    assert clock.now == 100.0


def test_shared_arms_have_the_slots_that_were_played() -> None:
    arms = SharedArms(buffer(), 2, 2, None)
    clock = SharedClock(arms)
    clock.reached(100.0)
    assert clock.now == 0.0
    arms.pull(Pull((0, 1), 1))
    arms.played((0, 1), (1.0, 1.0))
    assert clock.now == 1.0


def test_the_wall_counts_seconds_since_the_run_began() -> None:
    nanoseconds = iter([5_000_000_000, 7_500_000_000])
    assert WallClock(lambda: next(nanoseconds)).now == 2.5


def test_what_agents_reach_does_not_move_the_virtual_clock() -> None:
    clock = Conductor(3)
    clock.reached(100.0)
    assert clock.now == 0.0
