"""A coordinator that is killed, each time when its journal has grown so far, and started again."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.plan import Plan
from tests.support.patience import PATIENCE
from tests.support.remote import Agent, free_port


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
    """Kill the coordinator when its journal has this many bytes; False if it ended before."""
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
    links: tuple[str, ...],
) -> dict[str, Any]:
    """A run whose coordinator is killed, each time when its journal has grown so far."""
    out = folder / "out"
    endpoint = f"tcp://127.0.0.1:{free_port()}"
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
