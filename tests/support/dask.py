"""Real `dask scheduler` and `dask worker` processes."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.patience import PATIENCE

Host = tuple[str, Sequence[str]]
"""An address, and what is put before a command to be on that host."""

HERE: Host = ("127.0.0.1", ())


class DaskCluster:
    """A scheduler and its workers; `on` is where the scheduler is, as posse has it."""

    def __init__(self, folder: Path, hosts: Sequence[Host], processes: ExitStack) -> None:
        self._log = folder / "dask.log"
        self._processes = processes
        written = folder / "scheduler.json"
        address, before = hosts[0]
        self._start(
            before,
            *("scheduler", "--host", address, "--port", "0", "--no-dashboard", "--no-show"),
            *("--scheduler-file", str(written)),
        )
        self._until(lambda: written.exists() and "}" in written.read_text(), "no scheduler")
        scheduler = json.loads(written.read_text())["address"]
        self.on = scheduler.replace("tcp://", "dask://")
        self.workers = [
            self._start(
                before,
                *("worker", scheduler, "--host", address, "--nthreads", "1", "--no-nanny"),
                *("--no-dashboard", "--local-directory", str(folder)),
            )
            for address, before in hosts
        ]
        here = len(hosts)
        self._until(lambda: self._said().count("Registered to:") >= here, f"no {here} workers")

    def _start(self, before: Sequence[str], verb: str, *options: str) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [*before, sys.executable, "-P", "-m", "dask", verb, *options],
                stderr=log,
                stdout=log,
            )
        self._processes.callback(_end, process)
        return process

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, f"{what}: {self._said()}"
            time.sleep(0.02)

    def _said(self) -> str:
        return self._log.read_text()


def kill_with_children(pid: int) -> None:
    """Kill a process, and wait until what it started has left for it."""
    process = psutil.Process(pid)
    family = process.children(recursive=True)
    process.kill()
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert not alive, alive


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()  # told to end, a worker may wait for ever for a task of its own
    process.wait()


@contextmanager
def dask_cluster(hosts: Sequence[Host] = (HERE, HERE)) -> Iterator[DaskCluster]:
    """A scheduler on the first of these hosts and a worker on each."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        yield DaskCluster(Path(folder), hosts, processes)
