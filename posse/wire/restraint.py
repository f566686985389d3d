"""Backpressure: an agent does not act while a peer has too many frames to confirm."""

import math
from collections.abc import Callable, Iterable

from posse.errors import RunFailed
from posse.protocol.machine import peer_name
from posse.wire.session import Session
from posse.wire.sockets import PROBE_EVERY

DEADLINE = 300.0
"""Seconds in which a peer that holds an agent up must confirm something, or the agent ends, naming
it: as long as a remote agent waits for its coordinator. A lost peer is noticed sooner elsewhere."""


class Restraint:
    """While an agent is `held` it listens and does not act. `sessions`: its links, by other end.

    Time is an argument, in seconds of the loop's clock. An agent is held when half of a session is
    full, so that frames under way and answers to what comes still find room.
    """

    def __init__(self, sessions: Callable[[], Iterable[tuple[int, Session]]]) -> None:
        self.held = False
        self._sessions = sessions
        self._look_at = 0.0
        self._last = (0, -1)
        """The peer that held this agent up at the last look, and how much it had confirmed."""
        self._until = math.inf

    def check_soon(self) -> None:
        """Look at the next call: an agent on its own clock may send too much before one is due."""
        self._look_at = 0.0

    def stood_still(self, seconds: float) -> None:
        """This process did not listen for this many seconds: no peer is late for them."""
        self._until += seconds

    def look(self, now: float) -> None:
        """Update `held`; call it often. `RunFailed` if a peer confirms nothing for `DEADLINE`."""
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
            raise RunFailed(
                f"{peer_name(end)} confirmed none of the frames sent to it for {DEADLINE:g} s"
            )
