"""A machine's run is played again up to a time: in the lab from its plan, else from a journal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import posse
from posse.agent.recovery import Beginning
from posse.cli.main import main
from posse.coordinator.setups import agent_setups
from posse.durable.journal import FRAME, Journal
from posse.durable.recording import record_sources
from posse.engines import memory
from posse.errors import InputError
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR, Finish, Pull, Pulled, Received
from posse.testing import retrace
from posse.wire.session import ENVELOPE_BYTES, SessionState
from posse.wire.sources import of_this_machine
from posse.wire.world import HERE

RUN: dict[str, Any] = {
    "system": "cdp-mab",
    "seed": 1,
    "agents": {"count": 3},
    "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.1]},
    "parameters": {"horizon": 2_000, "epsilon": 4.0},
    "engine": {"kind": "memory"},
}

SCRIPT = """
from posse.script import *


def agent(me):
    total = 0.0
    for turn in range(3):
        sums = yield Pull([0, 1], 5)
        total += sums.sum()
    return 1


SYSTEM = system("turns", agent, claim="nothing is sent")
"""


def plan(**changes: Any) -> Plan:
    return prepare(RUN | changes)


def test_the_state_is_that_of_the_time() -> None:
    whole = retrace.of_lab(plan(), COORDINATOR)
    state = dict(whole.state())
    assert state["active"] == "(0,)"
    assert whole.now == 2_000
    early = retrace.of_lab(plan(), COORDINATOR, until=whole.moments[1].now - 1)
    assert dict(early.state())["active"] == "(0, 1, 2)"
    assert [type(m.event).__name__ for m in early.moments] == ["Started"]
    # the run is another one for another seed, and the same for the same
    again = retrace.of_lab(plan(), COORDINATOR)
    assert [m.effects for m in again.moments] == [m.effects for m in whole.moments]
    assert retrace.of_lab(plan(seed=2), COORDINATOR).state() != whole.state()


def test_a_decision_comes_with_the_messages_that_led_to_it() -> None:
    explained = retrace.of_lab(plan(), COORDINATOR).why()
    (decision, before), (end, _) = explained
    assert end.effects == [Finish("identified", 0)]
    senders = [m.event.sender for m in before if isinstance(m.event, Received)]
    assert senders == [0, 1, 2]
    assert decision.now == before[-1].now
    ((decision, before),) = retrace.of_lab(plan(), 2, until=1.0).why()
    assert isinstance(decision.effects[0], Pull)
    assert len(before) == 1


def test_a_run_that_is_played_again_says_what_its_capture_says(tmp_path: Path) -> None:
    file, other = tmp_path / "run.frames", tmp_path / "other.frames"
    posse.run(plan(repeat=2).spec, capture=file, engine="processes")
    same = retrace.SameMessages(file, 1)
    retrace.of_lab(plan(), 2, run=1, compare=same)
    assert same.same == 6  # each agent's means, and the server's answer
    early = retrace.SameMessages(file, 1)
    retrace.of_lab(plan(), 2, run=1, until=1.0, compare=early)
    assert early.same == 0
    for changed in ({"seed": 2}, {"agents": {"count": 2}}):
        with pytest.raises(InputError, match="not of this run"):
            retrace.of_lab(plan(**changed), 1, run=1, compare=retrace.SameMessages(file, 1))
    with pytest.raises(InputError, match="no message of run 2"):
        retrace.SameMessages(file, 2)
    said = retrace.SameMessages(file, 1)
    posse.run(plan(agents={"count": 4}).spec, capture=other)
    with pytest.raises(InputError, match="not of this run"):
        retrace.of_lab(plan(), 1, compare=retrace.SameMessages(other, 0))
    assert said.same == 0


def test_who_is_not_there_or_not_known_any_more_is_said() -> None:
    with pytest.raises(InputError, match="agents are 0 to 2"):
        retrace.of_lab(plan(), 3)
    alone = plan(system="single-mab", parameters={"horizon": 100, "epsilon": 1.0})
    with pytest.raises(InputError, match="there is no server"):
        retrace.of_lab(alone, COORDINATOR)


def test_a_script_shows_its_line_and_variables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "turns.py").write_text(SCRIPT)
    (tmp_path / "run.toml").write_text(
        'system = "turns:SYSTEM"\nagents.count = 2\n'
        'arms = { kind = "bernoulli", means = [1.0, 1.0] }\nengine.kind = "memory"\n'
    )
    assert main(["replay", f"{tmp_path}/run.toml", "--agent", "1", "--until", "20", "--why"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith("agent 1 at 20, after 3 events")
    assert "line: turns.py:8: sums = yield Pull([0, 1], 5)" in lines
    assert "total: 20.0" in lines
    assert "20  rewards, sums of 5: arm 0 5, arm 1 5" in lines


def journalled(path: Path, planned: Plan) -> None:
    """Play the one agent of a plan in memory, and keep its inputs as its process does."""
    journal = Journal(path, "agent 0 of tests", synchronous=False)
    journal.open()
    (setup,) = agent_setups(planned, planned.network(0))
    uplink = SessionState()
    clocks = HERE.read_clocks()
    journal.begin(Beginning(0, setup, clocks, 0, b"12345678", "", uplink))

    def hear(source: int | None, target: int | None, frame: bytes) -> None:
        if target == 0:
            journal.add(FRAME, COORDINATOR, bytes(ENVELOPE_BYTES) + frame)

    mine = of_this_machine(lambda: 0)
    recorded = record_sources(journal, mine, field=False)
    memory.run(planned, 0, tap=hear, sources=replace(mine, stepped=recorded.stepped))
    journal.commit()
    journal.close()


def test_a_journal_leads_to_the_same_state(tmp_path: Path) -> None:
    planned = plan(agents={"count": 1}, parameters={"horizon": 20_000, "epsilon": 4.0})
    journalled(tmp_path / "a.journal", planned)
    kept = (tmp_path / "a.journal").read_bytes()
    from_journal = retrace.of_journal(tmp_path / "a.journal", until=15_000.0)
    from_lab = retrace.of_lab(planned, 0, until=15_000.0)
    assert any(isinstance(moment.event, Pulled) for moment in from_lab.moments)
    assert [m.effects for m in from_journal.moments] == [m.effects for m in from_lab.moments]
    assert dict(from_journal.state())["mean"] == dict(from_lab.state())["mean"]
    assert (tmp_path / "a.journal").read_bytes() == kept


def test_what_is_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing")
    with pytest.raises(InputError, match="is no journal of an agent"):
        retrace.of_journal(tmp_path / "x")
