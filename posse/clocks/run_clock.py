"""The coordinator's clock in a run: one class for each kind of clock."""

import heapq
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from posse.arms.shared import GroupArms


@mypyc_attr(allow_interpreted_subclasses=True)
class RunClock(ABC):
    """The coordinator's clock in one run; `now` is in the unit of the run's clock.

    Agents act as soon as they can; only the virtual clock gives them turns.
    """

    @property
    @abstractmethod
    def now(self) -> float:
        """The time."""

    def note_progress(self, now: float) -> None:  # noqa: B027  most clocks ignore it
        """Note that an agent has come to `now`."""


class SlotClock(RunClock):
    """Clock `slots`: the time of the most advanced agent."""

    def __init__(self) -> None:
        self._furthest = 0.0

    @property
    def now(self) -> float:
        return self._furthest

    def note_progress(self, now: float) -> None:
        self._furthest = max(self._furthest, now)


@mypyc_attr(allow_interpreted_subclasses=True)
class SharedClock(RunClock):
    """The clock where all agents share the arms: the number of slots played."""

    def __init__(self, arms: GroupArms) -> None:
        self._arms = arms

    @property
    def now(self) -> float:
        return float(self._arms.slots)


@mypyc_attr(allow_interpreted_subclasses=True)
class WallClock(RunClock):
    """Clock `wall`: seconds since the run began, by `clock` in nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._began = clock()

    @property
    def now(self) -> float:
        return (self._clock() - self._began) * 1e-9


@mypyc_attr(allow_interpreted_subclasses=True)
class Conductor(RunClock):
    """Clock `virtual`: the earliest agent acts once no answer is outstanding.

    An agent answers every frame that may change its plans (its turn, a data message) with one
    `Due`, so traffic grows with what agents do, never with how often they pull.
    """

    def __init__(self, agents: int) -> None:
        self._due = [math.inf] * agents
        self._queue: list[tuple[float, int]] = []
        """A heap of all finite times that agents said; only those that are still `_due` count."""
        self._owed: Counter[int] = Counter(range(agents))
        self._now = 0.0

    @property
    def now(self) -> float:
        return self._now

    def expect_due(self, agent: int) -> None:
        """Expect one more `Due` from the agent, which was sent a frame that it answers."""
        self._owed[agent] += 1

    def take_due(self, agent: int, due: float) -> bool:
        """Take the agent's next time; False if it was not asked for, or is in the past."""
        if not self._owed[agent] or not due >= self._now:
            return False
        self._owed[agent] -= 1
        if not self._owed[agent]:
            del self._owed[agent]
        if due != self._due[agent] and not math.isinf(due):
            heapq.heappush(self._queue, (due, agent))
        self._due[agent] = due
        return True

    def move(self, now: float) -> None:
        """Come to this time, where arrays move all agents and nobody is asked."""
        self._now = now
        self._owed.clear()

    def forget(self, agent: int) -> None:
        """Drop an agent that will not act again, with the answers that it owes."""
        del self._owed[agent]
        self._due[agent] = math.inf

    def waiting(self) -> list[int]:
        """The agents whose answer is outstanding."""
        return sorted(self._owed)

    def next(self) -> int | None:
        """Move the clock to the earliest agent; None if answers are outstanding or nobody acts."""
        if self._owed:
            return None
        queue = self._queue
        while queue and queue[0][0] != self._due[queue[0][1]]:
            heapq.heappop(queue)
        if not queue:
            return None
        self._now, soonest = queue[0]
        return soonest
