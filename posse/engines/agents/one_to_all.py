"""Links for agents that send the same frames to all their neighbours."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import zmq

from posse.engines.agents.mesh import Mesh
from posse.errors import RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.endpoint import NEIGHBOURS
from posse.protocol.wire import name_of
from posse.wire.broadcast import Broadcast
from posse.wire.links import TO_ONE, Link, Send, Tie, sender, signature, signed_by
from posse.wire.session import MAGIC, SessionFull
from posse.wire.sockets import LINK_DEADLINE, configure


def _topic(rank: int) -> bytes:
    """The prefix of data for one agent alone: answers of its session, and frames sent again."""
    return TO_ONE + name_of(rank)


class OneToAll(Mesh):
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

    def rename(self, rank: int) -> None:
        """See `Mesh`. The new topic also tells a publisher which agent listens now."""
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
        self._line = line = Broadcast(first, signature(self._rank), len(self._addresses))
        send = sender(self.socket)
        self.ties = {
            n: Tie(n, session, partial(_post, self._heard(n, send), _topic(n)), up=True)
            for n, session in zip(self._addresses, line.sessions, strict=True)
        }
        self._send = self._heard(NEIGHBOURS, send)
        return {NEIGHBOURS: self._send_to_all}

    def _send_to_all(self, data: bytes) -> None:
        try:
            self._send(self._line.wrap(data))
        except (zmq.Again, SessionFull):
            behind = min(self.ties.values(), key=lambda tie: tie.session.confirmed)
            raise RunFailed(f"agent {behind.neighbour} does not read what is sent to it") from None

    @property
    def state(self) -> Any:
        return self._line, super().state

    def restore(self, state: Any) -> None:
        self._line, sessions = state
        super().restore(sessions)

    def _let_go(self, neighbour: int) -> None:
        self._line.leave(self.ties[neighbour].session)
        self.socket.disconnect(self._addresses.pop(neighbour))
        self._listening.discard(_topic(neighbour))

    def changed(self, neighbour: int, *, up: bool) -> None:
        """See `Mesh`. Nothing to do: the subscription that follows a new connection tells it."""

    def recovered(self) -> None:
        """See `Mesh`. Nothing to do: neighbours' inboxes subscribe again, and so does this one."""

    def not_listening(self) -> tuple[int, ...]:
        self._subscriptions()
        return tuple(sorted(r for r in self._addresses if _topic(r) not in self._listening))

    def close(self) -> None:
        super().close()
        self.socket.close()

    def _subscriptions(self) -> None:
        """Read pending subscriptions and unsubscriptions: a byte 1 or 0, then the topic."""
        while True:
            try:
                said = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            topic = said[1:]
            if said[:1] == b"\x01":
                self._listening.add(topic)
                if (
                    topic.startswith(TO_ONE)
                    and (tie := self.ties.get(signed_by(topic))) is not None
                ):
                    tie.changed(up=True)
            else:
                self._listening.discard(topic)


def _post(send: Send, topic: bytes, data: bytes) -> None:
    send(topic + data, zmq.NOBLOCK)
