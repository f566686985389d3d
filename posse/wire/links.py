"""Links: how frames leave a process to the coordinator, to one agent, or to all neighbours.

A host addresses a frame by rank, `COORDINATOR` or `NEIGHBOURS`, and does not know its carrier. Each
target has a `Link`, a function that takes frames in order. Frames that arrive reach the host at one
place in its process (`AgentProcess`, `Hub`). Between these stand lines (`posse.wire.line`).

An agent has its links to neighbours from its `Mesh`.
"""

from collections.abc import Callable
from typing import Final

import zmq
from librt.strings import read_i32_le

from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import NO_RUN, SOURCE, encode, name_of
from posse.wire.line import Transmit
from posse.wire.session import ENVELOPE_BYTES
from posse.wire.sockets import LINK_DEADLINE

_NOBLOCK: Final = int(zmq.NOBLOCK)
_LOOK_MS: Final = 20
"""Milliseconds between looks for room."""

_NAME_AT: Final = ENVELOPE_BYTES + SOURCE.start
_NAME_END: Final = ENVELOPE_BYTES + SOURCE.stop

TO_ONE: Final = b"pt" + bytes(_NAME_AT - 2)
"""Begins what `OneToAll` sends to one neighbour. The neighbour's name follows, where other frames
name their sender; a receiver cannot confuse them, as it has no session with itself."""

Link = Callable[[bytes], object]
"""Sends a frame to one peer, or to all neighbours at once; frames arrive in the order sent."""


def sender(socket: zmq.Socket[bytes]) -> Transmit:
    """The `send` of a socket's base class, without pyzmq's checks on each frame."""
    return super(zmq.Socket, socket).send if isinstance(socket, zmq.Socket) else socket.send


def patient(
    socket: zmq.Socket[bytes], monitor: zmq.Socket[bytes], now: Callable[[], float]
) -> Transmit:
    """The `sender` of a watched socket, which waits for room while its connection is up.

    After a wrong answer ZeroMQ has no queue for the socket any more, and its own wait would last
    until the deadline, although nothing is full. When the monitor has something to say the frame is
    dropped: its session keeps it, and the loop is to hear of the connection first. `zmq.Again` if
    there is no room for `LINK_DEADLINE` seconds.
    """
    send = sender(socket)

    def wait_with(data: bytes) -> None:
        until = now() + LINK_DEADLINE
        while not monitor.poll(_LOOK_MS):
            try:
                send(data, _NOBLOCK)
                break
            except zmq.Again:
                if now() >= until:
                    raise

    def transmit(data: bytes, flags: int = 0) -> None:
        try:
            send(data, flags | _NOBLOCK)
        except zmq.Again:
            if flags & _NOBLOCK:
                raise
            wait_with(data)

    return transmit


def sender_of(data: bytes) -> int:
    """The sender's rank in received bytes: in a frame's header, else in the session's signature.

    Bytes too short to have one are nobody's, as the coordinator's come another way.
    """
    return read_i32_le(data, _NAME_AT) if len(data) >= _NAME_END else COORDINATOR


def without_topic(data: bytes) -> bytes:
    """The bytes without the prefix `TO_ONE` and the name after it."""
    return data[_NAME_END:] if data.startswith(TO_ONE) else data


def signature(rank: int) -> bytes:
    """The signature of this agent's sessions, padded so that the name is where frames have it."""
    return bytes(SOURCE.start) + name_of(rank)


def outside_runs(message: Message, source: int = COORDINATOR) -> bytes:
    """A frame that belongs to no run."""
    return encode(message, run=NO_RUN, source=source, sequence=0, now=0.0, sent=0)
