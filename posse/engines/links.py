"""Links: how frames leave a process to the coordinator, to one agent, or to all neighbours.

A host addresses a frame by rank, `COORDINATOR` or `NEIGHBOURS`, and does not know its carrier. Each
target has a `Link`, whose `send` takes frames in order. Frames that arrive reach the host at one
place in its process (`AgentProcess`, `Hub`). Between these, sessions retransmit lost frames.

Agents link in one of two ways, which the system chooses:

`EachLink`  one PUSH socket per neighbour. A frame for one neighbour reaches only that neighbour.
`OneToAll`  one XPUB socket, for systems whose agents send all neighbours the same
            (`Wiring.broadcasts`). ZeroMQ is handed each frame once, for any number of neighbours.

`OneToAll` cannot keep a frame private to one neighbour: subscribers choose their topics, so an
agent could subscribe to another's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final, Protocol

import zmq

from posse.durable.journal import Journal
from posse.durable.session import ENVELOPE_BYTES, Session
from posse.engines.base import Tap
from posse.engines.sockets import know_family
from protocol.wire import SOURCE, name_of

_NAME_AT: Final = ENVELOPE_BYTES + SOURCE.start
_NAME_END: Final = ENVELOPE_BYTES + SOURCE.stop

TO_ONE: Final = b"pt" + bytes(_NAME_AT - 2)
"""Begins what `OneToAll` sends to one neighbour. The neighbour's name follows, where other frames
name their sender; a receiver cannot confuse them, as it has no session with itself."""

Prepare = Callable[[zmq.Socket[bytes], int], None]
"""Prepares a socket for its next connection, to the neighbour of this rank."""


class Link(Protocol):
    """A way to one peer, or to all neighbours at once."""

    def send(self, data: bytes, /) -> object:
        """Send a frame; frames arrive in the order sent."""
        ...


class Wire(Protocol):
    """Carries bytes to one peer, or to all neighbours at once; a ZeroMQ socket is a wire."""

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """Send bytes; `flags` are ZeroMQ's."""
        ...


def sender(wire: Wire) -> Callable[..., object]:
    """The wire's `send`; of a socket the base class's, without pyzmq's checks on each frame."""
    return super(zmq.Socket, wire).send if isinstance(wire, zmq.Socket) else wire.send


Heard = Callable[[int, Wire], Wire]
"""Wraps the wire to this target, below the session, so that frames are heard."""


class HeardWire:
    """An agent's wire that commits the journal and calls the tap before it hands anything over.

    It is below the session, so the tap also hears joining, envelopes and frames that are sent
    again. A coordinator's frames are heard at its `Router`. `ends` gives the source of the frames
    and their targets.
    """

    def __init__(
        self,
        wire: Wire,
        tap: Tap | None,
        journal: Journal | None,
        ends: Callable[[], tuple[int | None, Iterable[int]]],
    ) -> None:
        self._wire = wire
        self._tap = tap
        self._journal = journal
        self._ends = ends

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """See `Wire`. A replay sends nothing: the sessions know what the other ends still miss."""
        if self._journal is not None:
            if self._journal.replaying:
                return None
            self._journal.commit()
        if self._tap is not None:
            source, targets = self._ends()
            for target in targets:
                self._tap(source, target, data)
        return self._wire.send(data, flags)


class Tie:
    """This agent's end of the session with one neighbour; `post` sends the session's replies.

    On watched links nothing is sent while the link is down: it would arrive out of order.
    """

    __slots__ = ("_post", "neighbour", "session", "up")

    def __init__(
        self, neighbour: int, session: Session, post: Callable[[bytes], object], *, up: bool
    ) -> None:
        self.neighbour = neighbour
        self.session = session
        self.up = up
        self._post = post

    def changed(self, *, up: bool) -> None:
        """The connection is lost, or there is a new one."""
        self.up = up
        if up:
            self.session.reconnected()
            self.answer()

    def probe(self) -> None:
        """Let the session ask a connected neighbour that confirms nothing."""
        if self.up:
            self.session.probe()
            self.answer()

    def answer(self) -> None:
        """Send the session's replies; the neighbour asks again for what does not get through."""
        if self.up:
            for data in self.session.replies:
                with suppress(zmq.Again):
                    self._post(data)
        self.session.replies.clear()


class Links(ABC):
    """An agent's links to its neighbours; see the module's text.

    `prepare` is called before each connection is made. `watched`: the guard reports each link that
    comes up or goes down to `changed`.
    """

    inbox_type: ClassVar[int]
    back: tuple[zmq.Socket[bytes], Callable[[], None]] | None = None
    """The socket to poll for neighbours' subscriptions, and its reader; None without any."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        prepare: Prepare,
        *,
        watched: bool,
        heard: Heard,
    ) -> None:
        self._context = context
        self._prepare = prepare
        self._watched = watched
        self._heard = heard
        self.ties: dict[bytes, Tie] = {}
        """By the neighbour's name in frames."""
        self._addresses: dict[int, str] = {}
        """Inboxes of the neighbours with a link, by rank."""
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Make the subclass's own sockets and tables."""

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        """Link to exactly these neighbours, by their inboxes' addresses; returns links by target.

        New sessions begin on all links: `rank` signs them, and frames are numbered from `first`.
        """
        for neighbour in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self.lose(neighbour)
        for neighbour, address in inboxes.items():
            if neighbour not in self._addresses:
                socket = self._socket_to(neighbour)
                self._prepare(socket, neighbour)
                know_family(socket, address)
                socket.connect(address)
                self._addresses[neighbour] = address
        return self._begin_sessions(rank, first)

    @abstractmethod
    def _socket_to(self, neighbour: int) -> zmq.Socket[bytes]:
        """The socket to connect to this neighbour's inbox."""

    @abstractmethod
    def _begin_sessions(self, rank: int, first: int) -> Mapping[int, Link]:
        """See `connect`."""

    def lose(self, neighbour: int) -> None:
        """This neighbour is gone: send and keep nothing more for it."""
        if (tie := self.ties.get(name_of(neighbour))) is not None and neighbour in self._addresses:
            tie.up = False
            self._let_go(neighbour)

    @abstractmethod
    def _let_go(self, neighbour: int) -> None:
        """Close the link to a neighbour, and forget its address."""

    @abstractmethod
    def not_listening(self) -> tuple[int, ...]:
        """The neighbours that do not listen yet."""

    @abstractmethod
    def close(self) -> None:
        """Close all links."""

    def changed(self, neighbour: int, *, up: bool) -> None:
        """The connection to this neighbour is lost, or there is a new one (`watched` only)."""
        if (tie := self.ties.get(name_of(neighbour))) is not None:
            tie.changed(up=up)

    def sessions(self) -> Iterator[tuple[int, Session]]:
        """The sessions with the neighbours, by rank."""
        return ((tie.neighbour, tie.session) for tie in self.ties.values())

    @property
    def state(self) -> Any:
        """The sessions with neighbours that are not lost, for `restore`."""
        return {
            t.neighbour: t.session for t in self.ties.values() if t.neighbour in self._addresses
        }

    def restore(self, state: Any) -> None:
        """Continue these sessions; neighbours without one are lost."""
        for tie in self.ties.values():
            if tie.neighbour in state:
                tie.session = state[tie.neighbour]
            else:
                self.lose(tie.neighbour)

    def recovered(self) -> None:
        """After a restart: ask for what was missed, and retransmit; watched links do so once up."""
        for tie in () if self._watched else self.ties.values():
            tie.session.miss()
            tie.changed(up=True)

    def probe(self) -> None:
        """Ask the neighbours that confirm nothing; call it every `PROBE_EVERY` seconds."""
        for tie in self.ties.values():
            tie.probe()


def signed_by(data: bytes) -> bytes:
    """The sender's name in received bytes: in a frame's header, else in the session's signature."""
    return data[_NAME_AT:_NAME_END]


def alone(data: bytes) -> bytes:
    """The bytes without the prefix `TO_ONE` and the name after it."""
    return data[_NAME_END:] if data.startswith(TO_ONE) else data


def signature(rank: int) -> bytes:
    """The signature of this agent's sessions, padded so that the name is where frames have it."""
    return bytes(SOURCE.start) + name_of(rank)
