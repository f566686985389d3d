"""Room for a run's processes: a sentence before the start, not libzmq's end in the middle."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from posse.engines.start import room
from posse.errors import PosseError
from tests.support.patience import PATIENCE

RIDE = """
system = "mase"
agents.count = {agents}
arms = {{ kind = "bernoulli", means = [0.9, 0.1] }}
"""


def run(folder: Path, agents: int, files: int) -> "subprocess.CompletedProcess[str]":
    (folder / "ride.toml").write_text(RIDE.format(agents=agents))
    shell = ["sh", "-c", 'ulimit -n "$0"; exec "$@"', str(files)]
    return subprocess.run(
        [*shell, sys.executable, "-P", "-m", "posse", "run", "ride.toml", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.slow
def test_few_descriptors_are_enough_or_a_sentence(tmp_path: Path) -> None:
    agents, enough = 8, 32
    done = run(tmp_path, agents, enough)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(tmp_path, agents, enough - 1)
    assert done.returncode == 1
    assert done.stderr == (
        f"posse: {agents} agents need {enough} open files in one process, and {enough - 1} are "
        "allowed here; raise that (ulimit -Hn), use fewer agents, or run in memory: --engine "
        "memory\n"
    )


@pytest.mark.parametrize(("hard", "soft"), [(1024, 992), (511, 511), (-1, -1)])
def test_some_descriptors_are_left_for_files(
    hard: int, soft: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: said.append(limits))
    room.require(2, 2)
    assert said == [(soft, hard)]


def test_what_a_machine_and_its_container_leave(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:    512 kB\nOdd\n")
    assert room.free_memory(tmp_path, tmp_path) == 512 << 10
    (tmp_path / "memory.max").write_text("4096\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert room.free_memory(tmp_path, tmp_path) == 3096
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 500\n")
    assert room.free_memory(tmp_path, tmp_path) == 3596
    (tmp_path / "memory.max").write_text("max\n")
    assert room.free_memory(tmp_path, tmp_path) == 512 << 10
    assert room.free_memory(tmp_path / "absent", tmp_path / "absent") is None
    assert room.free_tasks(tmp_path) == -1
    (tmp_path / "pids.max").write_text("64\n")
    (tmp_path / "pids.current").write_text("70\n")
    assert room.free_tasks(tmp_path) == 0


def test_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 100 << 20)
    room.require(1000, 50)
    with pytest.raises(PosseError, match="51 agents need at least 102 MB of memory, and 100 MB"):
        room.require(51, 51)


def test_few_tasks_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_tasks", lambda: 32)
    room.require(10, 10)
    with pytest.raises(PosseError, match="11 agents need 33 threads and processes, and 32 are"):
        room.require(11, 11)
    room.require(20, 20, together=10)
    with pytest.raises(PosseError, match="24 agents need 33 threads and processes, and 32 are"):
        room.require(24, 24, together=8)


@pytest.mark.parametrize(
    ("ipc", "links", "needed"),
    [
        (False, [23] * 24, 32 + 12 + 12 * (19 + 4 * 23)),  # 1,334 were seen of such a process
        (True, [23] * 24, 32 + 12 + 12 * (5 + 2 * 23)),  # 623 were
        (True, [199, *[1] * 23], 32 + 12 + 12 * 5 + 2 * (199 + 11)),
    ],
)
def test_a_process_has_room_for_the_links_of_its_agents(
    ipc: bool, links: list[int], needed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = needed - 1
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: None)
    with pytest.raises(PosseError, match=f"24 agents need {needed:,} open files in one process"):
        room.require(24, 24, 12, ipc=ipc, links=links)
    limit = needed
    room.require(24, 24, 12, ipc=ipc, links=links)
