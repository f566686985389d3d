"""An agent's links to its neighbours: the inbox that they connect to, and the way out to theirs.

There are two kinds, and a system says which it needs:

`EachLink`  one PUSH socket per neighbour. What is said to one is carried to that one alone.
`OneToAll`  for systems in which an agent says the same to all (`Wiring.broadcasts`): one XPUB
            socket, so that a frame is handed to ZeroMQ once, whatever the number of neighbours.

Topics would let the second kind address one neighbour, but a subscriber chooses its topics, and so
could ask for what is meant for another.
"""

from collections.abc import Callable
from typing import ClassVar, Protocol

import zmq

from posse.engines.sockets import configure
from protocol.wire import MAGIC

LINK_DEADLINE = 60.0
"""Seconds in which a link must take a frame, and in which neighbours must begin to listen."""

Guard = Callable[[zmq.Socket[bytes], int], None]
"""Prepares a socket for the connection that is made next, to this neighbour."""


class Links(Protocol):
    """See the module's text."""

    inbox_type: ClassVar[int]

    def connect(self, inboxes: dict[int, str]) -> None:
        """Open what is missing of the links to these neighbours, and close what is too many."""
        ...

    def to_one(self, neighbour: int, frame: bytes) -> None:
        """Hand over a frame for one neighbour."""
        ...

    def to_all(self, frame: bytes) -> None:
        """Hand over a frame for all neighbours."""
        ...

    def deaf(self) -> list[int]:
        """The neighbours that would not hear yet what is sent."""
        ...

    def close(self) -> None:
        """Close the way out."""
        ...


def listen(inbox: zmq.Socket[bytes], rank: int, before: int | None = None) -> None:
    """Ask for all frames, in `rank`'s name (`before` it was another's); not needed on PULL sockets.

    The name is a topic too. No frame begins with it; it tells a publisher whose inbox listens now.
    """
    if inbox.type != zmq.SUB or rank == before:
        return
    if before is None:
        inbox.setsockopt(zmq.SUBSCRIBE, MAGIC)
    else:
        inbox.setsockopt(zmq.UNSUBSCRIBE, _NAME % before)
    inbox.setsockopt(zmq.SUBSCRIBE, _NAME % rank)


_NAME = b"agent %d"


class EachLink:
    """One PUSH socket per neighbour. It keeps frames until the neighbour's inbox takes them."""

    inbox_type: ClassVar[int] = zmq.PULL

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], guard: Guard) -> None:
        self._context = context
        self._guard = guard
        self._peers: dict[int, zmq.Socket[bytes]] = {}
        self._addresses: dict[int, str] = {}

    def connect(self, inboxes: dict[int, str]) -> None:
        """See `Links`."""
        for rank in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self._peers.pop(rank).close()
            del self._addresses[rank]
        for rank, address in inboxes.items():
            if rank not in self._peers:
                socket = self._context.socket(zmq.PUSH)
                configure(socket, deadline=LINK_DEADLINE)
                self._guard(socket, rank)
                socket.connect(address)
                self._peers[rank] = socket
                self._addresses[rank] = address

    def to_one(self, neighbour: int, frame: bytes) -> None:
        """See `Links`."""
        self._peers[neighbour].send(frame)

    def to_all(self, frame: bytes) -> None:
        """See `Links`."""
        for peer in self._peers.values():
            peer.send(frame)

    def deaf(self) -> list[int]:
        """See `Links`: what is sent waits for whoever is not there yet."""
        return []

    def close(self) -> None:
        """See `Links`."""
        for socket in self._peers.values():
            socket.close()


class OneToAll:
    """One XPUB socket, connected to every neighbour's inbox.

    What is published before a neighbour has subscribed is lost to it (`deaf`). After that nothing
    is: XPUB_NODROP lets a send wait where a publisher would drop.
    """

    inbox_type: ClassVar[int] = zmq.SUB

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], guard: Guard) -> None:
        self._guard = guard
        self.socket: zmq.Socket[bytes] = context.socket(zmq.XPUB)
        configure(self.socket, deadline=LINK_DEADLINE)
        self.socket.setsockopt(zmq.XPUB_NODROP, 1)
        # a neighbour that was started again repeats the topics of the one before it
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._addresses: dict[int, str] = {}
        self._listening: set[bytes] = set()

    def connect(self, inboxes: dict[int, str]) -> None:
        """See `Links`."""
        self._subscriptions()
        for rank in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self.socket.disconnect(self._addresses.pop(rank))
            self._listening.discard(_NAME % rank)
        for rank, address in inboxes.items():
            if rank not in self._addresses:
                self._guard(self.socket, rank)
                self.socket.connect(address)
                self._addresses[rank] = address

    def to_one(self, neighbour: int, frame: bytes) -> None:
        """A neighbour cannot be addressed here."""
        raise NotImplementedError("a system that broadcasts does not send to one neighbour")

    def to_all(self, frame: bytes) -> None:
        """See `Links`."""
        self.socket.send(frame)

    def deaf(self) -> list[int]:
        """See `Links`."""
        self._subscriptions()
        return sorted(r for r in self._addresses if _NAME % r not in self._listening)

    def _subscriptions(self) -> None:
        """Read who subscribed and who left: a byte 1 or 0, then the topic."""
        while True:
            try:
                said = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            if said[:1] == b"\x01":
                self._listening.add(said[1:])
            else:
                self._listening.discard(said[1:])

    def close(self) -> None:
        """See `Links`."""
        self.socket.close()
