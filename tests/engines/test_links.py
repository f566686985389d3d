"""The links between agents: what is sent is heard by all it is for, and by nobody too early."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from posse.engines import agent_process
from posse.engines.agent_process import AgentProcess
from posse.engines.links import EachLink, Links, OneToAll, listen
from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from protocol.wire import MAGIC

KINDS = [EachLink, OneToAll]
WAIT_MS = 5_000


class Wire:
    """Makes inboxes and ways out, and closes them."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self._made: list[zmq.Socket | Links] = []

    def inbox(self, kind: type[Links], address: str, rank: int) -> zmq.Socket:
        socket = self._context.socket(kind.inbox_type)
        self._made.append(socket)
        socket.setsockopt(zmq.RCVTIMEO, WAIT_MS)
        listen(socket, rank)
        socket.bind(address)
        return socket

    def links(self, kind: type[Links]) -> Links:
        links = kind(self._context, lambda socket, rank: None)  # type: ignore[call-arg]  # the kinds take it
        self._made.append(links)
        return links

    def close(self) -> None:
        for made in self._made:
            made.close()
        self._context.destroy(linger=0)


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


def until_heard(links: Links, inboxes: list[zmq.Socket]) -> None:
    """As agents do it: a socket that is bound takes a connection when its owner looks at it."""
    poller = zmq.Poller()
    for socket in inboxes:
        poller.register(socket, zmq.POLLIN)
    for _ in range(WAIT_MS // 10):
        if not links.deaf():
            return
        poller.poll(10)
    raise AssertionError(f"after {WAIT_MS} ms these do not listen: {links.deaf()}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_neighbour_hears_every_frame_in_order(
    wire: Wire, kind: type[Links], tmp_path: Path
) -> None:
    addresses = {rank: f"ipc://{tmp_path}/{rank}" for rank in (3, 8, 11)}
    inboxes = [wire.inbox(kind, address, rank) for rank, address in addresses.items()]
    links = wire.links(kind)
    links.connect(addresses)
    until_heard(links, inboxes)
    frames = [MAGIC + bytes([n]) for n in range(200)]
    for frame in frames:
        links.to_all(frame)
    for socket in inboxes:
        assert [socket.recv() for _ in frames] == frames


def test_what_is_for_one_neighbour_reaches_no_other(wire: Wire, tmp_path: Path) -> None:
    addresses = {rank: f"ipc://{tmp_path}/{rank}" for rank in (0, 1)}
    first, second = (wire.inbox(EachLink, a, rank) for rank, a in addresses.items())
    links = wire.links(EachLink)
    links.connect(addresses)
    links.to_one(1, MAGIC + b"secret")
    links.to_all(MAGIC + b"news")
    assert [second.recv(), second.recv()] == [MAGIC + b"secret", MAGIC + b"news"]
    assert first.recv() == MAGIC + b"news"


def test_a_neighbour_that_does_not_listen_yet_is_named(wire: Wire, tmp_path: Path) -> None:
    addresses = {rank: f"ipc://{tmp_path}/{rank}" for rank in (2, 4)}
    links = wire.links(OneToAll)
    here = wire.inbox(OneToAll, addresses[2], 2)
    links.connect(addresses)
    poller = zmq.Poller()
    poller.register(here, zmq.POLLIN)
    for _ in range(WAIT_MS // 10):
        if links.deaf() == [4]:
            break
        poller.poll(10)
    assert links.deaf() == [4]
    late = wire.inbox(OneToAll, addresses[4], 4)
    until_heard(links, [here, late])
    links.to_all(MAGIC)
    assert (here.recv(), late.recv()) == (MAGIC, MAGIC)


def test_a_neighbour_that_was_started_again_is_waited_for(wire: Wire, tmp_path: Path) -> None:
    links = wire.links(OneToAll)
    links.connect({5: f"ipc://{tmp_path}/old"})
    old = wire.inbox(OneToAll, f"ipc://{tmp_path}/old", 5)
    until_heard(links, [old])
    old.close(linger=0)
    links.connect({5: f"ipc://{tmp_path}/new"})
    assert links.deaf() == [5]
    new = wire.inbox(OneToAll, f"ipc://{tmp_path}/new", 5)
    until_heard(links, [new])
    links.to_all(MAGIC)
    assert new.recv() == MAGIC


def test_an_agent_that_got_another_rank_listens_in_its_name(wire: Wire, tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/inbox"
    socket = wire.inbox(OneToAll, address, 0)
    listen(socket, 7, before=0)
    links = wire.links(OneToAll)
    links.connect({7: address})
    until_heard(links, [socket])
    links.to_all(MAGIC)
    assert socket.recv() == MAGIC


def mesh_run(agents: int) -> Plan:
    return prepare(
        {
            "system": "cooperative-ucb",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "topology": {"kind": "complete"},
            "parameters": {"horizon": 5, "gamma": 1},
            "engine": {"deadline": 3.0},
        }
    )


class HardOfHearing(AgentProcess):
    """An agent whose neighbours would wait for ever, were there no deadline."""

    def _open_inbox(self, bind: str, system: str) -> str:
        super()._open_inbox(bind, system)
        return f"{bind}-is-somewhere-else"


def test_neighbours_that_never_listen_end_the_run_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(agent_process, "LINK_DEADLINE", 0.5)
    run = mesh_run(2)
    engine = ProcessEngine(run, spawn=0)
    system = run.spec.system
    agents = [
        kind(engine.endpoint, rank, engine.token, f"ipc://{tmp_path}/{rank}", system=system)
        for rank, kind in enumerate((AgentProcess, HardOfHearing))
    ]
    threads = [threading.Thread(target=agent.serve) for agent in agents]
    for thread in threads:
        thread.start()
    with engine, pytest.raises(RunFailed, match="agent 0 waited 0.5 s for its neighbours 1"):
        engine.run(run, 0)
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
