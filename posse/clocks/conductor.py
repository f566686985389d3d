"""The virtual clock: who acts next."""

import math
from collections import Counter

from posse.clocks.run_clock import RunClock


class Conductor(RunClock):
    """Keeps each agent's next time and lets the earliest act once nobody's answer is outstanding.

    Every frame that may change an agent's plans (its turn, a data message) is answered by one
    `Due`, so the traffic grows with what agents do, never with how often they pull.
    """

    def __init__(self, agents: int) -> None:
        self._due = [math.inf] * agents
        self._owed: Counter[int] = Counter(range(agents))
        self._now = 0.0

    @property
    def now(self) -> float:
        return self._now

    def owes(self, agent: int) -> None:
        """The agent was sent something that it answers with its next time."""
        self._owed[agent] += 1

    def heard(self, agent: int, due: float) -> bool:
        """The agent's next time; False if it was not asked for."""
        if not self._owed[agent] or not due >= self._now:
            return False
        self._owed[agent] -= 1
        if not self._owed[agent]:
            del self._owed[agent]
        self._due[agent] = due
        return True

    def forget(self, agent: int) -> None:
        """The agent will not act any more, whatever it was asked."""
        del self._owed[agent]
        self._due[agent] = math.inf

    def waiting(self) -> list[int]:
        """The agents whose answer is outstanding."""
        return sorted(self._owed)

    def next(self) -> int | None:
        """Whose turn it is, moving the clock there; None if answers are owed or nobody will act."""
        if self._owed:
            return None
        soonest = min(self._due)
        if math.isinf(soonest):
            return None
        self._now = soonest
        return self._due.index(soonest)
