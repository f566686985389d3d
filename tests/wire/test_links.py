"""The links between agents: what is sent is heard by all it is for, and by nobody too early."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zmq

from posse.agent.each_link import EachLink
from posse.agent.guard import Guard
from posse.agent.mesh import NeighbourLinks
from posse.agent.one_to_all import OneToAll
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.endpoint import NEIGHBOURS
from posse.protocol.wire import MAGIC
from posse.wire.line import Interceptor
from posse.wire.session import content
from posse.wire.sockets import Selector
from tests.support.lobby import setup

KINDS = [EachLink, OneToAll]
WAIT_MS = 5_000


def to(inboxes: dict[int, str]) -> AgentSetup:
    """What agent 1 is told of its neighbours."""
    return msgspec.structs.replace(setup(1), inboxes=inboxes)


class Wire:
    """Makes inboxes and ways out, and closes them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = zmq.Context()
        self._made: list[NeighbourLinks] = []
        self._guards: list[Guard] = []

    def mesh(
        self, kind: type[NeighbourLinks], address: str, rank: int, *, watched: bool = False
    ) -> NeighbourLinks:
        guard = Guard(self._context, Selector(), None) if watched else None
        if guard is not None:
            self._guards.append(guard)
        mesh = kind(
            self._context,
            guard,
            bind=(address,),
            rank=rank,
            patience_ms=WAIT_MS,
            interceptor=Interceptor(),
        )
        self._made.append(mesh)
        return mesh

    def addresses(self, *ranks: int) -> dict[int, str]:
        return {rank: f"ipc://{self._folder}/{rank}" for rank in ranks}

    def inboxes(self, kind: type[NeighbourLinks], addresses: dict[int, str]) -> list[zmq.Socket]:
        return [self.mesh(kind, address, rank).inbox for rank, address in addresses.items()]

    def links(self, kind: type[NeighbourLinks], *, watched: bool = False) -> NeighbourLinks:
        return self.mesh(kind, f"inproc://{len(self._made)}", 1, watched=watched)

    def close(self) -> None:
        for made in self._made:
            made.close()
        for guard in self._guards:
            guard.close()
        self._context.destroy(linger=0)


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with closing(Wire(tmp_path)) as wire:
        yield wire


def until_heard(
    links: NeighbourLinks, inboxes: list[zmq.Socket], but: tuple[int, ...] = ()
) -> None:
    """As agents do it: a socket that is bound takes a connection when its owner looks at it."""
    poller = zmq.Poller()
    for socket in inboxes:
        poller.register(socket, zmq.POLLIN)
    for _ in range(WAIT_MS // 10):
        if links.not_listening() == but:
            return
        poller.poll(10)
    raise AssertionError(f"after {WAIT_MS} ms these do not listen: {links.not_listening()}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_neighbour_hears_every_frame_in_order(wire: Wire, kind: type[NeighbourLinks]) -> None:
    addresses = wire.addresses(3, 8, 11)
    inboxes = wire.inboxes(kind, addresses)
    links = wire.links(kind)
    ways = links.connect(to(addresses))
    until_heard(links, inboxes)
    frames = [MAGIC + bytes([n]) for n in range(200)]
    for frame in frames:
        ways[NEIGHBOURS](frame)
    for socket in inboxes:
        assert [content(socket.recv()) for _ in frames] == frames


def test_what_is_for_one_neighbour_reaches_no_other(wire: Wire) -> None:
    addresses = wire.addresses(0, 1)
    first, second = wire.inboxes(EachLink, addresses)
    ways = wire.links(EachLink).connect(to(addresses))
    ways[1](MAGIC + b"secret")
    ways[NEIGHBOURS](MAGIC + b"news")
    assert [content(second.recv()), content(second.recv())] == [MAGIC + b"secret", MAGIC + b"news"]
    assert content(first.recv()) == MAGIC + b"news"


def test_a_neighbour_that_does_not_listen_yet_is_named(wire: Wire) -> None:
    links, addresses = wire.links(OneToAll), wire.addresses(2, 4)
    here = wire.inboxes(OneToAll, {2: addresses[2]})
    ways = links.connect(to(addresses))
    until_heard(links, here, but=(4,))
    here += wire.inboxes(OneToAll, {4: addresses[4]})
    until_heard(links, here)
    ways[NEIGHBOURS](MAGIC)
    assert [content(inbox.recv()) for inbox in here] == [MAGIC, MAGIC]


def test_a_neighbour_that_was_started_again_is_waited_for(wire: Wire) -> None:
    links = wire.links(OneToAll)
    was, now = ({5: address} for address in wire.addresses(0, 1).values())
    links.connect(to(was))
    old = wire.inboxes(OneToAll, was)
    until_heard(links, old)
    old[0].close(linger=0)
    ways = links.connect(to(now))
    assert links.not_listening() == (5,)
    new = wire.inboxes(OneToAll, now)
    until_heard(links, new)
    ways[NEIGHBOURS](MAGIC)
    assert content(new[0].recv()) == MAGIC


def test_watched_links_stay_up_until_their_neighbour_has_another_inbox(wire: Wire) -> None:
    links = wire.links(EachLink, watched=True)
    inboxes = wire.addresses(5, 6, 7)
    links.connect(to(inboxes))
    assert links.not_listening() == (5, 6, 7)
    for rank in inboxes:
        links.changed(rank, up=True)
    links.changed(7, up=False)
    assert links.not_listening() == (7,)
    links.connect(to({**inboxes, 5: wire.addresses(0)[0]}))
    assert sorted(links.not_listening()) == [5, 7]
    links.lose(6)
    links.connect(to(inboxes))
    assert sorted(links.not_listening()) == [5, 6, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_to_a_neighbour_that_is_gone_nothing_more_is_sent(
    kind: type[NeighbourLinks], wire: Wire
) -> None:
    links, addresses = wire.links(kind), wire.addresses(5, 6)
    inboxes = wire.inboxes(kind, addresses)
    ways = links.connect(to(addresses))
    until_heard(links, inboxes)
    links.lose(5)
    links.lose(5)
    ways[NEIGHBOURS](MAGIC)
    assert content(inboxes[1].recv()) == MAGIC
    assert not inboxes[0].poll(100)
    ways = links.connect(to(addresses))  # the next run has both again
    until_heard(links, inboxes)
    ways[NEIGHBOURS](MAGIC)
    assert [content(inbox.recv()) for inbox in inboxes] == [MAGIC, MAGIC]


def test_an_agent_that_got_another_rank_listens_in_its_name(wire: Wire) -> None:
    (address,) = wire.addresses(0).values()
    mesh = wire.mesh(OneToAll, address, 0)
    mesh.rename(7)
    links = wire.links(OneToAll)
    ways = links.connect(to({7: address}))
    until_heard(links, [mesh.inbox])
    ways[NEIGHBOURS](MAGIC)
    assert content(mesh.inbox.recv()) == MAGIC
