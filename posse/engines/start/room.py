"""What this machine gives us, and whether a run's processes have room, before any is started.

libzmq ends a process that is out of descriptors or threads, and the system ends one that is out of
memory. Neither says what to do.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from posse.errors import PosseError, SpecError
from posse.gates import files, owners
from posse.gates.files import RESERVE
from posse.wire.lookup import MORE_PORTS

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

_THREADS = 4
"""Threads of a process: its own, ZeroMQ's two, and that of the leash; companions have one each."""

_OURS = 4
"""Threads of the coordinator's, ZeroMQ's two and the one that ends it, and the fork server."""

_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")

_TIME_WAIT = "06"
"""The state of a connection that is over, whose port may be used (include/net/tcp_states.h)."""

FEW_TASKS = "this machine or container permits no more threads and processes"
RAISE_TASKS = "raise that (the container's pids limit, ulimit -u, systemd's TasksMax)"


def is_short_of_tasks(error: BaseException) -> bool:
    """Whether the system refused a thread or a process: Python tells of a thread by its text."""
    thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    return thread or (isinstance(error, OSError) and error.errno == errno.EAGAIN)


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

    `together` share a process; `links` are the neighbours that each has, if any. Raises the
    limit of open files as far as allowed, but for those that are for files alone: strangers'
    connections may take all others.
    """
    import resource  # noqa: PLC0415  (Windows has none)

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = -(-spawn // together)
    threads = _THREADS * processes + (spawn if together > 1 else 0) + _OURS
    reserve = RESERVE if hard >= _ENOUGH else 0
    if soft != hard - reserve:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard - reserve, hard))
    agent, link = _IN_MESHES[ipc]
    near = links[:spawn]
    shares = [near[start : start + together] for start in range(0, len(near), together)]
    of_agents = [agent * len(share) + link * sum(share) + _SHARED for share in shares]
    files = max([(_PER_AGENT - ipc) * agents + _BESIDES, *of_agents])
    needs = (
        ("open files in one process", files + reserve, hard, "raise that (ulimit -Hn)"),
        ("threads and processes", threads, free_tasks(), RAISE_TASKS),
        ("local ports", 0 if ipc else spawn * (2 if links else 1), free_ports(), MORE_PORTS),
    )
    for what, needed, allowed, way in needs:
        if 0 <= allowed < needed:
            raise PosseError(
                f"{agents} agents need {needed:,} {what}, and {allowed:,} are allowed here; {way}, "
                "use fewer agents, or run in memory: --engine memory"
            )
    free = free_memory()
    needed = _MEMORY * processes + (_OF_AN_AGENT * spawn if together > 1 else 0)
    if free is not None and needed > free:
        raise PosseError(
            f"{spawn} agents need at least {needed >> 20:,} MB of memory, and "
            f"{free >> 20:,} MB are free here; use fewer agents, or run in memory: --engine memory"
        )


def free_memory(proc: Path = _PROC, cgroup: Path = _CGROUP) -> int | None:
    """Free memory in bytes, the least of machine and control groups; None where none tells."""
    limits = [_available(proc / "meminfo")]
    for folder in _groups("memory", proc, cgroup):
        left = _left(folder, "memory.max", "memory.current")
        if left is not None:  # files that were read count as used, and give way
            left += _numbers(folder / "memory.stat").get("inactive_file", 0)
        limits.append(left)
    return min((free for free in limits if free is not None), default=None)


def free_tasks(proc: Path = _PROC, cgroup: Path = _CGROUP) -> int:
    """How many threads this process may still start, with its processes; -1 without a limit."""
    limits = [_left(group, "pids.max", "pids.current") for group in _groups("pids", proc, cgroup)]
    limits.append(_of_user(proc))
    return min((free for free in limits if free is not None), default=-1)


def free_ports(proc: Path = _PROC) -> int:
    """How many ports the system may still choose for connections and inboxes; -1 if unknown."""
    try:
        span = files.text(proc / "sys" / "net" / "ipv4" / "ip_local_port_range").split()
        first, last = map(int, span)
        used = set()
        for table in ("tcp", "tcp6"):
            for line in files.text(proc / "net" / table).splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state != _TIME_WAIT:
                    used.add(int(local.rpartition(":")[2], 16))
    except (OSError, ValueError):
        return -1
    return last + 1 - first - sum(first <= port <= last for port in used)


def cores(proc: Path = _PROC, cgroup: Path = _CGROUP) -> int:
    """How many cores this process may use: its affinity, and its control groups' quotas."""
    has_affinity = hasattr(os, "sched_getaffinity")
    number = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    for folder in _groups("cpu", proc, cgroup):
        names = ("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        for of_limit in names:
            try:
                quota, period = " ".join(files.text(folder / name) for name in of_limit).split()
                if int(quota) > 0:
                    number = min(number, int(quota) // int(period))
            except (OSError, ValueError):  # no such file, or "max"
                continue
    return max(number, 1)


def _groups(controller: str, proc: Path, cgroup: Path) -> Iterator[Path]:
    """The folders of this process's control groups, inner ones first, as far as they are seen."""
    yield cgroup
    try:
        lines = files.text(proc / "self" / "cgroup").splitlines()
    except OSError:
        return
    for _, names, path in (line.split(":", 2) for line in lines):
        if names and controller not in names.split(","):
            continue
        top = cgroup / names if names else cgroup
        within = top / path.lstrip("/")
        yield from (folder for folder in (within, *within.parents) if folder.is_relative_to(top))


def _of_user(proc: Path) -> int | None:
    """How many threads this user may still start; None without a limit, as for root."""
    import resource  # noqa: PLC0415  (Windows has none)

    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if most < 0 or owners.is_root():
        return None
    used = 0
    for process in proc.glob("[0-9]*"):
        try:
            if owners.is_own(process.stat()):
                used += len(os.listdir(process / "task"))
        except OSError:  # it ended
            continue
    return max(most - used, 0)


def _numbers(path: Path) -> dict[str, int]:
    """The numbers of a file of lines "NAME NUMBER"; none if it cannot be read."""
    try:
        return {name: int(n) for name, n in map(str.split, files.text(path).splitlines())}
    except (OSError, ValueError):
        return {}


def _available(meminfo: Path) -> int | None:
    try:
        rows = dict(row.split(":") for row in files.text(meminfo).splitlines() if ":" in row)
        return int(rows["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return None


def _left(cgroup: Path, most: str, now: str) -> int | None:
    """What remains of a control group's limit; None without a limit ("max")."""
    try:
        free = int(files.text(cgroup / most)) - int(files.text(cgroup / now))
    except (OSError, ValueError):
        return None
    return max(free, 0)
