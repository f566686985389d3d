"""Links for agents that say the same to all their neighbours."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, ClassVar

import zmq

from posse.durable.broadcast import Broadcast
from posse.durable.session import MAGIC, SessionFull
from posse.engines.links import TO_ONE, Link, Links, Tie, Wire, sender, signature
from posse.engines.sockets import LINK_DEADLINE, configure
from posse.errors import RunFailed
from posse.hosts.endpoint import NEIGHBOURS
from protocol.wire import name_of


def _topic(rank: int) -> bytes:
    """Before what is for one agent alone: an answer of its session, or what it missed."""
    return TO_ONE + name_of(rank)


def listen(inbox: zmq.Socket[bytes], rank: int, before: int | None = None) -> None:
    """Ask for all frames, and for what is for `rank` (`before` it was another's).

    Not needed on PULL sockets. The second topic also tells a publisher whose inbox listens now.
    """
    if inbox.type != zmq.SUB or rank == before:
        return
    if before is None:
        inbox.setsockopt(zmq.SUBSCRIBE, MAGIC)
    else:
        inbox.setsockopt(zmq.UNSUBSCRIBE, _topic(before))
    inbox.setsockopt(zmq.SUBSCRIBE, _topic(rank))


class OneToAll(Links):
    """One XPUB socket, connected to every neighbour's inbox, and one line of numbers to all.

    Whose inbox subscribes again has a new connection, and is sent again what it did not confirm.
    XPUB_NODROP lets a send wait where a publisher would drop.
    """

    inbox_type: ClassVar[int] = zmq.SUB

    def _begin(self) -> None:
        self.socket: zmq.Socket[bytes] = self._context.socket(zmq.XPUB)
        configure(self.socket, deadline=LINK_DEADLINE)
        self.socket.setsockopt(zmq.XPUB_NODROP, 1)
        # who has a new connection repeats the topics that it had
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.back = (self.socket, self._subscriptions)
        self._listening: set[bytes] = set()

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        self._subscriptions()  # those of inboxes that are gone
        return super().connect(inboxes, rank, first)

    def _socket_to(self, neighbour: int) -> zmq.Socket[bytes]:
        return self.socket

    def _begin_sessions(self, rank: int, first: int) -> Mapping[int, Link]:
        self._line = line = Broadcast(first, signature(rank), len(self._addresses))
        self.ties = {
            name_of(n): Tie(
                n, session, partial(_post, self._heard(n, self.socket), _topic(n)), up=True
            )
            for n, session in zip(self._addresses, line.sessions, strict=True)
        }
        wire = self._heard(NEIGHBOURS, self.socket)
        self._all = _All(wire, line, self.ties.values())
        return {NEIGHBOURS: self._all}

    @property
    def state(self) -> Any:
        return self._line, super().state

    def restore(self, state: Any) -> None:
        self._line, sessions = state
        self._all.line = self._line
        super().restore(sessions)

    def _let_go(self, neighbour: int) -> None:
        self._line.leave(self.ties[name_of(neighbour)].session)
        self.socket.disconnect(self._addresses.pop(neighbour))
        self._listening.discard(_topic(neighbour))

    def changed(self, neighbour: int, *, up: bool) -> None:
        """See `Links`: a subscription says so, and comes after it."""

    def recovered(self) -> None:
        """See `Links`: every inbox subscribes again, and this one does."""

    def not_listening(self) -> tuple[int, ...]:
        self._subscriptions()
        return tuple(sorted(r for r in self._addresses if _topic(r) not in self._listening))

    def close(self) -> None:
        self.socket.close()

    def _subscriptions(self) -> None:
        """Read who subscribed and who left: a byte 1 or 0, then the topic."""
        while True:
            try:
                said = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            topic = said[1:]
            if said[:1] == b"\x01":
                self._listening.add(topic)
                if (tie := self.ties.get(topic.removeprefix(TO_ONE))) is not None:
                    tie.changed(up=True)
            else:
                self._listening.discard(topic)


def _post(wire: Wire, topic: bytes, data: bytes) -> None:
    wire.send(topic + data, zmq.NOBLOCK)


class _All:
    """To all neighbours: the socket takes what the line numbered."""

    def __init__(self, wire: Wire, line: Broadcast, ties: Collection[Tie]) -> None:
        self._send = sender(wire)
        self.line = line
        self._ties = ties

    def send(self, data: bytes, /) -> None:
        try:
            self._send(self.line.wrap(data))
        except (zmq.Again, SessionFull):
            behind = min(self._ties, key=lambda tie: tie.session.confirmed)
            raise RunFailed(f"agent {behind.neighbour} does not take what it is sent") from None
