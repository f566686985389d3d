"""What time it is in a run, for the coordinator: one kind for each clock."""

from collections.abc import Callable
from typing import Protocol

from posse.arms.shared import SharedArms
from posse.clocks.conductor import Conductor


class RunClock(Protocol):
    """The coordinator's clock in one run; `now` is in the unit of the run's clock."""

    @property
    def now(self) -> float:
        """The time."""
        ...

    def reached(self, now: float) -> None:
        """An agent has come to `now`."""
        ...

    def owes(self, agent: int) -> None:
        """The agent was sent something that it answers with its next time."""
        ...

    def heard(self, agent: int, due: float) -> bool:
        """The agent says when it acts next; False if it was not asked."""
        ...

    def waiting(self) -> list[int]:
        """The agents that have not said yet when they act next."""
        ...

    def next(self) -> int | None:
        """Whose turn it is, moving the time there; None if nobody's."""
        ...


class Unconducted:
    """Nobody is asked when it acts next: agents act when they can."""

    def reached(self, now: float) -> None:
        """See `RunClock`."""

    def owes(self, agent: int) -> None:
        """See `RunClock`."""

    def heard(self, agent: int, due: float) -> bool:
        """See `RunClock`."""
        return False

    def waiting(self) -> list[int]:
        """See `RunClock`."""
        return []

    def next(self) -> int | None:
        """See `RunClock`."""
        return None


class SlotClock(Unconducted):
    """Clock `slots`: the time of the agent that is furthest on."""

    def __init__(self) -> None:
        self.now = 0.0

    def reached(self, now: float) -> None:
        """See `RunClock`."""
        self.now = max(self.now, now)


class SharedClock(Unconducted):
    """Where all agents share the arms: the slots that were played."""

    def __init__(self, arms: SharedArms) -> None:
        self._arms = arms

    @property
    def now(self) -> float:
        """See `RunClock`."""
        return float(self._arms.slots)


class WallClock(Unconducted):
    """Clock `wall`: seconds since the run began, by `clock` in nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._began = clock()

    @property
    def now(self) -> float:
        """See `RunClock`."""
        return (self._clock() - self._began) * 1e-9


def run_clock(
    kind: str, agents: int, shared: SharedArms | None, clock: Callable[[], int]
) -> RunClock:
    """The clock of a run of so many agents."""
    if shared is not None:
        return SharedClock(shared)
    match kind:
        case "virtual":
            return Conductor(agents)
        case "slots":
            return SlotClock()
        case _:
            return WallClock(clock)
