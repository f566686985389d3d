"""Real `dask scheduler` and `dask worker` processes."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.remote import PATIENCE

Host = tuple[str, Sequence[str]]
"""An address, and what is put before a command to be on that host."""

HERE: Host = ("127.0.0.1", ())


class DaskCluster:
    """A scheduler and its workers; `on` is where the scheduler is, as posse has it."""

    def __init__(self, folder: Path, hosts: Sequence[Host]) -> None:
        self._folder = folder
        self._scheduler_file = folder / "scheduler.json"
        self._processes = ExitStack()
        self.workers: list[subprocess.Popen[bytes]] = []
        address, before = hosts[0]
        self._start(
            before,
            *("scheduler", "--host", address, "--port", "0", "--no-dashboard", "--no-show"),
            *("--scheduler-file", str(self._scheduler_file)),
        )
        self._until(self._scheduler_file.exists, "no scheduler came up")
        self.address = json.loads(self._scheduler_file.read_text())["address"]
        self.on = self.address.replace("tcp://", "dask://")
        for address, before in hosts:
            self.workers.append(self.add(address, before))

    def add(self, address: str, before: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
        """One more worker, of one thread; it comes by itself."""
        return self._start(
            before,
            *("worker", self.address, "--host", address, "--nthreads", "1", "--no-nanny"),
            *("--no-dashboard", "--local-directory", str(self._folder)),
        )

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many are known to the scheduler."""
        self._until(lambda: self.said.count("Registered to:") >= count, f"no {count} workers")

    def close(self) -> None:
        self._processes.close()

    def _start(self, before: Sequence[str], verb: str, *options: str) -> "subprocess.Popen[bytes]":
        log = (self._folder / "dask.log").open("ab")
        process = subprocess.Popen(
            [*before, sys.executable, "-P", "-m", "dask", verb, *options],
            stderr=log,
            stdout=log,
            env={**os.environ, "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false"},
        )
        log.close()
        self._processes.callback(_end, process)
        return process

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, f"{what}: {self.said}"
            time.sleep(0.02)

    @property
    def said(self) -> str:
        """What all of them logged."""
        return (self._folder / "dask.log").read_text()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def dask_cluster(hosts: Sequence[Host] = (HERE, HERE)) -> Iterator[DaskCluster]:
    """A scheduler on the first of these hosts and a worker on each."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    with tempfile.TemporaryDirectory() as folder:
        cluster = None
        try:
            cluster = DaskCluster(Path(folder), hosts)
            yield cluster
        finally:
            if cluster is not None:
                cluster.close()
