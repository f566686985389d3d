"""An agent's sockets for its neighbours: the inbox they connect to, and links to their inboxes.

Agents link in one of two ways, which the system chooses:

`EachLink`  one PUSH socket per neighbour. A frame for one neighbour reaches only that neighbour.
`OneToAll`  one XPUB socket, for systems whose agents send all neighbours the same
            (`Wiring.broadcasts`). ZeroMQ is handed each frame once, for any number of neighbours.

`OneToAll` cannot keep a frame private to one neighbour: subscribers choose their topics, so an
agent could subscribe to another's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

import zmq

from posse.agent.guard import Guard
from posse.errors import RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.protocol.wire import sent_at
from posse.security.address import FORWARDED
from posse.security.zap import key_of
from posse.wire.forwarding import Forwarding
from posse.wire.line import Interceptor, Line, Transmit
from posse.wire.links import Link, sender_of, without_topic
from posse.wire.session import Session, content
from posse.wire.sockets import LINK_DEADLINE, bound, configure, know_family

MOST_AT_ONCE: Final = 1_024
"""Most messages read at a time, however many are awaited: bounds the memory that peers can fill."""

Arrival = tuple[int | None, bytes, int]
"""(sender, frame, time of arrival); sender None where only the frame names it."""


class NeighbourLinks(ABC):
    """An agent's inbox and its links to neighbours; see the module's text.

    It binds to the first address of `bind` that it can. `rank` is -1 while not known.
    `patience_ms`: longest wait of `listen` for a frame. A `guard` watches the links, and reports
    each that comes up or goes down to `changed`. Neighbours that accept no connections are reached
    by `forwarding`.
    """

    inbox_type: ClassVar[int]
    back: tuple[zmq.Socket[bytes], Callable[[], None]] | None = None
    """The socket to poll for neighbours' subscriptions, and its reader; None without any."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        guard: Guard | None,
        *,
        bind: tuple[str, ...],
        rank: int,
        patience_ms: int,
        interceptor: Interceptor,
        forwarding: Forwarding | None = None,
    ) -> None:
        self._forwarding = forwarding
        self.lines: dict[int, Line] = {}
        """By the neighbour's rank."""
        self._context = context
        self._guard = guard
        self._neighbours = None if guard is None else guard.neighbours
        self._took = None if guard is None else guard.took
        self._rank = rank
        self._interceptor = interceptor
        self._addresses: dict[int, str] = {}
        """Inboxes of the neighbours with a link, by rank."""
        self.inbox: zmq.Socket[bytes] = context.socket(self.inbox_type)
        self._receive_part = self.inbox.recv
        configure(self.inbox, LINK_DEADLINE)
        self.inbox.setsockopt(zmq.RCVTIMEO, patience_ms)
        if guard is not None:
            guard.inbox(self.inbox)
        self.address = bound(self.inbox, *bind)
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Make the subclass's own sockets and tables; the inbox is bound."""

    def rename(self, rank: int) -> None:
        """Take another rank."""
        self._rank = rank

    # --- the links -------------------------------------------------------------------------------

    def connect(self, setup: AgentSetup) -> Mapping[int, Link]:
        """Link to exactly the neighbours of this setup; returns the links by target.

        New sessions begin on all links; frames are numbered from `setup.first`.
        """
        guard = self._guard
        if guard is not None:
            guard.know(setup)
            self._neighbours = guard.neighbours
        if self._forwarding is not None:
            self._forwarding.know(setup, self._rank)
        inboxes = setup.inboxes
        for neighbour in [r for r, old in self._addresses.items() if inboxes.get(r) != old]:
            self.lose(neighbour)
        for neighbour, address in inboxes.items():
            if neighbour not in self._addresses:
                self._connect(neighbour, address)
        return self._begin_sessions(setup.first)

    def move(self, address: str) -> None:
        """Listen at another address, too, if that can be bound.

        The old one is left as it is: this machine no longer has it, and libzmq 4.3.5 may abort the
        process if a connection ends while it unbinds.
        """
        know_family(self.inbox, address)
        with suppress(zmq.ZMQError):
            self.inbox.bind(address)
            self.address = self.inbox.getsockopt_string(zmq.LAST_ENDPOINT)

    def move_neighbour(self, neighbour: int, address: str) -> bool:
        """Connect to a neighbour at another inbox; whether it is a neighbour, and has moved.

        The session goes on: what is not confirmed is sent again over the new connection.
        """
        if self._addresses.get(neighbour) in (None, address):
            return False
        line = self.lines.get(neighbour)
        if line is not None:
            line.up = False
        self._disconnect(neighbour)
        if self._guard is not None:
            self._guard.move(neighbour, address)
        self._connect(neighbour, address)
        if line is not None:
            line.transmit = self._transmit_to(neighbour)
            if address == FORWARDED:
                line.changed(up=True)
        return True

    def _connect(self, neighbour: int, address: str) -> None:
        if address == FORWARDED:
            self._addresses[neighbour] = address
            return
        socket = self._socket_to(neighbour)
        if self._guard is not None:
            self._guard.link(socket, neighbour)
        know_family(socket, address)
        socket.connect(address)
        self._addresses[neighbour] = address

    @property
    def comes_forwarded(self) -> bool:
        """Whether neighbours' data may come by the coordinator, not by the inbox."""
        return self._forwarding is not None and (
            self._forwarding.alone or FORWARDED in self._addresses.values()
        )

    def _forwarded(self) -> list[int]:
        """The neighbours that are reached by the coordinator."""
        return [n for n, address in self._addresses.items() if address == FORWARDED]

    def _forward_to(self, neighbour: int) -> Transmit:
        if self._forwarding is None:
            raise RunFailed(f"agent {neighbour} accepts no connections, and this agent has no keys")
        return self._forwarding.to(neighbour)

    def forwarding_again(self) -> None:
        """The link to the coordinator is up again: what it carried for others may be lost."""
        for neighbour in self._forwarded():
            if (line := self.lines.get(neighbour)) is not None:
                line.changed(up=True)

    def take_forwarded(self, forwarded: bytes) -> tuple[int, bytes | None] | None:
        """The sender of what the coordinator forwarded, and its frame, if its session has one.

        None for what no neighbour sealed for this agent.
        """
        opened = self._forwarding.opened(forwarded) if self._forwarding is not None else None
        if opened is None or (line := self.lines.get(opened[0])) is None:
            return None
        return opened[0], line.receive(without_topic(opened[1]))

    @abstractmethod
    def _transmit_to(self, neighbour: int) -> Transmit:
        """Hands this neighbour's socket data for it alone."""

    @abstractmethod
    def _socket_to(self, neighbour: int) -> zmq.Socket[bytes]:
        """The socket to connect to this neighbour's inbox."""

    @abstractmethod
    def _begin_sessions(self, first: int) -> Mapping[int, Link]:
        """See `connect`."""

    def lose(self, neighbour: int) -> None:
        """This neighbour is gone: send and keep nothing more for it."""
        if (line := self.lines.get(neighbour)) is not None and neighbour in self._addresses:
            line.up = False
            self._let_go(neighbour)

    def _let_go(self, neighbour: int) -> None:
        """Close the link to a neighbour, and forget its address."""
        self._disconnect(neighbour)
        del self._addresses[neighbour]

    @abstractmethod
    def _disconnect(self, neighbour: int) -> None:
        """Close the connection to a neighbour's inbox."""

    @abstractmethod
    def not_listening(self) -> tuple[int, ...]:
        """The neighbours that do not listen yet."""

    def changed(self, neighbour: int, *, up: bool) -> None:
        """The connection to this neighbour is lost, or there is a new one (watched links only)."""
        if (line := self.lines.get(neighbour)) is not None:
            line.changed(up=up)

    def sessions(self) -> Iterator[tuple[int, Session]]:
        """The sessions with the neighbours, by rank."""
        return ((line.end, line.session) for line in self.lines.values())

    @property
    def state(self) -> Any:
        """The sessions with neighbours that are not lost, for `restore`."""
        return {end: line.session for end, line in self.lines.items() if end in self._addresses}

    def restore(self, state: Any) -> None:
        """Continue these sessions; neighbours without one are lost."""
        for neighbour, line in self.lines.items():
            if neighbour in state:
                line.session = state[neighbour]
            else:
                self.lose(neighbour)

    def recovered(self) -> None:
        """After a restart: ask for what was missed, and retransmit; watched links do so once up."""
        for line in self.lines.values():
            line.session.restored = True
            if self._guard is None:
                line.changed(up=True)

    def probe(self) -> None:
        """Ask the neighbours that confirm nothing; call it every `PROBE_EVERY` seconds."""
        if self._guard is not None:
            self._guard.probe()
        for line in self.lines.values():
            line.probe()

    # --- what comes ------------------------------------------------------------------------------

    def drain(self) -> Iterator[tuple[int | None, bytes]]:
        """The frames that are here, with their senders; at most `MOST_AT_ONCE`."""
        for _ in range(MOST_AT_ONCE):
            try:
                sender, frame = self._receive(zmq.NOBLOCK)
            except zmq.Again:
                return
            yield sender, frame

    def listen(self, awaited: int, slot: float, stamp: Callable[[], int]) -> list[Arrival]:
        """Receive until `awaited` frames are here, or none comes within `patience_ms`.

        Frames of slots after `slot` are returned, too, but do not count as awaited. `stamp` gives
        the times of arrival.
        """
        frames: list[Arrival] = []
        awaited = max(awaited, 1)
        try:
            while awaited > 0 and len(frames) < MOST_AT_ONCE:
                sender, frame = self._receive(0)
                frames.append((sender, frame, stamp()))
                if sent_at(frame) <= slot:
                    awaited -= 1
        except zmq.Again:
            pass
        return frames

    def _receive(self, flags: int) -> tuple[int | None, bytes]:
        """The next frame that a neighbour's session lets through; `zmq.Again` if there is none.

        Reads at most `MOST_AT_ONCE` messages: a flood of others cannot starve the other sockets.
        """
        neighbours, lines, receive = self._neighbours, self.lines, self._receive_part
        sender, took = None, self._took
        for _ in range(MOST_AT_ONCE):
            if neighbours is None:
                data = receive(flags)
                if took is not None:
                    took(len(data))
                line = lines.get(sender_of(data))
                if line is None:
                    data = without_topic(data)
                    line = lines.get(sender_of(data))
            else:
                part = receive(flags, copy=False)
                if took is not None:
                    took(len(part))
                sender = neighbours.get(key_of(part))
                if sender is None:
                    flags = zmq.NOBLOCK
                    continue
                data = without_topic(part.bytes)
                line = lines.get(sender)
            if line is None:
                return sender, content(data)  # a stranger's, which the host refuses
            frame = line.receive(data)
            if frame is not None:
                return sender, frame
            flags = zmq.NOBLOCK
        raise zmq.Again

    def close(self) -> None:
        """Close inbox and links."""
        self.inbox.close()
