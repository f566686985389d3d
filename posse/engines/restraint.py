"""Whether an agent is to say no more for now, because somebody has so much to confirm."""

import math
from collections.abc import Callable, Iterable

from posse.durable.session import Session
from posse.engines.sockets import PROBE_EVERY
from posse.errors import RunFailed
from protocol.machine import who

DEADLINE = 300.0
"""Seconds in which whoever holds an agent up confirms something, or the agent ends by its name: as
long as an agent far away waits for its coordinator. What is down is noticed sooner elsewhere."""


class Restraint:
    """While an agent is `held` it listens and does not act. `sessions`: its links, by other end.

    Time is an argument, in seconds of the loop's clock. What is under way, and answers to what
    comes, still find room: an agent is held when half of a session is full.
    """

    def __init__(self, sessions: Callable[[], Iterable[tuple[int, Session]]]) -> None:
        self.held = False
        self._sessions = sessions
        self._look_at = 0.0
        self._last = (0, -1)
        """Who held this agent up when it was last looked, and how much that had confirmed."""
        self._until = math.inf

    def look_soon(self) -> None:
        """Whoever acts by its own clock may say too much before the next look is due."""
        self._look_at = 0.0

    def look(self, now: float) -> None:
        """To be called often; `RunFailed` if nothing at all is confirmed for too long."""
        if now < self._look_at and not self.held:
            return
        self._look_at = now + PROBE_EVERY
        crowded = [(s.unconfirmed, end, s.confirmed) for end, s in self._sessions() if s.crowded]
        self.held = bool(crowded)
        if not crowded:
            self._last = (0, -1)
            return
        _, end, confirmed = max(crowded)
        if self._last != (end, confirmed):
            self._last, self._until = (end, confirmed), now + DEADLINE
        elif now >= self._until:
            raise RunFailed(f"{who(end)} confirmed nothing of what it was sent for {DEADLINE:g} s")
