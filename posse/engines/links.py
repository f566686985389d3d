"""The ways by which frames leave a process: to its coordinator, to an agent, to all neighbours.

A host says to whom a frame goes, by rank or as `COORDINATOR` or `NEIGHBOURS`, and knows nothing of
what carries it. Whatever carries it is a `Link`: `send` is handed each frame of the link, in order,
and the process around the host takes what comes from the link's other end at one place
(`AgentProcess`, `Hub`). So a link may be more than a socket, which forgets what is under way when
its connection is lost: numbers and confirmations belong between these two places.

Between agents there are two kinds, and a system says which it needs:

`EachLink`  one PUSH socket per neighbour. What is said to one is carried to that one alone.
`OneToAll`  for systems in which an agent says the same to all (`Wiring.broadcasts`): one XPUB
            socket, so that a frame is handed to ZeroMQ once, whatever the number of neighbours.

Topics would let the second kind address one neighbour, but a subscriber chooses its topics, and so
could ask for what is meant for another.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

import zmq

from posse.engines.joining import LINK_DEADLINE
from posse.engines.sockets import configure
from posse.hosts.endpoint import NEIGHBOURS
from protocol.wire import MAGIC

Prepare = Callable[[zmq.Socket[bytes], int], None]
"""Makes a socket ready for the connection that is made next, to this neighbour."""


class Link(Protocol):
    """A way to one peer, or to all neighbours at once. A ZeroMQ socket is one."""

    def send(self, data: bytes, /) -> object:
        """Hand over a frame."""
        ...


Via = Callable[[int, Link], Link]
"""What frames for this target are handed to instead of to this link."""


def directly(target: int, link: Link) -> Link:
    """Nothing stands between a host and its links."""
    return link


class Links(Protocol):
    """An agent's ways to its neighbours; see the module's text."""

    inbox_type: ClassVar[int]

    def connect(self, inboxes: dict[int, str]) -> Mapping[int, Link]:
        """Open what is missing of the ways to these neighbours, and close what is too many."""
        ...

    def not_listening(self) -> tuple[int, ...]:
        """The neighbours that would not hear yet what is sent."""
        ...

    def close(self) -> None:
        """Close all of them."""
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

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        prepare: Prepare,
        via: Via = directly,
    ) -> None:
        self._context = context
        self._prepare = prepare
        self._via = via
        self._sockets: dict[int, zmq.Socket[bytes]] = {}
        self._ways: dict[int, Link] = {}
        self._addresses: dict[int, str] = {}

    def connect(self, inboxes: dict[int, str]) -> Mapping[int, Link]:
        """See `Links`."""
        for rank in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self._sockets.pop(rank).close()
            del self._ways[rank], self._addresses[rank]
        for rank, address in inboxes.items():
            if rank not in self._ways:
                socket = self._context.socket(zmq.PUSH)
                configure(socket, deadline=LINK_DEADLINE)
                self._prepare(socket, rank)
                socket.connect(address)
                self._sockets[rank] = socket
                self._ways[rank] = self._via(rank, socket)
                self._addresses[rank] = address
        return {**self._ways, NEIGHBOURS: _Each(tuple(self._ways.values()))}

    def not_listening(self) -> tuple[int, ...]:
        """See `Links`: what is sent waits for whoever is not there yet."""
        return ()

    def close(self) -> None:
        """See `Links`."""
        for socket in self._sockets.values():
            socket.close()


class _Each:
    """All of these links, one after the other."""

    def __init__(self, links: tuple[Link, ...]) -> None:
        self._links = links

    def send(self, data: bytes, /) -> None:
        """See `Link`."""
        for link in self._links:
            link.send(data)


class OneToAll:
    """One XPUB socket, connected to every neighbour's inbox.

    What is published before a neighbour has subscribed is lost to it (`not_listening`). After that
    nothing is: XPUB_NODROP lets a send wait where a publisher would drop.
    """

    inbox_type: ClassVar[int] = zmq.SUB

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        prepare: Prepare,
        via: Via = directly,
    ) -> None:
        self._prepare = prepare
        self.socket: zmq.Socket[bytes] = context.socket(zmq.XPUB)
        self._ways = {NEIGHBOURS: via(NEIGHBOURS, self.socket)}
        configure(self.socket, deadline=LINK_DEADLINE)
        self.socket.setsockopt(zmq.XPUB_NODROP, 1)
        # a neighbour that was started again repeats the topics of the one before it
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._addresses: dict[int, str] = {}
        self._listening: set[bytes] = set()

    def connect(self, inboxes: dict[int, str]) -> Mapping[int, Link]:
        """See `Links`."""
        self._subscriptions()
        for rank in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self.socket.disconnect(self._addresses.pop(rank))
            self._listening.discard(_NAME % rank)
        for rank, address in inboxes.items():
            if rank not in self._addresses:
                self._prepare(self.socket, rank)
                self.socket.connect(address)
                self._addresses[rank] = address
        return self._ways

    def not_listening(self) -> tuple[int, ...]:
        """See `Links`."""
        self._subscriptions()
        return tuple(sorted(r for r in self._addresses if _NAME % r not in self._listening))

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
