"""A coordinator that is killed and started again: its run is that of nobody disturbed."""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.engines import memory
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from tests.runs.test_restarts import CASES, undisturbed_part
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, free_port

ENGINE = {"durable": True, "transport": "tcp", "deadline": PATIENCE}


def started(file: Path, endpoint: str, *more: str) -> subprocess.Popen[str]:
    command = ["coordinator", str(file), "--bind", endpoint, "--json", *more]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "posse", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def logged(journal: Path) -> int:
    """How far the write-ahead log of a journal was ever written."""
    log = journal.with_name(f"{journal.name}-wal")
    return log.stat().st_size if log.exists() else 0


def kill_within(process: subprocess.Popen[str], journal: Path, size: int) -> bool:
    """Kill the coordinator when its journal has so many bytes; False if it ended before."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < deadline, "the coordinator wrote no journal"
        if logged(journal) >= size:
            process.kill()
            process.communicate()
            return True
        time.sleep(0.0005)
    return False


def disturbed(
    plan: Plan,
    folder: Path,
    moments: list[int],
    start: Callable[[str], list[Agent]],
    links: tuple[str, ...] = ("--insecure",),
    endpoint: str = "",
) -> dict[str, Any]:
    """A run whose coordinator is killed, each time when its journal has grown so far."""
    out = folder / "out"
    endpoint = endpoint or f"tcp://127.0.0.1:{free_port()}"
    file = RunDirectory(folder / "file", plan).open().path / SPECIFICATION
    agents = start(endpoint)
    process = started(file, endpoint, "--out", str(out), *links)
    try:
        for size in moments:
            if kill_within(process, out / "coordinator.journal", size):
                process = started(file, endpoint, "--resume", str(out), *links)
        said, trouble = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, trouble
        assert [agent.ended() for agent in agents] == [0] * len(agents)
    finally:
        process.kill()
        process.communicate()
    assert not list(out.glob("coordinator.journal*"))
    found: dict[str, Any] = json.loads(said)["runs"][0]
    return found


def check(system: str, transport: str, folder: Path, moments: list[int]) -> int:
    plan = prepare(CASES[system] | {"engine": ENGINE})
    detail = plan.system.results.detail

    def agents(endpoint: str) -> list[Agent]:
        return [Agent(endpoint, rank, wait=PATIENCE) for rank in range(plan.spec.agents.count)]

    with tempfile.TemporaryDirectory() as short:  # such an address has 107 bytes at most
        endpoint = f"ipc://{short}/hub" if transport == "ipc" else ""
        run = disturbed(plan, folder, moments, agents, endpoint=endpoint)
    found, expected = RunRecord.read(run, detail), memory.run(plan, 0)
    found.refused = {}
    assert undisturbed_part(found) == undisturbed_part(
        RunRecord.read(json.loads(json.dumps(expected.document())), detail)
    )
    return sum(found.restarts.values())


@pytest.mark.slow
@pytest.mark.parametrize(("system", "transport"), [("mase", "ipc"), ("private-ucb", "tcp")])
def test_a_killed_coordinator_goes_on(system: str, transport: str, tmp_path: Path) -> None:
    """On real sockets and disks; the simulator kills the coordinator of every system."""
    chance = random.Random(1)
    assert check(system, transport, tmp_path, [chance.randrange(25_000, 80_000)]) == 1
