"""The virtual clock at the coordinator: which agent acts next."""

import math
from collections import Counter

from posse.clocks.run_clock import RunClock


class Conductor(RunClock):
    """Keeps each agent's next time and lets the earliest act once no answer is outstanding.

    An agent answers every frame that may change its plans (its turn, a data message) with one
    `Due`, so traffic grows with what agents do, never with how often they pull.
    """

    def __init__(self, agents: int) -> None:
        self._due = [math.inf] * agents
        self._owed: Counter[int] = Counter(range(agents))
        self._now = 0.0

    @property
    def now(self) -> float:
        return self._now

    def owes(self, agent: int) -> None:
        """Expect one more `Due` from the agent, which was sent a frame that it answers."""
        self._owed[agent] += 1

    def heard(self, agent: int, due: float) -> bool:
        """Take the agent's next time; False if it was not asked for, or is in the past."""
        if not self._owed[agent] or not due >= self._now:
            return False
        self._owed[agent] -= 1
        if not self._owed[agent]:
            del self._owed[agent]
        self._due[agent] = due
        return True

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
        soonest = min(self._due)
        if math.isinf(soonest):
            return None
        self._now = soonest
        return self._due.index(soonest)
