"""A coordinator and agents that are commands of their own, as on as many machines."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.durable.frames import COORDINATOR, Frame, Reader
from posse.errors import InputError, PosseError, RunFailed
from posse.gates import files
from posse.plan import Plan, Source, changed
from posse.protocol.machine import peer_name
from posse.results.result import Result
from posse.spec.runfile import RunSpec
from posse.testing.controlled import Controlled, tell
from posse.wire.relay import Relays

_LOOK = 0.02
_ENDS_WITHIN = 20.0
"""Seconds for a member to leave when it is told to; then it is killed."""


class HostedCluster(Controlled):
    """`posse coordinator` and one `posse agent` a rank, each a process in a folder of its own.

        async with HostedCluster("run.toml") as cluster:
            run = asyncio.create_task(cluster.run())
            await cluster.wait_for(20)
            cluster.kill(COORDINATOR)
            await cluster.restart(COORDINATOR)
            result = await run

    Unlike a `ControlledCluster`'s, its coordinator can be killed, and nobody starts a killed member
    again but `restart`, which resumes where its journal ends. Runs are durable, in mode `lab`, and
    made once. Links between an agent and the coordinator have faults; those between agents have
    none.
    """

    def __init__(self, source: Source) -> None:
        self._plan: Plan = changed(
            source, {"engine.kind": "processes", "engine.durable": True, "engine.transport": "tcp"}
        )
        if self._plan.field or self._plan.spec.network is not None:
            raise InputError(
                "a HostedCluster needs mode = 'lab', and no [network] (its links' faults are the "
                "test's)"
            )
        self._opened = contextlib.ExitStack()
        self._members: dict[int, subprocess.Popen[bytes]] = {}
        self._readers: dict[Path, Reader] = {}
        self._sent: dict[tuple[Any, ...], int] = {}
        self._seen: list[Frame] = []
        self._begin = time.time_ns()
        self._up = False

    @property
    def spec(self) -> RunSpec:
        """The specification that is run."""
        return self._plan.spec

    def linked(self, a: int, b: int) -> bool:
        """No link between agents can be cut here."""
        return False

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each member that is up, by rank; the coordinator's by `COORDINATOR`."""
        return {rank: member.pid for rank, member in self._members.items() if member.poll() is None}

    async def __aenter__(self) -> Self:
        opened = self._opened
        self._folder = Path(opened.enter_context(files.temporary("posse-hosts-", surely=False)))
        self._file = RunDirectory(self._folder / "spec", self._plan).open().path / SPECIFICATION
        self._relays = Relays()
        opened.callback(self._relays.close)
        self._endpoint = f"tcp://127.0.0.1:{free_port()}"
        self._up = True
        opened.callback(self._stop)
        for rank in range(COORDINATOR, self.spec.agents.count):
            self._start(rank)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._look()
        self._up = False
        await asyncio.to_thread(self._opened.close)

    async def run(self) -> Result:
        """Wait for the end of all runs; `RunFailed` with the coordinator's last words otherwise.

        While the coordinator is down, this waits until somebody restarts it.
        """
        self._require_processes()
        while (code := self._members[COORDINATOR].poll()) is None or code < 0:
            await asyncio.sleep(_LOOK)
        if code:
            self._failure = RunFailed(self.log(COORDINATOR).strip().rsplit("\n", 1)[-1])
            raise self._failure
        store = RunDirectory(self._folder / str(COORDINATOR) / "out", self._plan).store
        records = [store.kept(str(number)) for number in range(self.spec.repeat)]
        return self._plan.result([record for record in records if record is not None])

    async def restart(self, rank: int) -> None:
        """Kill a member's process, if it is up, and start the same command in the same folder."""
        self._require_end(rank)
        if rank in self.pids:
            self.kill(rank)
        await asyncio.to_thread(self._members[rank].wait)
        self._start(rank)

    def log(self, rank: int) -> str:
        """What a member said so far on its standard error."""
        return files.read(self._folder / str(rank) / "log").decode(errors="replace")

    def logs(self) -> dict[str, str]:
        return {peer_name(rank): self.log(rank) for rank in self._members}

    def _start(self, rank: int) -> None:
        folder = self._folder / str(rank)
        files.make_folder(folder)
        if rank == COORDINATOR:
            asked = ["coordinator", str(self._file), "--bind", self._endpoint, "--out", "out"]
        else:
            endpoint = self._relays.way(rank, COORDINATOR, self._endpoint)
            asked = ["agent", "--join", endpoint, "--rank", str(rank), "--run", str(self._file)]
        # a command that has nothing to resume begins its capture anew
        capture = f"frames-{len(list(folder.glob('frames-*')))}"
        command = [sys.executable, "-P", "-m", "posse", *asked, "--capture", capture, "--quiet"]
        with os.fdopen(files.append(folder / "log"), "ab") as log:
            self._members[rank] = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _stop(self) -> None:
        for pid in self.pids.values():
            tell(pid, signal.SIGTERM)
            tell(pid, signal.SIGCONT)
        until = time.monotonic() + _ENDS_WITHIN
        for member in self._members.values():
            try:
                member.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                member.kill()
                member.wait()

    def _look(self) -> Sequence[Frame]:
        """All frames so far, of all members, in the order of this machine's clock."""
        if self._up:
            for path in self._folder.glob("*/frames-*"):
                if path not in self._readers:
                    self._readers[path] = Reader(path, self._begin, self._sent)
            self._seen += [frame for reader in self._readers.values() for frame in reader.new()]
            self._seen.sort(key=lambda frame: frame.time)
        return self._seen

    def _require_processes(self) -> None:
        if not self._up:
            raise PosseError("the cluster is not up; use it inside `async with HostedCluster(…)`")

    def _require_links(self) -> Relays:
        self._require_processes()
        return self._relays

    def _require_end(self, end: int) -> None:
        self._require_processes()
        if end not in self._members:
            raise InputError(f"there is no agent {end}; there are 0 to {len(self._members) - 2}")


def free_port() -> int:
    """A port that nobody has, from below the range out of which outgoing connections take theirs.

    So it stays free until a process that is started binds it, again and again.
    """
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(15_000, 32_000)))
            return int(probe.getsockname()[1])
