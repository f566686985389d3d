"""Connections that are lost: who is gone is named, and may come back where nothing went with it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from posse import api
from posse.durable.journal import Journal
from posse.durable.lifetime import read as lifetime
from posse.errors import PosseError
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from posse.security import keys
from tests.conftest import Start
from tests.support import anonymous
from tests.support.noise import needs_noise
from tests.support.remote import Agent, Coordinator, free_port, until
from tests.support.runfile import describe_run
from tests.support.runs import certain_logs, spec


def two(means: list[float], **engine: Any) -> Plan:
    arms = {"kind": "bernoulli", "means": means}
    return spec("central", 2, arms=arms, engine={"clock": "wall", "deadline": 30.0, **engine})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keys.create(tmp_path / "keys", 2)
    return tmp_path / "keys"


@pytest.mark.slow
def test_an_agent_that_is_killed_in_a_run_and_stays_away_is_named(
    folder: Path, start: Start
) -> None:
    c = Coordinator(two([0.5, 0.5], absence=1.0, on_missing="end"), "tcp://127.0.0.1:*", folder)
    Agent(c.endpoint, keys=keys.for_agent(folder, 0))
    join = ("agent", "--join", c.endpoint, "--wait", "20", "--keys", folder)
    victim = start(*join, "--rank", 1, stderr=subprocess.DEVNULL)
    until(lambda: c.engine.hub.status().frames > 100, "a run that goes on")
    victim.kill()
    c.ended()
    assert "agent 1 lost its connection and did not come back within 1 s" in str(c.error)
    assert "start the run again" in str(c.error)


def test_who_had_no_rows_left_joins_again_once_it_has(folder: Path, tmp_path: Path) -> None:
    needs_noise()
    certain_logs(tmp_path, agents=2, arms=2, rows=4_000)
    arms = {"kind": "csv", "path": "{rank}.csv", "count": 2}
    parameters = {"epsilon": 5.0, "delta": 0.3}
    own = {"mode": "field", "base": str(tmp_path), "engine": {"deadline": 30.0}}
    plan = prepare(describe_run("dp-mase", 2, arms, parameters=parameters) | own)

    def once() -> list[int | None]:
        """The exit codes of two agents that are started in the same way each time."""
        c = Coordinator(plan, "tcp://127.0.0.1:*", folder)
        agents = [
            Agent(
                c.endpoint,
                keys=keys.for_agent(folder, rank),
                plan=plan,
                journal=tmp_path / f"{rank}.journal",
            )
            for rank in range(2)
        ]
        c.ended()
        return [agent.ended() for agent in agents]

    assert once() == [0, 0]
    rows = (lifetime(tmp_path / "0.csv").rows or 0) // 2
    for ledger in tmp_path.glob("*.ledger*"):
        ledger.unlink()
    (folder / "coordinator" / "ledgers.witness").unlink()
    certain_logs(tmp_path, agents=1, arms=2, rows=rows)
    assert [once()[0] for _ in range(2)] == [0, 1]
    certain_logs(tmp_path, agents=1, arms=2, rows=2 * rows)
    assert once() == [0, 0]
    assert not list(tmp_path.glob("*.journal*"))


@pytest.mark.slow
def test_where_the_server_can_do_without_it_the_run_goes_on_and_the_next_waits_for_it(
    caplog: pytest.LogCaptureFixture, start: Start
) -> None:
    plan = anonymous.spec(
        "explore-then-commit",
        8,
        repeat=2,
        parameters={"horizon": 200_000},
        engine={"deadline": 20.0, "absence": 0.5},
    )
    c = Coordinator(plan, "tcp://127.0.0.1:*")
    others = [Agent(c.endpoint, rank) for rank in range(7)]
    join = ("agent", "--join", c.endpoint, "--wait", "20", "--rank", 7)
    victim = start(*join, stderr=subprocess.DEVNULL)
    until(lambda: c.engine.hub.status().frames > 16, "a round")
    victim.kill()
    until(lambda: "the next run waits for agent 7 to join again" in caplog.text, "the first run")
    assert (c.record.dismissed, c.record.status) == ({7: "lost"}, "horizon")
    start(*join, stderr=subprocess.DEVNULL)
    record = c.ended()
    assert c.error is None
    assert (record.dismissed, record.status) == ({}, "horizon")
    assert [agent.ended() for agent in others] == [0] * 7


def test_a_coordinator_whose_address_is_taken_leaves_the_capture_of_who_has_it(
    tmp_path: Path,
) -> None:
    """The same command, typed twice."""
    plan, at, frames = two([0.7, 0.5]), f"tcp://127.0.0.1:{free_port()}", tmp_path / "frames"
    agents = [Agent(at, rank) for rank in range(2)]
    with api.serve(plan, bind=at, capture=frames) as runs:
        list(runs([0]))
        before = frames.read_bytes()
        taken = pytest.raises(PosseError, match="is in use")
        with taken, api.serve(plan, bind=at, capture=frames):
            pass
        assert frames.read_bytes() == before
    assert [agent.ended() for agent in agents] == [0, 0]


@pytest.mark.inside
def test_a_run_whose_journal_found_no_room_resumes_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, at = two([0.7, 0.5]), f"tcp://127.0.0.1:{free_port()}"
    path = tmp_path / "coordinator.journal"
    write, room = Journal._write, iter(range(20))

    def full(journal: Journal, statement: str, *values: object) -> None:
        fits = not statement.startswith("INSERT INTO batches") or next(room, None) is not None
        write(journal, statement if fits else "INSERT INTO nowhere VALUES (?)", *values)

    monkeypatch.setattr(Journal, "_write", full)
    agents = [Agent(at, rank, wait=60.0) for rank in range(2)]
    no_room = pytest.raises(PosseError, match="cannot be written: no such table")
    with no_room, api.serve(plan, bind=at, journal=path) as runs:
        list(runs([0]))
    assert path.exists()
    monkeypatch.undo()
    with api.serve(plan, bind=at, journal=path) as runs:
        ((_, record),) = runs([0])
    assert isinstance(record, RunRecord)
    assert (record.best_arm, record.restarts) == (0, {-1: 1})
    assert [agent.ended() for agent in agents] == [0, 0]
    assert not path.exists()
