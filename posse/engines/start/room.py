"""Checks that this machine can have a run's processes, before any of them is started.

libzmq ends a process that is out of descriptors, and the system ends one that is out of memory.
Neither says what to do.
"""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from posse.errors import PosseError, SpecError
from posse.gates.files import RESERVE

_PER_AGENT = 2
"""Descriptors that the coordinator needs for an agent: ZeroMQ's and, but for ipc, the door's."""

_BESIDES = 24
"""Other descriptors of a process."""

_IN_MESHES = {False: (19, 4), True: (5, 2)}
"""Descriptors of an agent with neighbours, and for each neighbour; the second ones over ipc."""

_SHARED = 12
"""Descriptors of a process of such agents that no agent has for itself."""

_MEMORY = 2 << 20
"""The least memory that a process of agents shares with no other, in bytes."""

_OF_AN_AGENT = 192 << 10
"""The least memory of an agent that shares its process with others, in bytes."""

_ENOUGH = 512
"""Least limit of open files of which some are kept for files alone."""

_THREADS = 3
"""Threads of a process, its own and ZeroMQ's two; companions have one each."""

_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")


def require_processes() -> None:
    """`SpecError` on a platform without `fork` and the modules that go with it."""
    if not hasattr(os, "fork") or not all(map(find_spec, ("fcntl", "resource"))):
        raise SpecError(
            "engine.kind",
            "agents as processes need Linux (os.fork, fcntl, resource); run in memory here: "
            "--engine memory",
        )


def require(
    agents: int, spawn: int, together: int = 1, *, ipc: bool = False, links: Sequence[int] = ()
) -> None:
    """`PosseError` if there is no room for `agents`, `spawn` of them on this machine.

    So many `together` share a process; `links` are the neighbours that each has, if any. Raises the
    limit of open files as far as allowed, but for those that are for files alone: strangers'
    connections may take all others.
    """
    import resource  # noqa: PLC0415  (Windows has none)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = -(-spawn // together)
    threads = _THREADS * processes + (spawn if together > 1 else 0)
    reserve = RESERVE if hard >= _ENOUGH else 0
    if soft != hard - reserve:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard - reserve, hard))
    agent, link = _IN_MESHES[ipc]
    near = links[:spawn]
    shares = [near[start : start + together] for start in range(0, len(near), together)]
    of_agents = [agent * len(share) + link * sum(share) + _SHARED for share in shares]
    files = max([(_PER_AGENT - ipc) * agents + _BESIDES, *of_agents])
    needs = (
        ("open files in one process", files + reserve, hard, "ulimit -Hn"),
        ("threads and processes", threads, free_tasks(), "the container's pids limit"),
    )
    for what, needed, allowed, limit in needs:
        if 0 <= allowed < needed:
            raise PosseError(
                f"{agents} agents need {needed:,} {what}, and {allowed:,} are allowed here; raise "
                f"that ({limit}), use fewer agents, or run in memory: --engine memory"
            )
    free = free_memory()
    needed = _MEMORY * processes + (_OF_AN_AGENT * spawn if together > 1 else 0)
    if free is not None and needed > free:
        raise PosseError(
            f"{spawn} agents need at least {needed >> 20:,} MB of memory, and "
            f"{free >> 20:,} MB are free here; use fewer agents, or run in memory: --engine memory"
        )


def free_memory(proc: Path = _PROC, cgroup: Path = _CGROUP) -> int | None:
    """Free memory in bytes, the lesser of machine and container; None where neither tells."""
    left = _left(cgroup, "memory.max", "memory.current")
    if left is not None:  # files that were read count as used, and give way
        left += _numbers(cgroup / "memory.stat").get("inactive_file", 0)
    limits = [_available(proc / "meminfo"), left]
    return min((free for free in limits if free is not None), default=None)


def free_tasks(cgroup: Path = _CGROUP) -> int:
    """How many threads may still be started in this container; -1 where there is no limit."""
    free = _left(cgroup, "pids.max", "pids.current")
    return -1 if free is None else free


def _numbers(path: Path) -> dict[str, int]:
    """The numbers of a file of lines "NAME NUMBER"; none if it cannot be read."""
    try:
        return {name: int(n) for name, n in map(str.split, path.read_text().splitlines())}
    except (OSError, ValueError):
        return {}


def _available(meminfo: Path) -> int | None:
    try:
        rows = dict(row.split(":") for row in meminfo.read_text().splitlines() if ":" in row)
        return int(rows["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return None


def _left(cgroup: Path, most: str, now: str) -> int | None:
    """What remains of a control group's limit; None without a limit ("max")."""
    try:
        free = int((cgroup / most).read_text()) - int((cgroup / now).read_text())
    except (OSError, ValueError):
        return None
    return max(free, 0)
