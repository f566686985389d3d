"""A peer that may behave, or not: it says to a coordinator what it is told to."""

import secrets
import time
from typing import Any, Self

import msgspec
import zmq

from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.wire import HEADER, encode, read_header
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with
from posse.wire.session import ENVELOPE_BYTES, is_numbered
from tests.support.patience import PATIENCE


class HostilePeer:
    """An agent by its key, or anybody, connected to a coordinator by one socket."""

    def __init__(self, endpoint: str, rank: int = 0, keys: AgentKeys | None = None) -> None:
        self.rank = rank
        self.run = 0
        self._sequence = 0
        self._context = zmq.Context()
        self.socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        if keys is not None:
            connect_with(self.socket, keys.own.public, keys.own.secret, keys.coordinator)
        self.socket.connect(endpoint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._context.destroy(0)

    def say(self, message: Message, now: float = 0.0) -> None:
        """A well-formed frame of this run."""
        self._sequence += 1
        self.socket.send(
            encode(
                message, run=self.run, source=self.rank, sequence=self._sequence, now=now, sent=0
            )
        )

    def join(self, inbox: str = "") -> list[Any]:
        """What an honest agent says until it has arrived; what it was answered."""
        self.say(control.Join(self.rank, "", "", 0, secrets.token_bytes(8), time.time()))
        answer = self.until("Welcome", "Refused")
        self.say(control.Arrived(inbox))
        return answer

    def until(self, *kinds: str) -> list[Any]:
        """The first message of one of these kinds, its kind first."""
        deadline = time.monotonic() + PATIENCE
        while self.socket.poll(max(0, int(1000 * (deadline - time.monotonic())))):
            frame = self.socket.recv()
            if is_numbered(frame):
                frame = frame[ENVELOPE_BYTES:]
            if len(frame) <= HEADER.size:
                continue
            message: list[Any] = msgspec.msgpack.decode(frame[HEADER.size :])
            if message[0] == "Configure":
                self.say(control.Ready(msgspec.msgpack.decode(message[2], strict=False)["first"]))
            if message[0] == "Begin":
                self.run = read_header(frame).run
            if message[0] in kinds:
                return message
        raise AssertionError(f"agent {self.rank} was not told {' or '.join(kinds)}")
