"""The state of a series under way: a file in its folder while its command runs, and as text.

The page of a running series, `posse status`, `posse watch --text` and whoever asks a server of
posse for it read this file and nothing else of the run, so they need no part of the process that
makes it.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

import msgspec

from posse.coordinator.host import CoordinatorHost
from posse.gates import files
from posse.gates.decode import Undecodable, from_json
from posse.gates.shown import printable
from posse.hosts.status import LIVE, CoordinatorStatus
from posse.measure.numbers import named, number
from posse.plan import Plan
from posse.protocol.log import LogTables
from posse.protocol.message import Plane, kind_name

LATE = 2.0
"""Seconds after which an agent is reported as waited for."""

STALE = 10.0
"""Seconds without a new state after which the command is taken for gone."""

_EVERY = 1.0
"""Seconds between two states."""

_SHARE = 0.005
"""The largest share of a core for looking at the run in its loop, and again for writing it down."""

_MOST_LINKS = 1_000


class RunState(msgspec.Struct, kw_only=True):
    """What the coordinator knows of the run under way.

    - `progress`: what its system says of it; `share`: the share that is done, if known, else 0
    - `finished`, `dismissed`: agents that have ended, and those that were lost, with the reason
    - `messages`: the coordinator's, by kind; in the lab only those that it sent
    - `links`: pairs of neighbours, at most 1,000
    - `regret`: of all agents; None unless they share arms whose means are known
    """

    run: int
    progress: list[str]
    share: float
    finished: list[int]
    dismissed: dict[int, str]
    messages: dict[str, int]
    links: list[tuple[int, int]]
    regret: float | None
    log: LogTables


class LiveState(msgspec.Struct, kw_only=True):
    """The state of a series under way. `run` is None before the first run has begun."""

    title: str
    runs: int
    status: CoordinatorStatus
    run: RunState | None = None

    @property
    def headline(self) -> str:
        """Which run goes on, or how many agents are here before it."""
        if self.run is None or not self.status.running:
            return f"{self.status.arrived} of {self.status.agents} agents are here"
        return f"Run {self.run.run + 1} of {self.runs} is under way"

    def trouble(self) -> Iterator[str]:
        """Sentences about what goes wrong."""
        status, ago = self.status, self.status.heard_seconds_ago
        late = [rank for rank in status.waiting_for if ago.get(rank, LATE) >= LATE]
        if late:
            yield f"waiting for {named(late)} {status.waiting}".rstrip()
        if status.away:
            yield f"connection lost: {named(status.away)}"
        for rank, reason in (self.run.dismissed if self.run is not None else {}).items():
            yield f"agent {rank} is gone: {printable(reason)}"
        if status.restarts:
            again = (f"agent {n} ({k})" for n, k in status.restarts.items())
            yield f"started again: {', '.join(again)}"
        if status.resent:
            yield f"{status.resent} frames were sent again"
        if status.refused:
            refused = (f"{n} {printable(reason)}" for reason, n in status.refused.items())
            yield f"refused: {', '.join(refused)}"

    def lines(self) -> list[str]:
        """The state as lines for a terminal."""
        status, run = self.status, self.run
        joined = f"{status.arrived} of {status.agents} agents here"
        lines = [
            f"{self.title} · {self.headline}",
            " · ".join([joined, *(run.progress if run is not None else ())]),
        ]
        if run is not None:
            if run.regret is not None:
                lines.append(f"regret {number(run.regret)}")
            kinds = [f"{number(n)} {kind}" for kind, n in sorted(run.messages.items())]
            if status.frames:
                kinds.insert(0, f"{number(status.frames)} from agents")
            if kinds:
                lines.append(f"messages: {', '.join(kinds)}")
        return [printable(line) for line in [*lines, *self.trouble()]]


class HasStatus(Protocol):
    """Whatever any thread may ask for its status."""

    def status(self) -> CoordinatorStatus:
        """The newest."""


class LiveFile:
    """Keeps `LIVE` in a folder up to date until it is left, from a thread of its own."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        spec = plan.spec
        agents = spec.agents.count
        status = CoordinatorStatus(agents=agents)
        if spec.engine.kind == "memory":
            status = CoordinatorStatus(agents=agents, arrived=agents, running=True)
        self._status: Callable[[], CoordinatorStatus] = lambda: status
        self._path = folder / LIVE
        self._plan = plan
        self._run: RunState | None = None
        self._look_at = 0.0
        self._over = threading.Event()
        self._writer = threading.Thread(target=self._write, name="live", daemon=True)

    def __enter__(self) -> Self:
        self._writer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._writer.join()
        with suppress(OSError):
            files.remove(self._path)

    def follow(self, hub: HasStatus) -> None:
        """Take which agents are up from this hub from now on."""
        self._status = hub.status

    def observe(self, host: CoordinatorHost) -> None:
        """Look at the run, in its own thread, if it is time."""
        if (now := time.monotonic()) < self._look_at:
            return
        began = time.thread_time()
        self._run = _state_of(host, self._plan)
        self._look_at = now + max(_EVERY, (time.thread_time() - began) / _SHARE)

    def _write(self) -> None:
        """Write the state now and then; what cannot be written is left out: the run matters."""
        spec = self._plan.spec
        pause = _EVERY
        while not self._over.wait(pause):
            began = time.thread_time()
            status = self._status()
            if self._plan.field:  # nobody is told to the millisecond when an agent spoke
                ago = {rank: float(round(s)) for rank, s in status.heard_seconds_ago.items()}
                status = msgspec.structs.replace(status, heard_seconds_ago=ago)
            state = LiveState(
                title=f"{spec.system} ({spec.variant}) · {spec.mode}",
                runs=spec.repeat,
                status=status,
                run=self._run,
            )
            with suppress(OSError):
                files.write(self._path, msgspec.json.encode(state), lasting=False)
            pause = max(_EVERY, (time.thread_time() - began) / _SHARE)


def _state_of(host: CoordinatorHost, plan: Plan) -> RunState:
    standing = host.standing()
    messages: Counter[str] = Counter()
    for _, _, kind, count in host.traffic():
        if kind.plane != Plane.CONTROL:
            messages[kind_name(kind)] += count
    pairs = [(a, b) for a, near in enumerate(host.network.neighbours) for b in near if a < b]
    return RunState(
        run=host.run,
        progress=list(plan.system.results.says(standing)),
        share=standing.share,
        finished=sorted(host.attendance.finished),
        dismissed=dict(host.dismissed),
        messages=dict(messages),
        links=pairs[:: -(-len(pairs) // _MOST_LINKS) or 1],
        regret=host.shared_regret,
        log={table: list(rows) for table, rows in standing.log.items()},
    )


def read_live(folder: Path) -> tuple[LiveState, float] | None:
    """The state of the series that is under way in a folder, and its age in seconds.

    None if none is, or the file is not what posse wrote.
    """
    path = folder / LIVE
    try:
        age = time.time() - path.stat().st_mtime
        return from_json(files.read(path), LiveState), max(age, 0.0)
    except (OSError, Undecodable):
        return None
