"""Links for agents that send the same frames to all their neighbours."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import zmq

from posse.agent.mesh import NeighbourLinks
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.endpoint import NEIGHBOURS
from posse.protocol.wire import name_of
from posse.wire.broadcast import BroadcastSession
from posse.wire.line import Line, PeerStalled, Transmit
from posse.wire.links import TO_ONE, Link, sender, sender_of, signature
from posse.wire.session import MAGIC
from posse.wire.sockets import LINK_DEADLINE, configure


def _topic(rank: int) -> bytes:
    """The prefix of data for one agent alone: answers of its session, and frames sent again."""
    return TO_ONE + name_of(rank)


class OneToAll(NeighbourLinks):
    """One XPUB socket, connected to every neighbour's inbox, with one sequence of numbers for all.

    A neighbour that subscribes again has reconnected, so every frame it has not confirmed is sent
    again. With XPUB_NODROP a send waits where a publisher would drop the frame.
    """

    inbox_type: ClassVar[int] = zmq.SUB

    def _begin(self) -> None:
        # to frames for all, and to data for this agent alone
        self.inbox.setsockopt(zmq.SUBSCRIBE, MAGIC)
        self.inbox.setsockopt(zmq.SUBSCRIBE, _topic(self._rank))
        self.socket: zmq.Socket[bytes] = self._context.socket(zmq.XPUB)
        configure(self.socket, deadline=LINK_DEADLINE)
        self.socket.setsockopt(zmq.XPUB_NODROP, 1)
        # otherwise XPUB hides the subscriptions that a neighbour repeats when it reconnects
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.back = (self.socket, self._subscriptions)
        self._listening: set[bytes] = set()
        self._singly: dict[int, Transmit] = {}

    def rename(self, rank: int) -> None:
        """See `NeighbourLinks`. The new topic also tells a publisher which agent listens now."""
        if rank != self._rank:
            self.inbox.setsockopt(zmq.UNSUBSCRIBE, _topic(self._rank))
            self.inbox.setsockopt(zmq.SUBSCRIBE, _topic(rank))
        super().rename(rank)

    def connect(self, setup: AgentSetup) -> Mapping[int, Link]:
        self._subscriptions()  # first read what closed inboxes sent
        return super().connect(setup)

    def _socket_to(self, neighbour: int) -> zmq.Socket[bytes]:
        return self.socket

    def _begin_sessions(self, first: int) -> Mapping[int, Link]:
        send, interceptor = self._send_everywhere(), self._interceptor
        self._forward_singly()
        session = BroadcastSession(first, signature(self._rank), len(self._addresses))
        to_all = interceptor.before(lambda: sorted(self._addresses), send)
        self._to_all = Line(NEIGHBOURS, session, to_all, interceptor)
        down = self._down()
        self.lines = {
            n: Line(n, own, self._transmit_to(n), interceptor, up=n not in down)
            for n, own in zip(self._addresses, session.sessions, strict=True)
        }
        return {NEIGHBOURS: self._send_to_all}

    def _send_everywhere(self) -> Transmit:
        """To all at once, and singly to those whom the coordinator reaches."""
        send = sender(self.socket)
        if self._forwarding is None:
            return send

        def transmit(data: bytes, flags: int = 0) -> None:
            send(data, flags)
            for forward in self._singly.values():
                forward(data)

        return transmit

    def _forward_singly(self) -> None:
        self._singly = {n: self._forward_to(n) for n in self._forwarded()}

    def move_neighbour(self, neighbour: int, address: str) -> bool:
        moved = super().move_neighbour(neighbour, address)
        self._forward_singly()
        return moved

    def _transmit_to(self, neighbour: int) -> Transmit:
        ends = partial(tuple, (neighbour,))
        if neighbour in self._forwarded():
            return self._interceptor.before(ends, self._forward_to(neighbour))
        send = self._interceptor.before(ends, sender(self.socket))
        return partial(_send_to_one, send, _topic(neighbour))

    def _send_to_all(self, frame: bytes) -> None:
        try:
            self._to_all.send(frame)
        except PeerStalled:
            behind = min(self.lines.values(), key=lambda line: line.session.confirmed)
            raise PeerStalled(f"agent {behind.end} does not read what is sent to it") from None

    @property
    def state(self) -> Any:
        return self._to_all.session, super().state

    def restore(self, state: Any) -> None:
        self._to_all.session, sessions = state
        super().restore(sessions)

    def _let_go(self, neighbour: int) -> None:
        session = self._to_all.session
        assert isinstance(session, BroadcastSession)
        session.leave(self.lines[neighbour].session)
        self._singly.pop(neighbour, None)
        super()._let_go(neighbour)

    def _disconnect(self, neighbour: int) -> None:
        with suppress(zmq.ZMQError):  # the guard may have left it before
            self.socket.disconnect(self._addresses[neighbour])
        self._listening.discard(_topic(neighbour))

    def changed(self, neighbour: int, *, up: bool) -> None:
        """See `NeighbourLinks`. The subscription that follows a new connection resumes the session.

        Questions that waited for a connection would all go over the next one.
        """
        if neighbour in self._addresses and (line := self.lines.get(neighbour)) is not None:
            line.up = up

    def recovered(self) -> None:
        """Neighbours' inboxes subscribe again, and so does this one."""
        for line in self.lines.values():
            line.session.restored = True

    def not_listening(self) -> tuple[int, ...]:
        self._subscriptions()
        down = self._down()
        mine = self._addresses.keys() - self._forwarded()
        return tuple(sorted(r for r in mine if r in down or _topic(r) not in self._listening))

    def _down(self) -> set[int]:
        """The neighbours whose connection was lost: ZeroMQ keeps their subscriptions meanwhile."""
        if self._guard is None:
            return set()
        return {line.end for line in self.lines.values() if not line.up}

    def close(self) -> None:
        super().close()
        self.socket.close()

    def _subscriptions(self) -> None:
        """Read pending subscriptions and unsubscriptions: a byte 1 or 0, then the topic."""
        while True:
            try:
                message = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            topic = message[1:]
            if message[:1] == b"\x01":
                self._listening.add(topic)
                if (
                    topic.startswith(TO_ONE)
                    and (line := self.lines.get(sender_of(topic))) is not None
                ):
                    line.changed(up=True)
            else:
                self._listening.discard(topic)


def _send_to_one(send: Transmit, topic: bytes, data: bytes, flags: int = 0) -> None:
    send(topic + data, flags)
