"""Connections between agents and their coordinator that are reset within a run."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.errors import RunFailed
from posse.measure.traffic import RESENT
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.results.words import rows
from posse.security import keys
from posse.wire.session import Session
from tests.support import federated
from tests.support.relay import Relay, relay
from tests.support.remote import Agent, Coordinator, coordinator, until
from tests.support.runs import after, assert_same_run, refused, spec

ENGINE: dict[str, Any] = {"deadline": 30.0}
TWO_ARMS = {"kind": "bernoulli", "means": [0.9, 0.1]}
"""Of a run that is soon over."""

MESHES = {
    "ddp-mab": lambda: federated.spec("ddp-mab", 3, {"kind": "ring"}, engine=ENGINE),
    "private-ucb": lambda: spec(
        "private-ucb",
        4,
        parameters={"horizon": 60, "epsilon": 0.5},
        topology={"kind": "ring"},
        engine=ENGINE,
    ),
}

AFTER = [5, 80, 150, 250, 300, 400, 500, 550, 600, 650, 700, 750]
"""Bytes: within the handshakes of ZeroMQ without keys and with them, and within first frames."""


def run_over(plan: Plan, folder: Path | None, lasts: list[int]) -> tuple[RunRecord, list[Relay]]:
    """A run whose agents reach each other over relays, one before each inbox."""
    agents = plan.spec.agents.count
    pairs = [keys.for_agent(folder, rank) if folder else None for rank in range(agents)]
    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            up = [Agent(engine.endpoint, rank, keys=pair) for rank, pair in enumerate(pairs)]
            engine.hub.gather()
            ways = []
            for member in engine.hub.lobby.roster.members.values():
                ways.append(opened.enter_context(relay(member.inbox, lasts=lasts)))
                member.inbox = ways[-1].endpoint
            record = engine.run(plan, 0)
        assert [agent.ended() for agent in up] == [0] * agents
    return record, ways


@pytest.mark.slow  # a link that falls silent is given 4 s, and half of that the run
@pytest.mark.parametrize("silent", [False, True])
def test_a_link_that_is_down_is_said_by_name_at_both_ends_and_ends_the_run(
    silent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "posse")
    plan = spec(
        "private-ucb",
        2,
        parameters={"horizon": 10_000, "epsilon": 0.5},
        topology={"kind": "complete"},
        engine={"deadline": 8.0, "absence": 2.0},
    )
    ways: list[Relay] = []

    def part() -> None:
        for way in ways:
            way.hold() if silent else way.interrupt()

    with ExitStack() as opened, coordinator(plan) as engine:
        up = [Agent(engine.endpoint, rank) for rank in range(2)]
        engine.hub.gather()
        for member in engine.hub.lobby.roster.members.values():
            ways.append(opened.enter_context(relay(member.inbox)))
            member.inbox = ways[-1].endpoint
        with pytest.raises(RunFailed, match="while link 0–1 was down"):
            engine.run(plan, 0, after(1, part))
    assert [agent.ended() for agent in up] == [0, 0]
    said = [record.getMessage() for record in caplog.records]
    for line in ("the link to agent 0 is down", "the link to agent 1 is down"):
        assert line in said
    assert len([line for line in said if line.startswith("link 0–1 is down, as agent")]) == 1


def run_with(plan: Plan, cuts: set[int], folder: Path | None = None) -> tuple[RunRecord, Relay]:
    """A run over a relay that resets all connections when so many messages were heard."""
    agents = plan.spec.agents.count
    pairs = [keys.for_agent(folder, rank) if folder else None for rank in range(agents)]
    heard = 0

    def observe(host: object) -> None:
        nonlocal heard
        heard += 1
        if heard in cuts:
            way.cut()

    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            way = opened.enter_context(relay(engine.endpoint))
            up = [Agent(way.endpoint, rank, keys=pair) for rank, pair in enumerate(pairs)]
            record = engine.run(plan, 0, observe)
        assert [agent.ended() for agent in up] == [0] * agents
    assert refused(record) == {}
    return record, way


def test_resets_in_a_run_change_nothing_of_it() -> None:
    """On real sockets; the simulator resets connections of every system."""
    plan = spec("mase", 6, engine=ENGINE)
    record, way = run_with(plan, {1, 5, 6, 20, 40})
    assert way.cuts >= plan.spec.agents.count
    assert_same_run(memory.run(plan, 0), record)


def test_resets_change_nothing_where_there_are_keys(tmp_path: Path) -> None:
    keys.create(tmp_path / "keys", 3)
    plan = spec("central", 3, arms=TWO_ARMS, engine=ENGINE)
    record, way = run_with(plan, {2, 9, 30}, tmp_path / "keys")
    assert way.cuts >= 3
    assert_same_run(memory.run(plan, 0), record)


@pytest.mark.parametrize(("name", "keyed"), [("ddp-mab", True), ("private-ucb", False)])
def test_links_between_agents_that_are_cut_after_some_bytes_change_nothing(
    name: str, keyed: bool, tmp_path: Path
) -> None:
    plan = MESHES[name]()
    if keyed:
        keys.create(tmp_path / "keys", plan.spec.agents.count)
    record, ways = run_over(plan, tmp_path / "keys" if keyed else None, AFTER)
    assert all(way.cuts >= 5 for way in ways)
    again = record.communication.control.kinds[RESENT].messages
    assert dict(rows([record], []))["sent again"].startswith(f"{again} frames")
    assert_same_run(memory.run(plan, 0), record)


@pytest.mark.inside
def test_an_agent_that_says_more_than_is_kept_waits_for_the_connection_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the wall clock it would go on, and there is room for so many frames and no more."""
    monkeypatch.setattr("posse.engines.agents.uplink.Session", partial(Session, most_frames=1_000))
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
    monkeypatch.setattr("posse.engines.agents.uplink.Session", partial(Session, most_frames=0))
    up = Coordinator(spec("central", 1, engine=ENGINE), "tcp://127.0.0.1:*")
    try:
        assert Agent(up.endpoint).ended() == RunFailed.exit_code
    finally:
        up.stop()
    (said,) = [line.getMessage() for line in caplog.records if line.levelname == "ERROR"]
    assert said == "the coordinator does not read what is sent to it"


def test_what_accepts_and_then_closes_is_waited_for() -> None:
    plan = spec("central", 2, arms=TWO_ARMS, engine=ENGINE)
    with ExitStack() as opened:
        with coordinator(plan) as engine:
            way = opened.enter_context(relay(engine.endpoint))
            way.interrupt()
            up = [Agent(way.endpoint, rank) for rank in range(2)]
            until(lambda: way.turned_away >= 10, "five attempts of each, about")
            assert [agent.code for agent in up] == [None, None]
            way.restore()
            assert engine.run(plan, 0).status == "identified"
        assert [agent.ended() for agent in up] == [0, 0]


def test_processes_of_this_machine_go_on_too() -> None:
    plan = spec("central", 3, arms=TWO_ARMS, engine=ENGINE | {"transport": "tcp"})
    engine = ProcessEngine(plan)
    with relay(engine.hub.endpoint) as way:
        engine.hub.endpoint = way.endpoint
        with engine:
            record = engine.run(plan, 0, after(9, way.cut))
    assert way.cuts == 3
    assert_same_run(memory.run(plan, 0), record)


@pytest.mark.parametrize("keyed", [False, True])
def test_agents_join_over_connections_none_of_which_lasts_for_all_of_it(
    keyed: bool, tmp_path: Path
) -> None:
    """Each is cut after the handshake, one question of who this is, and a few of the time."""
    patience = {**ENGINE, "joining": 60.0}
    plan = federated.spec("ddp-mab", 3, {"kind": "ring"}, engine=patience)
    agents = plan.spec.agents.count
    joined = threading.Event()

    def bytes_of_each() -> Iterator[float]:
        while not joined.is_set():
            yield 900 if keyed else 400

    folder = tmp_path / "keys" if keyed else None
    if folder:
        keys.create(folder, agents)
    pairs = [keys.for_agent(folder, rank) if folder else None for rank in range(agents)]
    with ExitStack() as opened:
        with coordinator(plan, folder=folder) as engine:
            ways = [
                opened.enter_context(relay(engine.endpoint, lasts=bytes_of_each())) for _ in pairs
            ]
            up = [Agent(way.endpoint, keys=pair) for way, pair in zip(ways, pairs, strict=True)]
            engine.hub.gather()
            joined.set()
            record = engine.run(plan, 0)
        assert [agent.ended() for agent in up] == [0] * agents
    assert min(way.cuts for way in ways) >= 2
    assert_same_run(memory.run(plan, 0), record)
