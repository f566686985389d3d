"""An agent's sockets for its neighbours: the inbox they connect to, and links to their inboxes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import zmq

from posse.durable.journal import Journal
from posse.durable.session import content
from posse.engines.each_link import EachLink
from posse.engines.guard import Guard
from posse.engines.links import Heard, Link, Links, alone, signed_by
from posse.engines.one_to_all import OneToAll, listen
from posse.engines.sockets import LINK_DEADLINE, configure, know_family, unbound
from posse.hosts.agent_setup import AgentSetup
from posse.security.zap import key_of
from protocol.wire import name_of, sent_at

MOST_AT_ONCE: Final = 1_024
"""Most messages read at a time, however many are awaited: bounds the memory that peers can fill."""

Arrival = tuple[int | None, bytes, int]
"""(sender, frame, time of arrival); sender None where only the frame names it."""


class Mesh:
    """An agent's inbox and its `links` to neighbours.

    `rank` is -1 while not known. `patience_ms`: longest wait of `listen` for a frame. With a
    `journal`, frames are written there before a session takes them.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        guard: Guard,
        *,
        bind: str,
        rank: int,
        broadcasts: bool,
        patience_ms: int,
        heard: Heard,
        journal: Journal | None = None,
    ) -> None:
        kind: type[OneToAll | EachLink] = OneToAll if broadcasts else EachLink
        self.broadcasts = broadcasts
        self._guard = guard
        self._neighbours = guard.neighbours
        self._took = guard.took if guard.watches else None
        self._rank = rank
        self.inbox: zmq.Socket[bytes] = context.socket(kind.inbox_type)
        configure(self.inbox, LINK_DEADLINE)
        self.inbox.setsockopt(zmq.RCVTIMEO, patience_ms)
        listen(self.inbox, rank)
        guard.inbox(self.inbox)
        know_family(self.inbox, bind)
        try:
            self.inbox.bind(bind)
        except zmq.ZMQError as error:
            self.inbox.close()
            raise unbound(bind, error) from None
        self.address = self.inbox.getsockopt_string(zmq.LAST_ENDPOINT)
        self._journal = journal
        self.links: Links = kind(context, guard.link, watched=guard.watches, heard=heard)

    def rename(self, rank: int) -> None:
        """Take another rank, and its topic."""
        listen(self.inbox, rank, before=self._rank)
        self._rank = rank

    def connect(self, setup: AgentSetup) -> Mapping[int, Link]:
        """Connect to the neighbours of this setup; returns the links by target."""
        self._guard.know(setup)
        self._neighbours = self._guard.neighbours
        return self.links.connect(setup.inboxes, self._rank, setup.first)

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
        neighbours, ties = self._neighbours, self.links.ties
        sender, took = None, self._took
        for _ in range(MOST_AT_ONCE):
            if neighbours is None:
                data = self.inbox.recv(flags)
                if took is not None:
                    took(len(data))
                tie = ties.get(signed_by(data))
                if tie is None:
                    data = alone(data)
                    tie = ties.get(signed_by(data))
            else:
                part = self.inbox.recv(flags, copy=False)
                if took is not None:
                    took(len(part))
                sender = neighbours.get(key_of(part))
                if sender is None:
                    flags = zmq.NOBLOCK
                    continue
                data = alone(part.bytes)
                tie = ties.get(name_of(sender))
            if tie is None:
                return sender, content(data)  # a stranger's, which the host refuses
            journal, session = self._journal, tie.session
            if journal is None:
                frame = session.take(data)
            else:
                frame = journal.take(tie.neighbour, session, data)
            if session.replies:
                tie.answer()
            if frame is not None:
                return sender, frame
            flags = zmq.NOBLOCK
        raise zmq.Again

    def close(self) -> None:
        """Close inbox and links."""
        self.inbox.close()
        self.links.close()
