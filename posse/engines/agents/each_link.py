"""Links for agents that send each neighbour messages of its own."""

from collections.abc import Mapping
from typing import ClassVar

import zmq

from posse.engines.agents.mesh import Mesh
from posse.errors import RunFailed
from posse.hosts.endpoint import NEIGHBOURS
from posse.wire.links import Link, Send, Tie, sender, signature
from posse.wire.session import Session, SessionFull
from posse.wire.sockets import LINK_DEADLINE, configure


class EachLink(Mesh):
    """One PUSH socket per neighbour."""

    inbox_type: ClassVar[int] = zmq.PULL

    def _begin(self) -> None:
        self._sockets: dict[int, zmq.Socket[bytes]] = {}

    def _socket_to(self, neighbour: int) -> zmq.Socket[bytes]:
        self._sockets[neighbour] = socket = self._context.socket(zmq.PUSH)
        configure(socket, deadline=LINK_DEADLINE)
        return socket

    def _begin_sessions(self, first: int) -> Mapping[int, Link]:
        away = self.not_listening()
        ways = {
            n: _Way(
                n,
                self._heard(n, sender(socket)),
                Session(first, signature(self._rank)),
                up=n not in away,
            )
            for n, socket in self._sockets.items()
        }
        self.ties = {**ways}
        self._ways = tuple(ways.values())
        return {**{n: way.send for n, way in ways.items()}, NEIGHBOURS: self._send_to_each}

    def _send_to_each(self, data: bytes) -> None:
        for way in self._ways:
            way.send(data)

    def _let_go(self, neighbour: int) -> None:
        self._sockets.pop(neighbour).close(0)
        del self._addresses[neighbour]

    def not_listening(self) -> tuple[int, ...]:
        """See `Mesh`. Empty on unwatched links: ZeroMQ queues for absent peers."""
        up = {tie.neighbour for tie in self.ties.values() if tie.up}
        return () if self._guard is None else tuple(n for n in self._sockets if n not in up)

    def close(self) -> None:
        super().close()
        for socket in self._sockets.values():
            socket.close()


class _Way(Tie):
    """Link to one neighbour: its session numbers frames, its socket sends them."""

    __slots__ = ("_send",)

    def __init__(self, neighbour: int, send: Send, session: Session, *, up: bool) -> None:
        super().__init__(neighbour, session, lambda data: send(data, zmq.NOBLOCK), up=up)
        self._send = send

    def send(self, data: bytes) -> None:
        """Send a frame; see `Link`."""
        try:
            numbered = self.session.wrap(data)
            if self.up:
                self._send(numbered)
        except (zmq.Again, SessionFull):
            raise RunFailed(f"agent {self.neighbour} does not read what is sent to it") from None
