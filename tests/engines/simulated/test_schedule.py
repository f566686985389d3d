"""Turns under virtual time."""

import math

from posse.engines.simulated.schedule import START, Process, TurnSchedule


def test_processes_take_turns_and_time_passes_to_what_is_due() -> None:
    schedule = TurnSchedule("1")
    seen: list[tuple[str, float]] = []

    def main(name: str, seconds: float) -> str:
        for _ in range(2):
            process = schedule.running
            assert process is not None
            process.wait(schedule.now + seconds)
            seen.append((name, schedule.now - START))
        return name

    slow = Process(schedule, 0, lambda: main("slow", 2.0))
    fast = Process(schedule, 1, lambda: main("fast", 0.5))
    schedule.carry_on(lambda: not slow.alive, math.inf)
    assert seen == [("fast", 0.5), ("fast", 1.0), ("slow", 2.0), ("slow", 4.0)]
    assert (slow.result, fast.result) == ("slow", "fast")


def test_one_that_is_stopped_misses_nothing_and_one_that_is_killed_does_nothing_more() -> None:
    schedule = TurnSchedule("1")
    seen: list[str] = []

    def main(name: str) -> None:
        process = schedule.running
        assert process is not None
        try:
            process.wait(schedule.now + 1)
            seen.append(name)
        finally:
            seen.append(f"end of {name}")

    stopped = Process(schedule, 0, lambda: main("stopped"))
    killed = Process(schedule, 1, lambda: main("killed"))
    schedule.call_later(0.5, stopped.stop)
    schedule.call_later(0.6, killed.kill)
    schedule.call_later(5.0, stopped.go_on)
    schedule.carry_on(lambda: False, math.inf)
    assert schedule.now == START + 5
    assert seen == ["end of killed", "stopped", "end of stopped"]
    assert not killed.alive
    assert killed.error is None


def test_one_that_waits_is_woken_soon_and_one_that_works_is_not() -> None:
    schedule = TurnSchedule("1")

    def main(*, deaf: bool) -> float:
        process = schedule.running
        assert process is not None
        process.wait(schedule.now + 1, deaf=deaf)
        return schedule.now - START

    waits = Process(schedule, 0, lambda: main(deaf=False))
    works = Process(schedule, 1, lambda: main(deaf=True))
    schedule.call_later(0.5, waits.wake)
    schedule.call_later(0.5, works.wake)
    schedule.carry_on(lambda: False, math.inf)
    assert 0.5 < waits.result < 0.51
    assert works.result == 1.0
