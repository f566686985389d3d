"""Agents of the field that are killed and started again: no statistic is noised twice."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from posse.durable.capture import Capture
from posse.durable.frames import Frame, read
from posse.durable.lifetime import read as ledger
from posse.plan import prepare
from posse.security.keys import create, for_agent
from posse.spec.runfile import read as read_run
from tests.support.field import MEANS, field, logs
from tests.support.killed import disturbed, logged
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, Coordinator, until

pytest.importorskip("pydp", reason="python-dp is not installed (extra: field)")


def said_twice(frames: list[Frame]) -> list[tuple[int | None, int | None, str]]:
    """What an agent said under one number in two ways: its noise, for one, was drawn again."""
    said: defaultdict[Any, set[str]] = defaultdict(set)
    for frame in frames:
        if frame.plane in ("data", "world") and frame.source != -1:
            said[frame.source, frame.run, frame.sequence, frame.kind].add(repr(frame.fields))
    return [name for name, ways in said.items() if len(ways) > 1]


@pytest.mark.slow
def test_a_killed_coordinator_has_nothing_noised_twice(tmp_path: Path) -> None:
    """With keys and on real disks; the simulator holds the same of every system."""
    plan = field("tdfs-private", logs(tmp_path / "logs", MEANS, 5), agents={"count": 3})
    create(tmp_path / "keys", plan.spec.agents.count)
    capture = Capture(tmp_path / "frames", new=True)
    pairs = [for_agent(tmp_path / "keys", rank) for rank in range(plan.spec.agents.count)]

    def agents(endpoint: str) -> list[Agent]:
        return [
            Agent(endpoint, rank, keys=pair, plan=plan, wait=PATIENCE, tap=capture)
            for rank, pair in enumerate(pairs)
        ]

    keys = ("--keys", str(tmp_path / "keys"))
    try:
        run = disturbed(plan, tmp_path, [30_000], agents, keys)
    finally:
        capture.close()
    assert run["restarts"] == {"-1": 1}
    assert said_twice(list(read(tmp_path / "frames"))) == []


RUN = """
system = "private-ucb"
mode = "field"
agents.count = 2
arms = {{ kind = "csv", path = "{logs}/rewards-{{rank}}.csv", count = 4, replace = true }}
privacy.reuse = "unlimited"
topology.kind = "complete"
parameters = {{ epsilon = 0.5, horizon = 4_000 }}
engine.deadline = 30.0
"""


@pytest.mark.slow
def test_posse_agent_finds_its_journal_and_goes_on(tmp_path: Path) -> None:
    data = logs(tmp_path / "logs", MEANS, 5)
    file = tmp_path / "run.toml"
    file.write_text(RUN.format(logs=data))
    create(tmp_path / "keys", 2)
    plan = prepare(read_run(file))
    capture = Capture(tmp_path / "frames", new=True)
    coordinator = Coordinator(plan, "tcp://127.0.0.1:*", tmp_path / "keys", capture)

    def agent(rank: int) -> subprocess.Popen[str]:
        command = ["agent", "--join", coordinator.endpoint, "--rank", str(rank), "--run", str(file)]
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "posse", *command, "--keys", str(tmp_path / "keys")],
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    agents = [agent(rank) for rank in range(2)]
    journal = data / "rewards-1.csv.journal"
    try:
        until(journal.exists, "a journal")
        until(lambda: logged(journal) > 200_000, "a journal of some frames")
        agents[1].kill()
        agents[1].wait()
        assert journal.exists()
        agents.append(agent(1))
        record = coordinator.ended()
        assert coordinator.error is None
        texts = [process.communicate(timeout=PATIENCE)[1] for process in agents]
    finally:
        coordinator.stop()
        capture.close()
        for process in agents:
            process.kill()
            process.wait()
    assert record.restarts == {1: 1}
    assert [process.returncode for process in agents] == [0, -9, 0], texts
    assert not list(data.glob("*.journal*"))
    assert len(ledger(data / "rewards-1.csv").runs) == 1
