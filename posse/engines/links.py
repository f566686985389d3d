"""The ways by which frames leave a process: to its coordinator, to an agent, to all neighbours.

A host says to whom a frame goes, by rank or as `COORDINATOR` or `NEIGHBOURS`, and knows nothing of
what carries it. Whatever carries it is a `Link`: `send` is handed each frame of the link, in order,
and the process around the host takes what comes from the link's other end at one place
(`AgentProcess`, `Hub`). Between these two places stand the sessions, which lose nothing when a
connection is lost.

Between agents there are two kinds, and a system says which it needs:

`EachLink`  one PUSH socket per neighbour. What is said to one is carried to that one alone.
`OneToAll`  for systems in which an agent says the same to all (`Wiring.broadcasts`): one XPUB
            socket, so that a frame is handed to ZeroMQ once, whatever the number of neighbours.

Topics would let the second kind address one neighbour, but a subscriber chooses its topics, and so
could ask for what is meant for another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final, Protocol

import zmq

from posse.durable.session import ENVELOPE_BYTES, Session
from posse.engines.sockets import know_family
from protocol.wire import SOURCE, name_of

_NAME_AT: Final = ENVELOPE_BYTES + SOURCE.start
_NAME_END: Final = ENVELOPE_BYTES + SOURCE.stop

TO_ONE: Final = b"pt" + bytes(_NAME_AT - 2)
"""Where all neighbours are said the same, what is for one alone begins with this and its name. That
stands where the sender does elsewhere, and is nobody's who sends to it."""

Prepare = Callable[[zmq.Socket[bytes], int], None]
"""Makes a socket ready for the connection that is made next, to this neighbour."""


class Link(Protocol):
    """A way to one peer, or to all neighbours at once."""

    def send(self, data: bytes, /) -> object:
        """Hand over a frame."""
        ...


class Wire(Protocol):
    """What takes bytes for one peer, or for all neighbours at once: a ZeroMQ socket is one."""

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """Hand them over."""
        ...


def sender(wire: Wire) -> Callable[..., object]:
    """How to hand a frame to a wire; to a socket without what `Socket.send` asks for each."""
    return super(zmq.Socket, wire).send if isinstance(wire, zmq.Socket) else wire.send


Heard = Callable[[int, Wire], Wire]
"""What stands before the socket to this target, below the session."""


class Tie:
    """This agent's end of the session with one neighbour; `post` sends it what is no new frame.

    Where connections are watched, nothing is sent while there is none: it would come out of order.
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
        """There is no connection any more, or a new one."""
        self.up = up
        if up:
            self.session.reconnected()
            self.answer()

    def probe(self) -> None:
        """Ask, if nothing is confirmed; who is not there is not asked."""
        if self.up:
            self.session.probe()
            self.answer()

    def answer(self) -> None:
        """Send what the session wants sent; what does not get through is asked for again."""
        if self.up:
            for data in self.session.replies:
                with suppress(zmq.Again):
                    self._post(data)
        self.session.replies.clear()


class Links(ABC):
    """An agent's ways to its neighbours; see the module's text.

    `prepare` is called for each connection before it is made. `watched`: `changed` will be told
    which connections there are.
    """

    inbox_type: ClassVar[int]
    back: tuple[zmq.Socket[bytes], Callable[[], None]] | None = None
    """What neighbours say over the ways to them: a socket, and who reads it."""

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
        """By the neighbour's name, as it stands in frames."""
        self._addresses: dict[int, str] = {}
        """Of the neighbours to whom there is a way."""
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Make what this kind of ways has beside."""

    def connect(self, inboxes: dict[int, str], rank: int, first: int) -> Mapping[int, Link]:
        """Open what is missing of the ways to these neighbours, and close what is too many.

        New sessions begin over all of them, in the name of `rank`, whose frames count from `first`.
        """
        for neighbour in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self._let_go(neighbour)
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
        """The socket that is to be connected to this neighbour's inbox."""

    @abstractmethod
    def _begin_sessions(self, rank: int, first: int) -> Mapping[int, Link]:
        """See `connect`."""

    def lose(self, neighbour: int) -> None:
        """This neighbour is gone: nothing more is sent to it, nor kept for it."""
        if (tie := self.ties.get(name_of(neighbour))) is not None and neighbour in self._addresses:
            tie.up = False
            self._let_go(neighbour)

    @abstractmethod
    def _let_go(self, neighbour: int) -> None:
        """Close the way to a neighbour, and forget its address."""

    @abstractmethod
    def not_listening(self) -> tuple[int, ...]:
        """The neighbours that would not hear yet what is sent."""

    @abstractmethod
    def close(self) -> None:
        """Close all of them."""

    def changed(self, neighbour: int, *, up: bool) -> None:
        """The connection to this neighbour was lost, or there is a new one; where that is known."""
        if (tie := self.ties.get(name_of(neighbour))) is not None:
            tie.changed(up=up)

    def sessions(self) -> Iterator[tuple[int, Session]]:
        """The sessions with the neighbours, by rank."""
        return ((tie.neighbour, tie.session) for tie in self.ties.values())

    @property
    def state(self) -> Any:
        """The sessions with those who are not lost, for `restore`."""
        return {
            t.neighbour: t.session for t in self.ties.values() if t.neighbour in self._addresses
        }

    def restore(self, state: Any) -> None:
        """Go on with these sessions."""
        for tie in self.ties.values():
            if tie.neighbour in state:
                tie.session = state[tie.neighbour]
            else:
                self.lose(tie.neighbour)

    def recovered(self) -> None:
        """This agent was started again. Who watches its connections hears of the new ones."""
        for tie in () if self._watched else self.ties.values():
            tie.session.miss()
            tie.changed(up=True)

    def probe(self) -> None:
        """To be called now and then: ask who confirms nothing."""
        for tie in self.ties.values():
            tie.probe()


def signed_by(data: bytes) -> bytes:
    """The sender's name in what came; in what is no frame a session's signature has it there."""
    return data[_NAME_AT:_NAME_END]


def alone(data: bytes) -> bytes:
    """The same without what says that it is for one alone."""
    return data[_NAME_END:] if data.startswith(TO_ONE) else data


def signature(rank: int) -> bytes:
    """What this agent's sessions sign by, so that it is found where frames have their sender."""
    return bytes(SOURCE.start) + name_of(rank)
