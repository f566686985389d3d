"""Joining from another machine: keys, ranks, clocks, configurations, restarts, deadlines."""

import json
import logging
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from posse.engines import remote_agent
from posse.engines.processes import ProcessEngine
from posse.errors import PosseError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.plan import Plan, prepare
from posse.security import keys
from posse.security import zap as gate
from posse.security.zap import Verdict
from tests.support.remote import PATIENCE, Agent, Coordinator, free_port, until
from tests.support.runs import spec


def small(agents: int = 2, deadline: float = 15.0, **changes: object) -> Plan:
    return spec("central", agents, engine={"deadline": deadline, "clock": "wall"}, **changes)


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


def test_agents_with_keys_join_and_run(folder: Path, said: pytest.LogCaptureFixture) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    record = c.ended()
    assert c.error is None
    assert (record.status, record.best_arm) == ("identified", 0)
    assert [agent.ended() for agent in agents] == [0, 0]
    assert said.text.count("the coordinator is done, or gave up, and let this agent go") == 2


def test_a_strangers_key_is_refused_on_both_sides(
    folder: Path, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    keys.create(tmp_path / "other", 1)
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    own = keys.for_agent(tmp_path / "other", 0)
    stranger = keys.AgentKeys(0, own.own, keys.for_agent(folder, 0).coordinator)
    assert Agent(c.endpoint, keys=stranger).ended() == 1
    assert "does not know this agent's key" in said.text
    assert "must be in the coordinator's allowlist.toml" in said.text
    wait_for("is not in the allowlist", said)
    assert own.own.public in said.text
    assert c.engine.hub.lobby.refused["stranger-key"] == 1
    c.stop()


def test_no_key_is_refused_on_both_sides(folder: Path, said: pytest.LogCaptureFixture) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    assert Agent(c.endpoint).ended() == 1
    assert "start both with --keys" in said.text or "start it with --keys" in said.text
    wait_for("WARNING", said)  # who of both sees the mismatch first closes the connection
    assert "one side has keys" in said.text or "may have keys and this one none" in said.text
    assert c.engine.hub.lobby.refused["handshake"] >= 1
    c.stop()


def test_a_key_for_a_coordinator_without_keys_is_refused(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*")
    assert Agent(c.endpoint, keys=keys.for_agent(folder, 0)).ended() == 1
    assert (
        "was not understood: one side has keys and the other has none" in said.text
        or "start it with --keys, and copy coordinator.key" in said.text
    )
    wait_for("WARNING", said)  # who of both sees the mismatch first closes the connection
    assert "one side has keys" in said.text or "may have keys and this one none" in said.text
    assert c.engine.hub.lobby.refused["handshake"] >= 1
    c.stop()


def test_another_coordinators_key_is_refused_on_both_sides(
    folder: Path, tmp_path: Path, said: pytest.LogCaptureFixture
) -> None:
    keys.create(tmp_path / "other", 1)
    right = keys.for_agent(folder, 0)
    wrong = keys.AgentKeys(0, right.own, keys.for_agent(tmp_path / "other", 0).coordinator)
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    assert Agent(c.endpoint, keys=wrong).ended() == 1
    assert "copy coordinator.key from there" in said.text
    wait_for("the other side expects another coordinator key", said)
    c.stop()


def test_the_right_key_for_another_rank_is_refused_on_both_sides(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    own = keys.for_agent(folder, 0)
    impostor = keys.AgentKeys(1, own.own, own.coordinator)
    assert Agent(c.endpoint, keys=impostor).ended() == 1
    sentence = "the key of agent 0 does not join as agent 1; use --rank 0, or the key of agent 1"
    assert f"the coordinator refused this agent: {sentence}" in said.text
    assert f"refused agent 1: {sentence}" in said.text
    c.stop()


def test_of_one_key_twice_the_newer_wins_and_the_older_is_told(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*", folder)
    older = Agent(c.endpoint, keys=keys.for_agent(folder, 0))
    wait_for("agent 0 joined (1 of 2)", said)
    newer = Agent(c.endpoint, keys=keys.for_agent(folder, 0))
    assert older.ended() == 1
    assert "another agent joined later with the same key; this one stops" in said.text
    assert "agent 0 was started again; the older one is told to stop" in said.text
    other = Agent(c.endpoint, keys=keys.for_agent(folder, 1))
    assert c.ended().status == "identified"
    assert [newer.ended(), other.ended()] == [0, 0]


def test_a_clock_that_is_off_is_refused_on_both_sides(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = Coordinator(small(), "tcp://127.0.0.1:*")

    class Late:
        def __getattr__(self, name: str) -> object:
            return getattr(time, name)

        def time(self) -> float:
            return time.time() - 60.0

    monkeypatch.setattr(remote_agent, "time", Late())
    assert Agent(c.endpoint).ended() == 1
    assert "the coordinator refused this agent: its clock is 60 s behind; set it" in said.text
    assert c.engine.hub.lobby.refused["clock"] == 1
    c.stop()


def test_a_run_file_that_differs_is_refused_and_the_keys_are_named(
    said: pytest.LogCaptureFixture,
) -> None:
    ours = small()
    c = Coordinator(ours, "tcp://127.0.0.1:*")
    theirs = prepare(msgspec.structs.replace(ours.spec, parameters={"delta": 0.01}, repeat=3))
    assert Agent(c.endpoint, plan=theirs).ended() == 1
    sentence = "its run file differs from the coordinator's in parameters.delta, repeat; give both"
    assert said.text.count(sentence) == 2
    c.stop()


def test_the_same_run_file_with_another_folder_is_let_in() -> None:
    ours = small(agents=1)
    c = Coordinator(ours, "tcp://127.0.0.1:*")
    agent = Agent(c.endpoint, plan=prepare(msgspec.structs.replace(ours.spec, base="/elsewhere")))
    assert c.ended().status == "identified"
    assert agent.ended() == 0


def test_a_coordinator_that_lies_about_the_configuration_is_left() -> None:
    ours = small(agents=1)
    c = Coordinator(ours, "tcp://127.0.0.1:*")
    c.engine.hub.lobby.roster._configuration = {}
    own = prepare(msgspec.structs.replace(ours.spec, parameters={"delta": 0.01}))
    agent = remote_agent.RemoteAgent(c.endpoint, plan=own)
    setup = AgentSetup(
        system=ours.spec.system,
        variant=ours.spec.variant,
        parameters=ours.spec.parameters,
        agents=1,
        arms=ours.spec.arms,
        rate=1.0,
        clock="wall",
        base=".",
    )
    with pytest.raises(PosseError, match="differs from parameters of this agent's own run file"):
        agent._own(setup)
    agent._hub.close(0)
    agent._close()
    agent._context.term()
    c.stop()


def test_code_is_not_taken_from_the_network(said: pytest.LogCaptureFixture) -> None:
    python = {"kind": "python", "target": "os:system", "count": 3}
    c = Coordinator(small(agents=1, arms=python), "tcp://127.0.0.1:*")
    assert Agent(c.endpoint).ended() == 1
    assert "start the agent with --run RUN.toml" in said.text
    c.ended()
    assert isinstance(c.error, RunFailed)


def test_an_agent_started_before_its_coordinator_waits_and_joins() -> None:
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    agents = [Agent(endpoint), Agent(endpoint)]
    time.sleep(0.7)
    assert [agent.code for agent in agents] == [None, None]
    c = Coordinator(small(), endpoint)
    assert c.ended().status == "identified"
    assert [agent.ended() for agent in agents] == [0, 0]


def test_a_coordinator_started_again_gets_its_agents_back(
    folder: Path, said: pytest.LogCaptureFixture
) -> None:
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    three = small(agents=2)
    pairs = keys.for_coordinator(folder, 2)
    first = ProcessEngine(three, bind=endpoint, token="", spawn=0, keys=pairs)
    agents = [Agent(endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    first.hub.gather()
    first.hub.lobby.roster.members.clear()  # nobody is told goodbye, as when it is killed
    first.close()
    wait_for("lost the coordinator", said)
    second = Coordinator(three, endpoint, folder)
    assert second.ended().status == "identified"
    assert [agent.ended() for agent in agents] == [0, 0]


class Elsewhere(remote_agent.RemoteAgent):
    """An agent whose inbox is not where it says."""

    def _open_inbox(self, bind: str, system: str) -> str:
        super()._open_inbox(bind, system)
        return f"tcp://127.0.0.1:{free_port()}"


def test_what_a_lost_coordinator_ordered_is_not_begun_for_the_next(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = spec(
        "cooperative-ucb",
        2,
        topology={"kind": "complete"},
        parameters={"horizon": 20, "gamma": 1},
        engine={"deadline": 2.0},
    )
    first = ProcessEngine(mesh, bind="tcp://127.0.0.1:*", token="", spawn=0)
    waiting = Agent(first.endpoint, 0, wait=4.0)
    monkeypatch.setattr("tests.support.remote.RemoteAgent", Elsewhere)
    elsewhere = Agent(first.endpoint, 1, wait=4.0)
    with pytest.raises(RunFailed, match="agent 0 to be ready"):
        first.run(mesh, 0)
    assert waiting.process._pending is not None
    first.hub.lobby.roster.members.clear()  # nobody is told goodbye, as when it is killed
    first.close()
    wait_for("lost the coordinator", said)
    assert (waiting.ended(), elsewhere.ended()) == (3, 3)
    assert waiting.process._pending is None


def test_an_agent_that_restarts_in_a_run_ends_it_with_a_sentence(folder: Path) -> None:
    endless = small(arms={"kind": "bernoulli", "means": [0.5, 0.5]})
    c = Coordinator(endless, "tcp://127.0.0.1:*", folder)
    Agent(c.endpoint, keys=keys.for_agent(folder, 0))
    Agent(c.endpoint, keys=keys.for_agent(folder, 1))
    until(lambda: c.engine.hub.lobby.running, "the beginning of the run")
    Agent(c.endpoint, keys=keys.for_agent(folder, 1))
    c.ended()
    assert "agent 1 was started again in the middle of a run" in str(c.error)


def test_an_address_that_does_not_resolve_is_named_within_the_deadline(
    said: pytest.LogCaptureFixture,
) -> None:
    assert Agent("tcp://no-such-host.invalid:7000", wait=1.0).ended() == 3
    assert "the name no-such-host.invalid does not resolve" in said.text
    assert "no coordinator answered at tcp://no-such-host.invalid:7000 for 1 s" in said.text


def test_a_coordinator_that_is_not_there_is_named_within_the_deadline(
    said: pytest.LogCaptureFixture,
) -> None:
    assert Agent(f"tcp://127.0.0.1:{free_port()}", wait=0.5).ended() == 3
    assert "check the address, and that posse coordinator runs there" in said.text


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(PosseError, match=r"cannot be bound: the port is in use; stop who"):
            ProcessEngine(small(), bind=f"tcp://127.0.0.1:{holder.getsockname()[1]}", spawn=0)


def test_agents_that_do_not_come_are_named() -> None:
    c = Coordinator(small(deadline=0.5), "tcp://127.0.0.1:*")
    c.ended()
    assert "nothing was heard for 0.5 s; waiting for agents 0, 1 to join" in str(c.error)


def mesh(deadline: float) -> Plan:
    return spec(
        "cooperative-ucb",
        2,
        parameters={"horizon": 50},
        topology={"kind": "path"},
        engine={"deadline": deadline},
    )


def test_an_agent_lets_in_only_the_keys_that_the_coordinator_named(
    folder: Path, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_agent, "_HANDSHAKE_MS", 200)
    c = Coordinator(mesh(deadline=3.0), "tcp://127.0.0.1:*", folder)
    pairs = keys.for_coordinator(folder, 2)
    strange = keys.Pair(*(key.decode() for key in zmq.curve_keypair()))
    # agent 0 is told of another neighbour's key than the one agent 1 has
    c.engine._keys = keys.CoordinatorKeys(pairs.own, (pairs.agents[0], strange.public))
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    c.ended()
    assert "nothing was heard for 3 s; waiting for agents 0, 1 to" in str(c.error)
    assert [agent.ended() for agent in agents] == [0, 0]
    assert f"at the inbox: its key {pairs.agents[1]} is no neighbour's" in said.text
    for refusing in (0, 1):  # neither has the key that the other was to find there
        assert re.search(rf"agent {refusing} at tcp://127.0.0.1:\d+ does not let this", said.text)


def test_a_neighbour_that_was_not_told_of_us_yet_is_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Well before the half minute that ZeroMQ gives a handshake, and before the deadline."""
    monkeypatch.setattr(remote_agent, "_HANDSHAKE_MS", 200)
    asked: list[Verdict] = []

    class Slow(gate.Authenticator):
        def __init__(self, context: Any, decide: Any, refused: Any) -> None:
            def late(key: str) -> Verdict:
                asked.append(decide(key) if asked else Verdict.NOT_YET)
                return asked[-1]

            super().__init__(context, late, refused)

    monkeypatch.setattr(remote_agent, "Authenticator", Slow)
    c = Coordinator(mesh(deadline=10.0), "tcp://127.0.0.1:*", folder)
    agents = [Agent(c.endpoint, keys=keys.for_agent(folder, rank)) for rank in range(2)]
    assert c.ended().status == "horizon"
    assert asked[0] is Verdict.NOT_YET
    assert asked.count(Verdict.YES) == 2
    assert [agent.ended() for agent in agents] == [0, 0]


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
