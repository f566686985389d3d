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
from contextlib import suppress
from typing import ClassVar, Protocol

import zmq

from posse.durable.session import ENVELOPE_BYTES, Session, SessionFull, content
from posse.engines.joining import LINK_DEADLINE
from posse.engines.sockets import configure
from posse.errors import RunFailed
from posse.hosts.endpoint import NEIGHBOURS
from protocol.wire import MAGIC, SOURCE, name_of

_SIGNED = slice(ENVELOPE_BYTES + SOURCE.start, ENVELOPE_BYTES + SOURCE.stop)
"""Where the sender stands in what comes; in what is no frame a session's signature has it there."""

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


class Wire(Protocol):
    """What takes bytes for one peer, or for all neighbours at once: a ZeroMQ socket is one."""

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """Hand them over."""
        ...


Heard = Callable[[int, Wire], Wire]
"""What stands before the socket to this target, below the session."""


def unheard(target: int, wire: Wire) -> Wire:
    """Nobody listens."""
    return wire


class Links(Protocol):
    """An agent's ways to its neighbours; see the module's text."""

    inbox_type: ClassVar[int]

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        """Open what is missing of the ways to these neighbours, and close what is too many.

        New sessions begin over all of them, in the name of `rank`, whose frames count from `first`.
        """
        ...

    def take(self, sender: int | None, data: bytes) -> bytes | None:
        """The frame in what came to the inbox, if it is due; `sender` is None if it must say so."""
        ...

    def changed(self, neighbour: int, *, up: bool) -> None:
        """The connection to this neighbour was lost, or there is a new one; where that is known."""
        ...

    def probe(self) -> None:
        """To be called now and then: ask who confirms nothing."""
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
    """One PUSH socket per neighbour, and a session over it and the neighbour's own to us."""

    inbox_type: ClassVar[int] = zmq.PULL

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        prepare: Prepare,
        via: Via = directly,
        watched: bool = False,
        heard: Heard = unheard,
    ) -> None:
        self._context = context
        self._prepare = prepare
        self._via = via
        self._sockets: dict[int, zmq.Socket[bytes]] = {}
        self._addresses: dict[int, str] = {}
        self._ways: dict[bytes, _Way] = {}
        self._watched = watched
        self._heard = heard
        self._up: set[int] = set()

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        """See `Links`."""
        for neighbour in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self._sockets.pop(neighbour).close()
            self._up.discard(neighbour)
            del self._addresses[neighbour]
        for neighbour, address in inboxes.items():
            if neighbour not in self._sockets:
                socket = self._context.socket(zmq.PUSH)
                configure(socket, deadline=LINK_DEADLINE)
                self._prepare(socket, neighbour)
                socket.connect(address)
                self._sockets[neighbour] = socket
                self._addresses[neighbour] = address
        signature = bytes(SOURCE.start) + name_of(rank)
        away = self.not_listening()
        self._ways = {
            name_of(n): _Way(n, self._heard(n, socket), Session(first, signature), n not in away)
            for n, socket in self._sockets.items()
        }
        ways = {way.neighbour: self._via(way.neighbour, way) for way in self._ways.values()}
        return {**ways, NEIGHBOURS: _Each(tuple(ways.values()))}

    def take(self, sender: int | None, data: bytes) -> bytes | None:
        """See `Links`."""
        way = self._ways.get(data[_SIGNED] if sender is None else name_of(sender))
        if way is None:
            return content(data)  # a stranger's, which the host refuses
        session = way.session
        frame = session.take(data)
        if session.replies:
            way.answer()
        return frame

    def probe(self) -> None:
        """See `Links`."""
        for way in self._ways.values():
            way.probe()

    def changed(self, neighbour: int, *, up: bool) -> None:
        """See `Links`."""
        (self._up.add if up else self._up.discard)(neighbour)
        if (way := self._ways.get(name_of(neighbour))) is not None:
            way.changed(up=up)

    def not_listening(self) -> tuple[int, ...]:
        """See `Links`: where nobody watches, what is sent waits for who is not there yet."""
        return tuple(n for n in self._sockets if n not in self._up) if self._watched else ()

    def close(self) -> None:
        """See `Links`."""
        for socket in self._sockets.values():
            socket.close()


class _Way:
    """To one neighbour: its socket takes the frames of the session."""

    def __init__(self, neighbour: int, socket: Wire, session: Session, up: bool) -> None:
        self.neighbour = neighbour
        self.session = session
        self._socket = socket
        self._up = up

    def send(self, data: bytes, /) -> None:
        """See `Link`."""
        try:
            numbered = self.session.wrap(data)
            if self._up:
                self._socket.send(numbered)
        except (zmq.Again, SessionFull):
            raise RunFailed(f"agent {self.neighbour} does not take what it is sent") from None

    def changed(self, *, up: bool) -> None:
        """There is no connection any more, or a new one."""
        self._up = up
        if up:
            self.session.reconnected()
            self.answer()

    def probe(self) -> None:
        """Ask, if nothing is confirmed; who is not there is not asked."""
        if self._up:
            self.session.probe()
            self.answer()

    def answer(self) -> None:
        """Send what the session wants sent; what does not get through is asked for again."""
        if self._up:
            for data in self.session.replies:
                with suppress(zmq.Again):
                    self._socket.send(data, zmq.NOBLOCK)
        self.session.replies.clear()


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
        watched: bool = False,
        heard: Heard = unheard,
    ) -> None:
        self._prepare = prepare
        self.socket: zmq.Socket[bytes] = context.socket(zmq.XPUB)
        self._ways = {NEIGHBOURS: via(NEIGHBOURS, heard(NEIGHBOURS, self.socket))}
        configure(self.socket, deadline=LINK_DEADLINE)
        self.socket.setsockopt(zmq.XPUB_NODROP, 1)
        # a neighbour that was started again repeats the topics of the one before it
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._addresses: dict[int, str] = {}
        self._listening: set[bytes] = set()

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        """See `Links`."""
        self._subscriptions()
        for neighbour in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self.socket.disconnect(self._addresses.pop(neighbour))
            self._listening.discard(_NAME % neighbour)
        for neighbour, address in inboxes.items():
            if neighbour not in self._addresses:
                self._prepare(self.socket, neighbour)
                self.socket.connect(address)
                self._addresses[neighbour] = address
        return self._ways

    def take(self, sender: int | None, data: bytes) -> bytes | None:
        """See `Links`."""
        return data

    def changed(self, neighbour: int, *, up: bool) -> None:
        """See `Links`: a new subscription says as much."""

    def probe(self) -> None:
        """See `Links`."""

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
