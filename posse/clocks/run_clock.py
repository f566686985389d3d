"""The coordinator's clock in a run: one class for each kind of clock."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from posse.arms.shared import SharedArms


class RunClock(ABC):
    """The coordinator's clock in one run; `now` is in the unit of the run's clock.

    With the clocks in this module agents act as soon as they can; only the virtual clock
    (`posse.clocks.conductor`) gives them turns.
    """

    @property
    @abstractmethod
    def now(self) -> float:
        """The time."""

    def reached(self, now: float) -> None:  # noqa: B027  most clocks ignore it
        """Note that an agent has come to `now`."""


class SlotClock(RunClock):
    """Clock `slots`: the time of the most advanced agent."""

    def __init__(self) -> None:
        self._furthest = 0.0

    @property
    def now(self) -> float:
        return self._furthest

    def reached(self, now: float) -> None:
        self._furthest = max(self._furthest, now)


class SharedClock(RunClock):
    """The clock where all agents share the arms: the number of slots played."""

    def __init__(self, arms: SharedArms) -> None:
        self._arms = arms

    @property
    def now(self) -> float:
        return float(self._arms.slots)


class WallClock(RunClock):
    """Clock `wall`: seconds since the run began, by `clock` in nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._began = clock()

    @property
    def now(self) -> float:
        return (self._clock() - self._began) * 1e-9
