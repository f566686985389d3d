"""The coordinator's ROUTER socket, and its monitor."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import zmq

from posse.coordinator.roster import Member, Peer
from posse.errors import PosseError
from posse.gates import files
from posse.protocol import control
from posse.protocol.message import Message
from posse.protocol.orders import DRAWN, chain_of
from posse.security.address import split
from posse.security.keys import CoordinatorKeys, beginning
from posse.security.zap import ZapStatus, host_of, key_of, serve_with
from posse.wire.door import WATCHED, Door
from posse.wire.line import Interceptor, Line
from posse.wire.links import outside_runs, sender
from posse.wire.lookup import in_the_way
from posse.wire.orders import SigningLine, Signs
from posse.wire.session import Session, SessionBroken
from posse.wire.sockets import (
    HANDSHAKE_MS,
    MonitorEvent,
    bound,
    configure,
    heartbeat,
    monitored,
    why_failed,
)
from posse.wire.world import HERE, World

_MORE: Final = int(zmq.SNDMORE)
_NOBLOCK: Final = int(zmq.NOBLOCK)
_LOOK_UP_EVERY = 1.0
_NAMED: Final = 3
_SAID_AT_ONCE: Final = 16
"""Failed handshakes that are described of those that come together; the others are counted."""

_LINGER = 500
"""Milliseconds at the end for frames that are under way."""


class ConnectionClosed(msgspec.Struct, frozen=True):
    """A connection is lost; `connection` is its file descriptor."""

    connection: int


class NotAccepted(msgspec.Struct, frozen=True):
    """A connection, or what came over it, was refused; `text` says more, "" for nothing."""

    reason: str
    text: str


class Router:
    """Where agents connect. With keys only those of the allowlist get as far as a first frame.

    `members`: see `Door`. All that is sent goes through the `interceptor`; what is ordered in the
    field is signed by who `signs`.
    """

    def __init__(
        self,
        bind: str,
        deadline: float,
        patience: float,
        keys: CoordinatorKeys | None,
        agents: int,
        members: Callable[[], Mapping[int, int]],
        interceptor: Interceptor,
        world: World = HERE,
        signs: Signs | None = None,
    ) -> None:
        if trouble := in_the_way(bind):
            raise PosseError(f"{bind} cannot be bound: {trouble}")
        self._world = world
        self._interceptor = interceptor
        self._signs = signs
        self._keyed = keys is not None
        self._refused: deque[tuple[str, str]] = deque()
        """Reason and sentence for each stranger whose key was refused."""
        self._look_up_at = 0.0
        self._context = world.context()
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._send, self._receive = sender(self._socket), self._socket.recv
        self._half: bytes | None = None
        """The content of the message that is being handed over."""
        configure(self._socket, deadline)
        if not bind.startswith("ipc:"):
            heartbeat(self._socket)
            self._socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
            self._socket.setsockopt(zmq.RCVHWM, 0)  # see `posse.wire.door`
        self._socket.setsockopt(zmq.RCVTIMEO, int(patience * 1000))
        # otherwise frames to a peer that is gone, or does not read, vanish in silence
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        if keys is not None:
            self._guard(keys)
        try:
            self.endpoint = bound(self._socket, bind)
        except PosseError:
            world.end(self._context)
            raise
        self._file = None if bind.startswith("ipc://@") else _file_at(self.endpoint)
        self._monitor = monitored(self._socket, WATCHED)
        guarded = not bind.startswith("ipc:")
        self.door = Door(
            self._monitor, agents, members, guarded=guarded, keyed=self._keyed, world=world
        )

    def _guard(self, keys: CoordinatorKeys) -> None:
        """Let only keys of the allowlist connect."""

        def decide(key: str) -> ZapStatus:
            return ZapStatus.NO if keys.rank_of(key) is None else ZapStatus.YES

        def refused(address: str, key: str) -> None:
            text = f"refused {address}: its key {beginning(key)} is not in the allowlist; if it "
            remedy = (
                "belongs here, add it by posse keys --allow (its log has it all) and start it again"
            )
            self._refused.append(("stranger-key", text + remedy))

        self._world.authenticate(self._context, decide, refused)
        serve_with(self._socket, keys.own.secret)

    def next(self) -> tuple[bytes, zmq.Frame] | None:
        """The sender and content of the next message; None if none comes within the patience.

        Of a message with too many parts only the first is returned; its `more` is set. After an
        interrupt within this call the first part may be what was left of a message.
        """
        receive = self._receive
        try:
            identity = receive()
            part = receive(copy=False)  # its `more` costs less than asking the socket
        except zmq.Again:
            return None
        if part.more:
            while self._socket.get(zmq.RCVMORE):
                receive()
        return identity, part

    def peer(self, identity: bytes, part: zmq.Frame) -> Peer:
        """All that is known of the sender of this part."""
        return Peer(identity, key_of(part), int(part.get(zmq.SRCFD)), host_of(part))

    def link(self, member: Member) -> None:
        """Give a member its line, over whatever connection it has at the time.

        Without a connection, or if it was just lost, the session keeps what is sent.
        """
        interceptor = self._interceptor

        def transmit(data: bytes, flags: int = 0) -> None:
            identity = member.identity
            if member.connection < 0:
                return
            if not (interceptor.idle or interceptor.intercept((member.rank,), data)):
                return
            try:
                self._hand_over(identity, data, flags)
            except zmq.Again:
                raise
            except zmq.ZMQError:
                pass

        if self._signs is None:
            member.line = Line(member.rank, Session(), transmit, interceptor)
        else:
            drawn = self._world.token_bytes(DRAWN)
            chain = chain_of(drawn, member.incarnation)
            member.line = SigningLine(member.rank, transmit, interceptor, *self._signs, chain)

    def resume(self, member: Member, taken: int) -> int:
        """An agent reconnected after it took `taken` frames: send it the rest; see `reply`."""
        member.unread = 0
        message: Message = control.Resumed(member.session.taken)
        try:
            member.session.resume(taken)
        except SessionBroken:
            message = control.Unknown()
        trouble = self.reply(member.identity, outside_runs(message), member.rank)
        member.line.answer()
        return trouble

    def reply(self, identity: bytes, frame: bytes, rank: int | None = None) -> int:
        """Hand over a frame if that is possible at once; returns ZeroMQ's error, 0 for none."""
        if not self._interceptor.intercept((rank,), frame):
            return int(zmq.EAGAIN)
        try:
            self._hand_over(identity, frame, _NOBLOCK)
        except zmq.ZMQError as error:
            return error.errno or int(zmq.EFAULT)
        return 0

    def _hand_over(self, identity: bytes, data: bytes, flags: int) -> None:
        """Hand ZeroMQ a message, and first the rest of one within which an interrupt came."""
        if self._half is not None:
            self._send(self._half)  # if it is whole already, ZeroMQ drops this: nobody is named
        self._half = data
        try:
            self._send(identity, _MORE | flags)
            self._send(data, flags)
        except zmq.ZMQError:
            self._half = None
            raise
        self._half = None

    def connections(self) -> Iterator[ConnectionClosed | NotAccepted]:
        """The connections that were lost or never let in since the last call."""
        rejected = 0
        for event in self.door.events():
            match event.kind:
                case zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    pass  # of a stranger's key the authenticator says more
                case zmq.EVENT_DISCONNECTED:
                    yield ConnectionClosed(event.value)
                case _:
                    rejected += 1
                    text = self._not_let_in(event) if rejected <= _SAID_AT_ONCE else ""
                    yield NotAccepted("handshake", text)

        for refused in (self._refused, self.door.refused):
            while refused:
                yield NotAccepted(*refused.popleft())

    def _not_let_in(self, event: MonitorEvent) -> str:
        if event.kind == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            return (
                f"refused a connection{self._from(event)}: {why_failed(event.value, listens=True)}"
            )
        why = "no keys, or keys that are not known here"
        if not self._keyed:
            why = "keys while this one has none"
        return (
            f"a connection{self._from(event)} was closed in the handshake: the other side may have "
            f"{why}, or it disconnected"
        )

    def _from(self, event: MonitorEvent) -> str:
        """The origin of a connection that ZeroMQ has closed, for a sentence; "" if unknown."""
        now = self._world.monotonic()
        if now < self._look_up_at or event.address.startswith("ipc:"):
            return ""  # a look-up is expensive when many connections come
        self._look_up_at = now + _LOOK_UP_EVERY
        hosts = sorted(self._world.closed_by_us(int(split(event.address)[1])))[:_NAMED]
        return f" from {' or '.join(hosts)}" if hosts else ""

    def close(self, *, flush: bool) -> None:
        """Free everything; with `flush` frames under way have `_LINGER` to leave first."""
        if not flush:
            self.door.hang_up()
        self.door.close()
        self._socket.disable_monitor()
        self._monitor.close()
        self._socket.close(linger=_LINGER if flush else 0)
        self._world.end(self._context)
        # ZeroMQ leaves its file; the one that is there by now may be another process's
        if self._file is not None and _file_at(self.endpoint) == self._file:
            with suppress(OSError):
                files.remove(Path(self._file[0]))


def _file_at(endpoint: str) -> tuple[str, int] | None:
    """Path and inode of a socket's file; None if the address has no file."""
    path = endpoint.removeprefix("ipc://")
    try:
        return None if path == endpoint else (path, os.stat(path).st_ino)
    except OSError:
        return None
