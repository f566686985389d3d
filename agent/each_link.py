"""Links for agents that send each neighbour messages of its own."""

from collections.abc import Mapping
from typing import ClassVar

import zmq

from posse.agent.mesh import NeighbourLinks
from posse.hosts.endpoint import NEIGHBOURS
from posse.wire.line import Line, Transmit
from posse.wire.links import Link, sender, signature
from posse.wire.session import Session
from posse.wire.sockets import LINK_DEADLINE, configure


class EachLink(NeighbourLinks):
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
        self.lines = {n: self._line_to(n, first, up=n not in away) for n in self._addresses}
        self._all = tuple(self.lines.values())
        return {**{n: line.send for n, line in self.lines.items()}, NEIGHBOURS: self._send_to_each}

    def _line_to(self, neighbour: int, first: int, *, up: bool) -> Line:
        session = Session(first, signature(self._rank))
        transmit = self._transmit_to(neighbour)
        return Line(neighbour, session, transmit, self._interceptor, up=up)

    def _transmit_to(self, neighbour: int) -> Transmit:
        socket = self._sockets.get(neighbour)
        if socket is None:
            send = self._forward_to(neighbour)
        elif self._guard is None:
            send = sender(socket)
        else:
            send = self._guard.sender(socket)
        return self._interceptor.before(lambda: (neighbour,), send)

    def _send_to_each(self, frame: bytes) -> None:
        for line in self._all:
            line.send(frame)

    def _disconnect(self, neighbour: int) -> None:
        if (socket := self._sockets.pop(neighbour, None)) is not None:
            socket.close(0)

    def _let_go(self, neighbour: int) -> None:
        super()._let_go(neighbour)
        self._all = tuple(line for line in self._all if line.end != neighbour)

    def not_listening(self) -> tuple[int, ...]:
        """See `NeighbourLinks`. Empty on unwatched links: ZeroMQ queues for absent peers."""
        up = {line.end for line in self.lines.values() if line.up}
        return () if self._guard is None else tuple(n for n in self._sockets if n not in up)

    def close(self) -> None:
        super().close()
        for socket in self._sockets.values():
            socket.close()
