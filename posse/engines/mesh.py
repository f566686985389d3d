"""An agent among its neighbours: the inbox that they connect to, and the ways to theirs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import zmq

from posse.durable.journal import Journal
from posse.durable.session import content
from posse.engines.each_link import EachLink
from posse.engines.guard import Guard
from posse.engines.links import Heard, Link, Links, alone, signed_by
from posse.engines.one_to_all import OneToAll, listen
from posse.engines.sockets import LINK_DEADLINE, PROBE_EVERY, configure, know_family, unbound
from posse.hosts.agent_setup import AgentSetup
from posse.security.zap import key_of
from protocol.wire import name_of, sent_at

MOST_AT_ONCE: Final = 1_024
"""Frames kept before they are looked at, however many are waited for: a bound on what peers may
make an agent hold."""

Arrival = tuple[int | None, bytes, int]
"""Who sent a frame (None where only the frame says so), the frame, and when it came."""


class Mesh:
    """See the module's text. `rank` -1: not known yet. `patience_ms`: how long `listen` waits.
    `links` are the ways to the neighbours.

    What sessions take is written into `journal` first, if there is one.
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
        self._probe_at = 0.0
        self._journal = journal
        self.links: Links = kind(context, guard.link, watched=guard.watches, heard=heard)

    def rename(self, rank: int) -> None:
        """This agent has another rank now."""
        listen(self.inbox, rank, before=self._rank)
        self._rank = rank

    def connect(self, setup: AgentSetup) -> Mapping[int, Link]:
        """Connect to the neighbours of this setup; the ways to them, by target."""
        self._guard.know(setup)
        return self.links.connect(setup.inboxes, self._rank, setup.first)

    def drain(self) -> Iterator[tuple[int | None, bytes]]:
        """What is here, and who sent it; other sockets have their turn after so many frames."""
        for _ in range(MOST_AT_ONCE):
            try:
                sender, frame = self._receive(zmq.NOBLOCK)
            except zmq.Again:
                return
            yield sender, frame

    def listen(self, awaited: int, slot: float, stamp: Callable[[], int]) -> list[Arrival]:
        """As many frames as are awaited, or fewer if no more come.

        What a neighbour sent that is beyond `slot` is not among those awaited.
        """
        receive = self._receive
        frames: list[Arrival] = []
        awaited = max(awaited, 1)
        try:
            while awaited > 0 and len(frames) < MOST_AT_ONCE:
                sender, frame = receive(0)
                frames.append((sender, frame, stamp()))
                if sent_at(frame) <= slot:
                    awaited -= 1
        except zmq.Again:
            pass
        return frames

    def _receive(self, flags: int) -> tuple[int | None, bytes]:
        """The next frame of a neighbour that is due; `zmq.Again` if there is none.

        Who sends what is no such frame keeps an agent from its other sockets no longer than it
        takes to look at `MOST_AT_ONCE` of it.
        """
        neighbours, ties = self._guard.neighbours, self.links.ties
        sender, took = None, self._guard.took
        for _ in range(MOST_AT_ONCE):
            if neighbours is None:
                data = self.inbox.recv(flags)
                took(len(data))
                tie = ties.get(signed_by(data))
                if tie is None:
                    data = alone(data)
                    tie = ties.get(signed_by(data))
            else:
                part = self.inbox.recv(flags, copy=False)
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

    def mind_time(self, now: float) -> None:
        """Now and then see to it that what was sent is confirmed."""
        if now >= self._probe_at:
            self._probe_at = now + PROBE_EVERY
            self.links.probe()

    def close(self) -> None:
        """Close inbox and links."""
        self.inbox.close()
        self.links.close()
