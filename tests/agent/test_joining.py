"""Joining from another machine: keys, ranks, clocks, configurations, restarts, deadlines."""

import dataclasses
import json
import logging
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import zmq

from posse.agent import guard, joining, remote, uplink
from posse.coordinator.roster import Roster
from posse.engines.processes import ProcessEngine
from posse.plan import Plan
from posse.security import keys
from posse.security.zap import ZapStatus
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, Coordinator, free_port, until
from tests.support.runs import spec


def small(agents: int = 2, deadline: float = 15.0, **changes: object) -> Plan:
    arms = {"kind": "bernoulli", "means": [0.9, 0.1]}
    engine = {"deadline": deadline, "clock": "wall"}
    return spec("central", agents, arms=arms, engine=engine, **changes)


KEYLESS = "one side has keys|may have keys while this one has none"
"""Who of both sees it first closes the connection."""


def mesh(deadline: float) -> Plan:
    return spec(
        "cooperative-ucb",
        2,
        parameters={"horizon": 50},
        topology={"kind": "path"},
        engine={"deadline": deadline},
    )


def broadcasting() -> Plan:
    parameters = {"horizon": 40, "epsilon": 1.0}
    return spec("ddp-mab", 2, parameters=parameters, topology={"kind": "path"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keys.create(tmp_path / "keys", 2)
    return tmp_path / "keys"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    logging.getLogger("posse").propagate = True
    caplog.set_level(logging.INFO, "posse")
    return caplog


def wait_for(what: str, said: pytest.LogCaptureFixture) -> None:
    until(lambda: what in said.text, f"'{what}' in the log")


def test_the_log_says_when_a_run_begins_how_it_ends_and_that_agents_may_go(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    c = Coordinator(small(repeat=2), "tcp://127.0.0.1:*", folder)
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    record = c.ended()
    assert c.error is None
    assert (record.status, record.best_arm) == ("identified", 0)
    assert [agent.ended() for agent in agents] == [0, 0]
    assert said.text.count("the coordinator has finished and let this agent go") == 2
    lines = [entry.getMessage() for entry in said.records if entry.levelno == logging.INFO]
    told = [line for line in lines if line.startswith(("run ", "letting "))]
    assert told == [
        "run 1 of 2 begins",
        "run 1 of 2 ended: arm 0 (identified)",
        "run 2 of 2 begins",
        "run 2 of 2 ended: arm 0 (identified)",
        "letting all agents go (exit code 0)",
    ]


@pytest.mark.parametrize("system", ["central", "cooperative-ucb", "ddp-mab"])
def test_agents_join_and_reach_each_other_by_ipv6(system: str, folder: Path) -> None:
    """`central` has no inboxes, `cooperative-ucb` one link to each, `ddp-mab` one to all."""
    plans = {"central": small(), "cooperative-ucb": mesh(15.0), "ddp-mab": broadcasting()}
    c = Coordinator(plans[system], "tcp://[::1]:*", folder)
    assert c.endpoint.startswith("tcp://[::1]:")
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    record = c.ended()
    assert c.error is None
    assert record.answered
    inboxes = c.engine.hub.lobby.roster.inboxes.values()
    assert all(inbox.startswith("tcp://[::1]:") for inbox in inboxes if system != "central")
    assert [agent.ended() for agent in agents] == [0, 0]


def test_who_binds_all_addresses_is_reached_by_both_kinds(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    c = Coordinator(small(), "tcp://[::]:*", folder)
    port = c.endpoint.rpartition(":")[2]
    with socket.create_connection(("127.0.0.1", int(port))) as keyless:
        keyless.send(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48))  # ZMTP 3.0
        wait_for("refused a connection from 127.0.0.1: one side has keys", said)
    agents = [
        Agent(f"tcp://{host}:{port}", keys=keys.for_agent(folder, rank))
        for rank, host in enumerate(("127.0.0.1", "[::1]"))
    ]
    assert c.ended().status == "identified"
    assert [agent.ended() for agent in agents] == [0, 0]
    hosts = {m.host for m in c.engine.hub.lobby.roster.members.values()}
    assert hosts == {"127.0.0.1", "::1"}


def test_a_name_may_come_to_mean_something_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, said: pytest.LogCaptureFixture
) -> None:
    meaning: list[str] = []
    for module in (uplink, remote):
        monkeypatch.setattr(module, "unresolved", lambda _: "" if meaning else "it means nothing")
    monkeypatch.setattr(uplink, "_LOOK_UP_EVERY", 0.05)
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    endpoint = c.endpoint.replace("127.0.0.1", "localhost")
    agents = [Agent(endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    assert said.text.count("it means nothing; trying for 20 s") == 2
    assert [agent.process.status().connected for agent in agents] == [False, False]
    meaning.append("now")
    assert c.ended().status == "identified"
    assert [agent.ended() for agent in agents] == [0, 0]


MISFITS = {
    "a stranger": (
        r"does not know this agent's key(.|\n)*posse keys DIR --allow 0 pk_",
        r"its key pk_\S{42}… is not in the allowlist",
        "stranger-key",
    ),
    "one of another coordinator's": (
        "copy its coordinator.key to this agent",
        "the other side expects another coordinator key",
        "handshake",
    ),
    "one without keys": ("start (both|the coordinator) with --keys", KEYLESS, "handshake"),
    "one with keys where there are none": (
        "failed: one side has keys and the other has none|copy its coordinator.key",
        KEYLESS,
        "handshake",
    ),
}
"""What the agent says, what the coordinator says, and what it counts."""


@pytest.mark.parametrize("who", MISFITS)
def test_whose_keys_are_not_those_that_are_known_is_refused_on_both_sides(
    who: str,
    folder: Path,
    tmp_path: Path,
    said: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joining, "_FAILED_IN_A_ROW", 2)
    agent_says, coordinator_says, counted = MISFITS[who]
    keys.create(tmp_path / "other", 1)
    known, other = keys.for_agent(folder, 0), keys.for_agent(tmp_path / "other", 0)
    pair = {
        "a stranger": keys.AgentKeys(0, other.own, known.coordinator),
        "one of another coordinator's": keys.AgentKeys(0, known.own, other.coordinator),
        "one without keys": None,
    }.get(who, known)
    c = Coordinator(small(), "tcp://127.0.0.1:*", None if "where" in who else folder)
    assert Agent(c.endpoint, keys=pair).ended() == 1
    assert re.search(agent_says, said.text)
    until(lambda: re.search(coordinator_says, said.text), coordinator_says)
    until(lambda: c.engine.hub.lobby.refused[counted] >= 1, f"a refusal is counted: {counted}")
    c.stop()


@pytest.mark.parametrize(
    ("host", "trouble"),
    [
        ("no-such-host.invalid", "the name no-such-host.invalid does not resolve"),
        ("127.0.0.1", "check the address, and that posse coordinator runs there"),
    ],
)
def test_where_no_coordinator_answers_is_said_within_the_deadline(
    host: str, trouble: str, said: pytest.LogCaptureFixture
) -> None:
    endpoint = f"tcp://{host}:{free_port()}"
    assert Agent(endpoint, wait=0.5).ended() == 3
    assert f"no coordinator answered at {endpoint} for 0.5 s" in said.text
    assert trouble in said.text


@pytest.mark.parametrize("first", ["cooperative-ucb", "ddp-mab"])
def test_a_coordinator_started_again_may_need_links_of_the_other_kind(
    first: str, folder: Path, said: pytest.LogCaptureFixture
) -> None:
    plans = [mesh(15.0), broadcasting()]
    if first == "ddp-mab":
        plans.reverse()
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    pairs = keys.for_coordinator(folder, 2)
    engine = ProcessEngine(plans[0], bind=endpoint, token="", spawn=0, keys=pairs)
    agents = [Agent(endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    engine.hub.gather()
    engine.hub.lobby.roster.members.clear()  # nobody is told goodbye, as when it is killed
    engine.close()
    wait_for("lost the coordinator", said)
    c = Coordinator(plans[1], endpoint, folder)
    try:
        assert c.ended().answered
        assert [agent.ended() for agent in agents] == [0, 0]
    finally:
        c.stop()


def test_an_inbox_in_use_is_said(said: pytest.LogCaptureFixture) -> None:
    c = Coordinator(mesh(deadline=60.0), "tcp://127.0.0.1:*")
    try:
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            inbox = f"tcp://127.0.0.1:{holder.getsockname()[1]}"
            assert Agent(c.endpoint, 0, inbox=inbox).ended() == 1
        assert (
            f"{inbox} cannot be bound: the port is in use; stop the program that uses it"
            in said.text
        )
        assert "defect" not in said.text
    finally:
        c.stop()


@pytest.mark.slow
def test_an_agent_lets_in_only_the_keys_that_the_coordinator_named(
    folder: Path, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "HANDSHAKE_MS", 200)
    c = Coordinator(mesh(deadline=3.0), "tcp://127.0.0.1:*", folder)
    pairs = keys.for_coordinator(folder, 2)
    strange = keys.KeyPair(*(key.decode() for key in zmq.curve_keypair()))
    # agent 0 is told of another neighbour's key than the one agent 1 has
    monkeypatch.setattr(Roster, "keys", {0: pairs.agents[0], 1: strange.public})
    own = [keys.for_agent(folder, rank) for rank in range(2)]
    own[0] = dataclasses.replace(own[0], connects={1: strange.public})  # and so has its own list
    agents = [Agent(c.endpoint, keys=pair) for pair in own]
    c.ended()
    assert "nothing was heard for 3 s; waiting for agents 0, 1 to" in str(c.error)
    assert [agent.ended() for agent in agents] == [3, 3]
    assert re.search(r"at the inbox: its key pk_\S+ does not belong to a neighbour", said.text)
    for refusing in (0, 1):  # neither has the key that the other was to find there
        assert re.search(rf"agent {refusing} at tcp://127.0.0.1:\d+ does not let this", said.text)


def test_a_neighbour_that_was_not_told_of_us_yet_is_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Well before the half minute that ZeroMQ gives a handshake, and before the deadline."""
    monkeypatch.setattr(guard, "HANDSHAKE_MS", 200)
    asked: list[ZapStatus] = []

    decide = guard.Guard._decide

    def decide_late(self: guard.Guard, key: str) -> ZapStatus:
        asked.append(decide(self, key) if asked else ZapStatus.NOT_YET)
        return asked[-1]

    monkeypatch.setattr(guard.Guard, "_decide", decide_late)
    c = Coordinator(mesh(deadline=10.0), "tcp://127.0.0.1:*", folder)
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    assert c.ended().status == "horizon"
    assert asked[0] is ZapStatus.NOT_YET
    assert asked.count(ZapStatus.YES) == 2
    assert [agent.ended() for agent in agents] == [0, 0]


@pytest.mark.slow
def test_the_result_is_safe_before_agents_are_let_go(folder: Path, tmp_path: Path) -> None:
    """Whoever starts all together may end all when the first of them ends."""
    run_file = tmp_path / "run.toml"
    run_file.write_text(
        'system = "central"\nagents.count = 2\nengine.clock = "wall"\n'
        'arms = { kind = "bernoulli", means = [0.9, 0.1] }\n'
    )
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    out = tmp_path / "out"
    command = ["coordinator", str(run_file), "--bind", endpoint, "--keys", str(folder), "--json"]
    coordinator = subprocess.Popen(
        [sys.executable, "-P", "-m", "posse", *command, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        agents = [Agent(endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
        assert agents[0].ended() == 0
        assert (out / "result.json").exists()
        coordinator.terminate()
        printed, log = coordinator.communicate(timeout=PATIENCE)
        assert coordinator.returncode == 0, log
        assert json.loads(printed)["runs"][0]["best_arm"] == 0
        assert agents[1].ended() == 0
    finally:
        coordinator.kill()
        coordinator.wait()
