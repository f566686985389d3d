"""What all tests share: nothing that a test starts may outlive it."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, settings

from posse.log import LOG
from tests.support.own_code import forget_own_code

PROBLEM_1 = [0.7, 0.5, 0.3] + [0.1] * 7
"""Problem 1 of Rio et al. 2023."""

# the same examples each time: a test that fails one day in ten keeps all work from landing;
# to search further: pytest --hypothesis-profile=search
TIMELESS: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""How long an example takes is the machine's business."""
settings.register_profile("fixed", derandomize=True, max_examples=40, **TIMELESS)
settings.register_profile("search", max_examples=5_000, **TIMELESS)
settings.load_profile("fixed")


@pytest.fixture(autouse=True, scope="session")
def own_temporary_folder() -> Iterator[None]:
    """Other posses on this machine must not be mistaken for a test's; no width is given."""
    with (
        tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        patch.delenv("COLUMNS", raising=False)  # xdist sets it in its workers
        yield


@pytest.fixture(autouse=True, scope="session")
def one_worker_by_default() -> Iterator[None]:
    """A worker imports all of posse: runs are made here, where a test does not say `jobs`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: 1)
        yield


def _children() -> set[int]:
    # Python's own, started with the first spawned process, stays until we end
    tracker = getattr(resource_tracker._resource_tracker, "_pid", None)
    if _direct() <= {tracker}:
        return set()
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if "resource_tracker" not in str(_command(child))}


def _direct() -> set[int]:
    """Our children by the kernel's list: psutil looks at every process of the machine for them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return {child.pid for child in psutil.Process().children()}
    pids: set[int] = set()
    for task in tasks.iterdir():
        with suppress(OSError):  # a thread that ended
            pids.update(map(int, (task / "children").read_text().split()))
    return pids


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("posse-*"))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process and no socket folder is left behind by a test."""
    children, folders = _children(), _folders()
    yield
    assert _children() <= children
    assert _folders() <= folders


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts commands of posse as processes of their own, which are killed when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start_one(*words: object, **options: Any) -> "subprocess.Popen[str]":
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        command = [sys.executable, "-P", "-m", "posse", *map(str, words)]
        started.append(subprocess.Popen(command, **given))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of single tests."""
    parser.addoption("--golden", action="store_true", help="fill in missing golden hashes")
    parser.addoption("--fuzz", default=0, help="hostile frames of tests/hosts/test_fuzz.py")


def pytest_configure() -> None:
    """Commands under test hear Ctrl-C also where the suite runs under `nohup` or behind `&`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """What a command says of its log is its own: the next test's is caught as any other's."""
    yield
    LOG.handlers, LOG.propagate = [], True
    LOG.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    """What a command does about signals ends with it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _own_code_of_one_test() -> Iterator[None]:
    """A process keeps one module of each name: after a test its users' modules are forgotten."""
    yield
    forget_own_code()
