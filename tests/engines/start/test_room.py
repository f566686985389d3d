"""Room for a run's processes: a sentence before the start, not libzmq's end in the middle."""

import os
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


@pytest.mark.parametrize(
    ("lines", "inner"),
    [("0::/a/b\n", "a/b"), ("7:cpu,pids,memory:/b\n0::/\n", "cpu,pids,memory/b")],
)
def test_control_groups_on_the_way_to_this_process_limit_it(
    lines: str, inner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of unified and of older control groups, the container's own and outer ones."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(64))
    monkeypatch.setattr(room, "_of_user", lambda proc: None)
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(lines)
    within = groups / inner
    within.mkdir(parents=True)

    def sees() -> tuple[int, int | None, int]:
        return (
            room.free_tasks(proc, groups),
            room.free_memory(proc, groups),
            room.cores(proc, groups),
        )

    assert sees() == (-1, None, 64)
    for folder, tasks, memory, quota in ((within.parent, 64, 4096, 6), (within, 32, 8192, 3)):
        (folder / "pids.max").write_text(f"{tasks}\n")
        (folder / "pids.current").write_text("30\n")
        (folder / "memory.max").write_text(f"{memory}\n")
        (folder / "memory.current").write_text("96\n")
        (folder / "cpu.max").write_text(f"{quota * 50_000} 50000\n")
        assert sees() == (tasks - 30, 4000, quota)
    (within / "pids.current").write_text("70\n")
    (within / "cpu.max").unlink()
    (within / "cpu.cfs_quota_us").write_text("50000\n")
    (within / "cpu.cfs_period_us").write_text("100000\n")
    assert sees() == (0, 4000, 1)


def test_a_user_s_limit_of_threads_counts_those_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for process, threads in ((7, 3), (8, 2)):
        for thread in range(threads):
            (tmp_path / str(process) / "task" / str(thread)).mkdir(parents=True)
    user = tmp_path.stat().st_uid
    monkeypatch.setattr(resource, "getrlimit", lambda which: (12, 12))
    monkeypatch.setattr(os, "getuid", lambda: user or 1)
    if user:
        assert room.free_tasks(tmp_path, tmp_path) == 7
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert room.free_tasks(tmp_path, tmp_path) == -1


def test_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 100 << 20)
    room.require(1000, 50)
    with pytest.raises(PosseError, match="51 agents need at least 102 MB of memory, and 100 MB"):
        room.require(51, 51)


def test_few_tasks_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_tasks", lambda: 24)
    room.require(5, 5)
    with pytest.raises(PosseError, match="6 agents need 28 threads and processes, and 24 are"):
        room.require(6, 6)
    room.require(12, 12, together=6)
    with pytest.raises(PosseError, match="14 agents need 26 threads and processes, and 24 are"):
        room.require(14, 14, together=7)


def test_few_ports_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.free_ports(tmp_path) == -1
    system, tables = tmp_path / "sys/net/ipv4", tmp_path / "net"
    system.mkdir(parents=True)
    tables.mkdir()
    (system / "ip_local_port_range").write_text("40000\t40004\n")
    line = "   0: 0100007F:{:04X} 00000000:0000 {} 00000000:00000000 00:00000000\n"
    held = line.format(40000, "01") + line.format(40003, "0A") + line.format(80, "0A")
    (tables / "tcp").write_text("  sl  local_address\n" + held + line.format(40004, "06"))
    (tables / "tcp6").write_text("  sl  local_address\n" + line.format(40003, "0A"))
    assert room.free_ports(tmp_path) == 3  # two are used, and one only waits
    monkeypatch.setattr(room, "free_ports", lambda: 3)
    room.require(3, 3)
    room.require(4, 4, ipc=True)
    with pytest.raises(PosseError, match="2 agents need 4 local ports, and 3 are allowed here"):
        room.require(2, 2, links=(1, 1))


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
