"""Links: how frames leave a process to the coordinator, to one agent, or to all neighbours.

A host addresses a frame by rank, `COORDINATOR` or `NEIGHBOURS`, and does not know its carrier. Each
target has a `Link`, whose `send` takes frames in order. Frames that arrive reach the host at one
place in its process (`AgentProcess`, `Hub`). Between these, sessions retransmit lost frames.

An agent has its links to neighbours from its `Mesh`.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

import zmq
from librt.strings import read_i32_le

from posse.durable.journal import Journal
from posse.durable.session import ENVELOPE_BYTES, Session
from protocol.machine import COORDINATOR
from protocol.wire import SOURCE, name_of

_NAME_AT: Final = ENVELOPE_BYTES + SOURCE.start
_NAME_END: Final = ENVELOPE_BYTES + SOURCE.stop

TO_ONE: Final = b"pt" + bytes(_NAME_AT - 2)
"""Begins what `OneToAll` sends to one neighbour. The neighbour's name follows, where other frames
name their sender; a receiver cannot confuse them, as it has no session with itself."""


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
    again. A coordinator's frames are heard at its `Router`.
    """

    def __init__(
        self, wire: Wire, tap: Callable[[bytes], object] | None, journal: Journal | None
    ) -> None:
        self._wire = wire
        self._tap = tap
        self._journal = journal

    def send(self, data: bytes, flags: int = 0, /) -> object:
        """See `Wire`. A replay sends nothing: the sessions know what the other ends still miss."""
        if self._journal is not None:
            if self._journal.replaying:
                return None
            self._journal.commit()
        if self._tap is not None:
            self._tap(data)
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


def signed_by(data: bytes) -> int:
    """The sender's rank in received bytes: in a frame's header, else in the session's signature.

    Bytes too short to have one are nobody's, as the coordinator's come another way.
    """
    return read_i32_le(data, _NAME_AT) if len(data) >= _NAME_END else COORDINATOR


def alone(data: bytes) -> bytes:
    """The bytes without the prefix `TO_ONE` and the name after it."""
    return data[_NAME_END:] if data.startswith(TO_ONE) else data


def signature(rank: int) -> bytes:
    """The signature of this agent's sessions, padded so that the name is where frames have it."""
    return bytes(SOURCE.start) + name_of(rank)
