"""Runs that are interrupted, ended in order, given up or finished, and what the same command does.

One rule: the same command with the same folders resumes what was interrupted, and begins nothing
anew by itself.
"""

import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from posse.durable.lifetime import read as ledger
from posse.security.keys import create
from tests.conftest import Start
from tests.support.field import MEANS, logs
from tests.support.killed import logged
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.remote import free_port, until

needs_noise()

RUN = """
system = "private-ucb"
mode = "field"
agents.count = 2
arms = {{ kind = "csv", path = "{logs}/rewards-{{rank}}.csv", count = 4, replace = true }}
privacy.reuse = "unlimited"
topology.kind = "complete"
parameters = {{ epsilon = 0.5, horizon = 3_000 }}
engine.deadline = 30.0
"""


def _has_frames(journal: Path) -> bool:
    return journal.exists() and logged(journal) > 50_000


class Posse:
    """A coordinator and two agents, each a process that is started by the same command."""

    def __init__(self, folder: Path, start: Start) -> None:
        self.folder = folder
        self.data = logs(folder / "logs", MEANS, 5)
        (folder / "run.toml").write_text(RUN.format(logs=self.data))
        create(folder / "keys", 2)
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.posse = partial(start, cwd=folder, stderr=subprocess.STDOUT)

    def coordinator(self, *more: str) -> subprocess.Popen[str]:
        command = ("coordinator", "run.toml", "--bind", self.address, "--keys", "keys/coordinator")
        return self.posse(*command, "--out", "out", *more)

    def agents(self) -> list[subprocess.Popen[str]]:
        join = ("agent", "--join", self.address, "--run", "run.toml", "--keys")
        return [self.posse(*join, f"keys/agent-{rank}") for rank in range(2)]

    def begun(self) -> None:
        """Wait until both agents have acted."""
        for rank in range(2):
            journal = self.data / f"rewards-{rank}.csv.journal"
            until(partial(_has_frames, journal), "frames")

    def spent(self) -> list[int]:
        """How many runs each agent's ledger has."""
        return [len(ledger(self.data / f"rewards-{rank}.csv").runs) for rank in range(2)]


@pytest.fixture
def posse(tmp_path: Path, start: Start) -> Posse:
    return Posse(tmp_path, start)


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=PATIENCE)[0]


def ends(process: subprocess.Popen[str], code: int = 0) -> str:
    text = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == code, text
    return text


@pytest.mark.slow
def test_all_are_stopped_and_the_same_commands_resume(posse: Posse) -> None:
    coordinator, agents = posse.coordinator("--resumable"), posse.agents()
    posse.begun()
    assert "posse abandon out gives the run up" in stop(coordinator)
    assert coordinator.returncode == 130
    for agent in agents:
        stop(agent)
    coordinator, agents = posse.coordinator("--resumable"), posse.agents()
    ends(coordinator)
    for agent in agents:
        ends(agent)
    assert posse.spent() == [1, 1]
    assert not list(posse.folder.glob("**/*.journal*"))
    coordinator, agents = posse.coordinator("--resumable"), posse.agents()
    assert "1 of 1 runs were kept" in ends(coordinator)
    for agent in agents:
        assert "let this agent go" in ends(agent)
    assert posse.spent() == [1, 1]


@pytest.mark.slow
def test_what_was_ended_begins_anew_only_when_it_was_given_up(posse: Posse) -> None:
    coordinator, agents = posse.coordinator(), posse.agents()
    posse.begun()
    agents[1].kill()
    agents[1].wait()
    stop(coordinator)
    ends(agents[0], 130)
    refused = ends(posse.coordinator(), 2)
    assert "out/coordinator.journal was ended (interrupted)" in refused
    assert "posse abandon out" in refused
    assert "its run is given up" in ends(posse.posse("abandon", "out"))
    coordinator, agents = posse.coordinator(), posse.agents()
    ends(coordinator)
    ends(agents[0])
    assert "rewards-1.csv.journal, which was ended or lost" in ends(agents[1])
    assert posse.spent() == [2, 2]
    assert "has no journal" in ends(posse.posse("abandon", "out"), 2)


@pytest.mark.slow
def test_a_revoked_agent_is_dismissed_and_stays_out_after_a_restart(posse: Posse) -> None:
    coordinator, agents = posse.coordinator("--resumable"), posse.agents()
    posse.begun()
    agents[0].send_signal(signal.SIGSTOP)  # alone it would soon be at the horizon
    ends(posse.posse("keys", "keys/coordinator", "--revoke", "1"))
    assert "its key was revoked" in ends(agents[1], 1)
    stop(coordinator)
    again = posse.coordinator("--resumable")
    agents[0].send_signal(signal.SIGCONT)
    assert "missing" in ends(again)
    ends(agents[0])
    assert posse.spent() == [1, 1]
