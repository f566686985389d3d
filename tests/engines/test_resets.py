"""Connections between agents and their coordinator that are reset within a run."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.errors import RunFailed
from posse.measure.traffic import RESENT
from posse.plan import Plan
from posse.results.words import rows
from posse.security import keys
from posse.wire.session import Session
from tests.support import federated
from tests.support.relay import relay
from tests.support.remote import Agent, Coordinator, coordinator, until
from tests.support.runs import after, assert_same_run, refused, spec

ENGINE: dict[str, Any] = {"deadline": 30.0}
AFTER = [5, 80, 150, 250, 300, 400, 500, 550, 600, 650, 700, 750]
"""Bytes: within the handshakes of ZeroMQ without keys and with them, and within first frames."""


def ring(system: str, **engine: float) -> Plan:
    if system == "ddp-mab":
        return federated.spec("ddp-mab", 3, {"kind": "ring"}, engine=ENGINE | engine)
    parameters = {"horizon": 60, "epsilon": 0.5}
    return spec(system, 4, parameters=parameters, topology={"kind": "ring"}, engine=ENGINE)


Keyring = list[keys.AgentKeys | None]


def keyring(folder: Path | None, agents: int) -> Keyring:
    if folder is None:
        return [None] * agents
    keys.create(folder, agents)
    return [keys.for_agent(folder, rank) for rank in range(agents)]


@pytest.fixture(params=[False, True], ids=["open", "keyed"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """Where keys are, if there are any."""
    return tmp_path / "keys" if request.param else None


def test_resets_in_a_run_change_nothing_of_it(folder: Path | None) -> None:
    """On real sockets; the simulator resets connections of every system."""
    plan, heard = spec("mase", 6, engine=ENGINE), 0

    def observe(host: object) -> None:
        nonlocal heard
        heard += 1
        if heard in {1, 5, 6, 20, 40}:
            way.cut()

    pairs = keyring(folder, 6)
    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            way = opened.enter_context(relay(engine.endpoint))
            up = [Agent(way.endpoint, rank, keys=pair) for rank, pair in enumerate(pairs)]
            record = engine.run(plan, 0, observe)
        assert [agent.ended() for agent in up] == [0] * 6
    assert refused(record) == {}
    assert way.cuts >= 6
    assert_same_run(memory.run(plan, 0), record)


@pytest.mark.parametrize("system", ["ddp-mab", "private-ucb"])
def test_links_between_agents_that_are_cut_after_some_bytes_change_nothing(
    system: str, tmp_path: Path
) -> None:
    plan = ring(system)
    folder = tmp_path / "keys" if system == "ddp-mab" else None
    pairs = keyring(folder, plan.spec.agents.count)
    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            up = [Agent(engine.endpoint, rank, keys=pair) for rank, pair in enumerate(pairs)]
            engine.hub.gather()
            ways = []
            for member in engine.hub.lobby.roster.members.values():
                ways.append(opened.enter_context(relay(member.inbox, lasts=AFTER)))
                member.inbox = ways[-1].endpoint
            record = engine.run(plan, 0)
        assert [agent.ended() for agent in up] == [0] * len(pairs)
    assert all(way.cuts >= 5 for way in ways)
    again = record.communication.control.kinds[RESENT].messages
    assert dict(rows([record]))["sent again"].startswith(f"{again} frames")
    assert_same_run(memory.run(plan, 0), record)


@pytest.mark.inside
def test_an_agent_that_says_more_than_is_kept_waits_for_the_connection_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the wall clock it would go on, and there is room for this many frames and no more."""
    monkeypatch.setattr("posse.agent.uplink.Session", partial(Session, most_frames=1_000))
    plan = spec("central", 2, engine=ENGINE | {"clock": "wall"})
    parted: list[threading.Thread] = []

    def part() -> None:
        until(lambda: all(agent.process.status().running for agent in up), "agents in the run")
        way.interrupt()
        parted.append(threading.Thread(target=restore))
        parted[0].start()

    def restore() -> None:
        try:
            until(lambda: all(agent.process._restraint.held for agent in up), "agents that wait")
        finally:
            way.restore()

    with ExitStack() as opened:
        with coordinator(plan) as engine:
            way = opened.enter_context(relay(engine.endpoint))
            up = [Agent(way.endpoint, rank) for rank in range(2)]
            record = engine.run(plan, 0, after(50, part))
        parted[0].join()
        assert [agent.ended() for agent in up] == [0, 0]
    assert record.status == "identified"


@pytest.mark.inside
def test_an_agent_that_can_say_nothing_more_ends_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("posse.agent.uplink.Session", partial(Session, most_frames=0))
    up = Coordinator(spec("central", 1, engine=ENGINE), "tcp://127.0.0.1:*")
    try:
        assert Agent(up.endpoint).ended() == RunFailed.exit_code
    finally:
        up.stop()
    (said,) = [line.getMessage() for line in caplog.records if line.levelname == "ERROR"]
    assert said == "the coordinator does not read what is sent to it"


def test_agents_join_over_connections_none_of_which_lasts_for_all_of_it(
    folder: Path | None,
) -> None:
    """Each is cut after the handshake, one question of who this is, and a few of the time."""
    plan = ring("ddp-mab", joining=60.0)
    joined = threading.Event()

    def bytes_of_each() -> Iterator[float]:
        while not joined.is_set():
            yield 900 if folder else 400

    pairs = keyring(folder, 3)
    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            ways = [
                opened.enter_context(relay(engine.endpoint, lasts=bytes_of_each())) for _ in pairs
            ]
            up = [Agent(way.endpoint, keys=pair) for way, pair in zip(ways, pairs, strict=True)]
            engine.hub.gather()
            joined.set()
            record = engine.run(plan, 0)
        assert [agent.ended() for agent in up] == [0] * 3
    assert min(way.cuts for way in ways) >= 2
    assert_same_run(memory.run(plan, 0), record)
