"""Agents of the field that are killed and started again: no statistic is noised twice."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from posse.durable.capture import Capture
from posse.durable.frames import Frame, Reader, read
from posse.durable.lifetime import read as ledger
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from posse.security.keys import create, for_agent
from posse.spec.runfile import read as read_run
from tests.engines.test_recovery import disturbed, logged
from tests.support.field import MEANS, field, logs
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, Coordinator, until
from tests.support.runs import beside

pytest.importorskip("pydp", reason="python-dp is not installed (extra: field)")

SYSTEMS: dict[str, dict[str, Any]] = {
    "dp-mase": {},
    "cdp-mab": {},
    "ddp-mab": {},
    "hdp-mab": {},
    "private-ucb": {},
    "tdfs-private": {"agents": {"count": 3}},
}


IN_CI = ("ddp-mab",)
"""On real disks; the simulator holds the same of every system in virtual time."""


def said_twice(frames: list[Frame]) -> list[tuple[int | None, int | None, str]]:
    """What an agent said under one number in two ways: its noise, for one, was drawn again."""
    said: defaultdict[Any, set[str]] = defaultdict(set)
    for frame in frames:
        if frame.plane in ("data", "world") and frame.source != -1:
            said[frame.source, frame.run, frame.sequence, frame.kind].add(repr(frame.fields))
    return [name for name, ways in said.items() if len(ways) > 1]


def killed_within(plan: Plan, folder: Path, seed: int, kills: int) -> int:
    """A run in which agents are killed now and then; how many were started again."""
    path, chance = folder / f"frames-{seed}", random.Random(seed)
    capture = Capture(path, new=True)

    def disturb(over: threading.Event) -> None:
        """Kill who has just said something, before anybody can have confirmed it."""
        said = Reader(path)
        for _ in range(kills):
            left, rank = chance.randrange(1, 12), -1
            while left > 0:
                if over.wait(0.0003):
                    return
                for frame in said.new():
                    if frame.plane in ("data", "world") and frame.source not in (None, -1):
                        left, rank = left - 1, frame.source
            with suppress(ProcessLookupError, KeyError):
                os.kill(engine.pids()[rank], signal.SIGKILL)

    try:
        with ProcessEngine(plan, capture=capture) as engine, beside(disturb):
            record = engine.run(plan, 0)
    finally:
        capture.close()
    frames = list(read(path))
    path.unlink()
    assert record.answered
    assert said_twice(frames) == []
    assert len({(f.source, f.sequence) for f in frames if f.plane in ("data", "world")}) > 3
    return sum(record.restarts.values())


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_no_statistic_is_noised_twice(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if system not in IN_CI and not request.config.getoption("--chaos"):
        pytest.skip("one of them, but for --chaos; another's coordinator is killed")
    engine = {"deadline": 30.0, "restarts": 100}
    plan = field(system, logs(tmp_path / "logs", MEANS, 5), engine=engine, **SYSTEMS[system])
    wanted = max(3, request.config.getoption("--chaos") // 5)
    restarted = 0
    for seed in range(40 * wanted):
        restarted += killed_within(plan, tmp_path, seed, 4)
        if restarted >= wanted:
            request.node.user_properties += [
                ("fault", f"agents killed {restarted} times, no statistic noised twice"),
                ("where", "field"),
                ("system", system),
            ]
            return
    pytest.fail(f"{restarted} of {wanted} agents were killed within a run")


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_killed_coordinator_has_nothing_noised_twice(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    every = request.config.getoption("--chaos")
    if system != "tdfs-private" and not every:
        pytest.skip("one of them, but for --chaos")
    plan = field(system, logs(tmp_path / "logs", MEANS, 5), **SYSTEMS[system])
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
