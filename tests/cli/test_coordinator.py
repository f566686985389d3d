"""posse coordinator and posse agent, by hand."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Start
from tests.support import halting
from tests.support.patience import PATIENCE
from tests.support.remote import free_port

THREE = """
system = "central"
repeat = 2
agents.count = 3
arms = { kind = "bernoulli", means = [0.9, 0.1] }
"""


@pytest.mark.slow
def test_a_killed_coordinator_goes_on_with_the_agents_that_are_there(
    tmp_path: Path, start: Start
) -> None:
    """Two runs of four are kept; the other two are made by the same agents, which join anew."""
    halting.prepare(tmp_path)
    address = f"tcp://127.0.0.1:{free_port()}"
    serve = ["coordinator", "run.toml", "--bind", address, "--out", "out"]
    join = ["agent", "--join", address, "--run", "run.toml", "--wait", "60", "--lab"]
    agents = [start(*join, cwd=tmp_path) for _ in range(6)]
    first = halting.start(tmp_path, *serve)
    first.kill()
    first.communicate(timeout=PATIENCE)
    again = halting.finish(tmp_path, *serve)
    assert again.returncode == 0, again.stderr
    assert "2 of 4 runs were kept" in again.stdout
    assert [agent.wait(timeout=PATIENCE) for agent in agents] == [0] * 6
    assert halting.finish(tmp_path, "run", "run.toml", "--out", "whole").returncode == 0
    assert answers(tmp_path / "out") == answers(tmp_path / "whole")
    finished = halting.finish(tmp_path, *serve)
    assert finished.returncode == 0
    assert "4 of 4 runs were kept" in finished.stdout


DURABLE = f"{THREE}engine.durable = true\n"

KILLED = """
import os, signal, sys
from posse.cli.main import main
from posse.durable.directory import RunDirectory
RunDirectory.complete = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""
"""A coordinator that is killed when all runs are kept, before it lets its agents go."""


@pytest.mark.inside
@pytest.mark.slow
@pytest.mark.parametrize("gone", [False, True])
def test_one_that_was_killed_after_its_runs_lets_its_agents_go(
    tmp_path: Path, gone: bool, start: Start
) -> None:
    (tmp_path / "run.toml").write_text(DURABLE)
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    serve = ["coordinator", "run.toml", "--bind", address, "--out", "out", "--json"]
    join = ["agent", "--join", address, "--run", "run.toml", "--wait", "60", "--rank"]
    agents = [start(*join, rank, cwd=tmp_path) for rank in range(3)]
    killed = subprocess.run(
        [sys.executable, "-P", "-c", KILLED, *serve],
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with socket.create_server(("127.0.0.1", port)):
        refused = halting.call(tmp_path, *serve)
    assert refused.returncode == 1
    assert "the port is in use" in refused.stderr
    # what was written down is still there to go on from
    assert (tmp_path / "out" / "coordinator.journal").exists()
    if gone:
        for agent in agents:
            agent.kill()
            agent.wait(timeout=PATIENCE)
    again = halting.call(tmp_path, *serve)
    assert again.returncode == 0, again.stderr
    assert [run["best_arm"] for run in json.loads(again.stdout)["runs"]] == [0, 0]
    if not gone:
        assert [agent.wait(timeout=PATIENCE) for agent in agents] == [0] * 3
        assert not list(tmp_path.glob("*.journal*"))
    assert not list(tmp_path.glob("out/*.journal*"))
    finished = halting.call(tmp_path, *serve)
    assert (finished.returncode, finished.stdout) == (0, again.stdout)


def answers(folder: Path) -> list[object]:
    """What does not depend on where agents are."""
    runs = halting.result(folder)["runs"]
    return [(run["status"], run["best_arm"], run["rounds"], run["log"]) for run in runs]
