"""What all tests share: nothing that a test starts may outlive it."""

import logging
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of single tests."""
    parser.addoption("--golden", action="store_true", help="fill in missing golden hashes")
    parser.addoption(
        "--chaos",
        type=int,
        default=0,
        metavar="MOMENTS",
        help="every family through every fault, and each killed at so many moments",
    )
    parser.addoption("--fuzz", default=0, help="hostile frames of tests/hosts/test_fuzz.py")


CHAOS = ("fault", "where", "system", "recovered after", "sent again")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What was done to what, and what came of it, in a table (`--chaos`)."""
    if not config.getoption("--chaos"):
        return
    rows = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            said = dict(report.user_properties)
            if "fault" in said:
                result = "as undisturbed" if outcome == "passed" else "FAILED"
                rows.append([*(str(said.get(column, "")) for column in CHAOS), result])
    _write(terminalreporter, [[*CHAOS, "result"], *rows])
    right = sum(row[-1] == "as undisturbed" for row in rows)
    again = sum(int(row[4] or 0) for row in rows)
    terminalreporter.write_line(
        f"{right} of {len(rows)} runs ended as if undisturbed; {again} frames were sent again"
    )

    reports = [one for of in terminalreporter.stats.values() for one in of if hasattr(one, "when")]
    took: Counter[str] = Counter()
    for one in reports:
        took[one.location[0]] += one.duration
    calls = [one for one in reports if one.when == "call"]
    _write(
        terminalreporter,
        [["part", "tests", "failed", "seconds"]]
        + [
            [part, str(len(of)), str(sum(one.failed for one in of)), f"{seconds:.0f}"]
            for part, seconds in took.items()
            if (of := [one for one in calls if one.location[0] == part])
        ],
    )


def _write(terminalreporter: Any, table: list[list[str]]) -> None:
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line(line.rstrip())


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
