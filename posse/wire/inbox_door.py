"""The door of an agent with neighbours: at its inbox, and on its own connections to theirs.

Any admitted peer may send to the inbox. The agent knows how many bytes it took in total, not per
connection, so the door compares totals. Over this agent's own connections to neighbours' inboxes
little comes back: subscriptions and heartbeats.
"""

from collections import deque
from collections.abc import Iterator, Mapping

import zmq

from posse.log import LOG
from posse.wire.door import JOIN_WITHIN, PER_SECOND, Closing, Connection, Door
from posse.wire.world import HERE, World

_GREETING = 4 << 10
"""Most bytes of a handshake. A closed connection that received no more is not counted."""

BACK, BACK_PER_SECOND = 64 << 10, 256
"""Bytes that may come back over an own connection: at once, and per second of its life. A topic
has 20; a heartbeat 10, at most once a second."""


class InboxDoor(Door):
    """See the module's text. `taken`: bytes taken from the inbox, including ZeroMQ's framing."""

    def __init__(
        self,
        monitor: zmq.Socket[bytes],
        *,
        guarded: bool = True,
        keyed: bool = False,
        world: World = HERE,
    ) -> None:
        self.taken = 0
        self._left = 0
        self._own: dict[int, Connection] = {}
        self._came: dict[int, int] = {}
        super().__init__(monitor, 0, dict, guarded=guarded, keyed=keyed, world=world)
        self.pending = deque(maxlen=0)  # this monitor's events have no other reader

    def know(self, neighbours: int) -> None:
        """Set how many neighbours may connect."""
        self._agents = neighbours

    def connected(self, fd: int) -> None:
        """This agent connected to a neighbour's inbox."""
        self.disconnected(fd)  # a reused descriptor, whose DISCONNECTED has not come yet
        with self._lock:
            self._own[fd] = self._copy(fd)

    def disconnected(self, fd: int) -> bool:
        """An own connection is gone; returns whether the door closed it."""
        with self._lock:
            if (connection := self._own.pop(fd, None)) is not None:
                connection.close()
        return connection is not None and connection.closed

    def _refuse(self, reason: str, text: str) -> None:
        super()._refuse(reason, text)
        LOG.warning("at the inbox: %s", text, extra={"about": f"inbox: {reason}"})

    def _disconnected(self, fd: int) -> None:
        if (connection := self._connections.get(fd)) is not None:
            received = connection.counts()[1]
            self._left += received if received > _GREETING else 0
        super()._disconnected(fd)

    def _ahead(self, members: Mapping[int, int], now: float) -> tuple[int, int]:
        live = [link for link in self._connections.values() if not link.closed]
        came = sum(link.counts()[1] - PER_SECOND * (now - link.since) for link in live)
        return int(self._left + came - self.taken), max(1, self._agents)

    def _too_much(self, members: Mapping[int, int], most: int, now: float) -> Iterator[Closing]:
        live = {fd: link for fd, link in self._connections.items() if not link.closed}
        young = [(fd, link) for fd, link in live.items() if now < link.since + JOIN_WITHIN]
        yield from self._too_many(young)
        came = {fd: link.counts()[1] for fd, link in live.items()}
        if came and self._ahead(members, now)[0] > most:
            fd = max(came, key=lambda fd: came[fd] - self._came.get(fd, 0))
            yield fd, live[fd], "too-much", "more comes in than this agent can take"
        self._came = came
        for fd, own in self._own.items():
            back = own.counts()[1]
            if not own.closed and back > BACK + BACK_PER_SECOND * (now - own.since):
                text = f"it sent back {back >> 10} KiB, although it has nothing to send"
                yield fd, own, "too-much", text

    def close(self) -> None:
        super().close()
        for connection in self._own.values():
            connection.close()
