"""Work on all cores: each outcome as it ends, failures among them, and nobody left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.engines.start import pool
from posse.engines.start.pool import on_all_cores
from posse.errors import ArmsError, InputError, RunFailed, SpecError


def square(number: int) -> int:
    if number == 3:
        raise SpecError("parameters.epsilon", "is 3")
    if number == 4:
        raise ArmsError("arm 0 burns")
    return number**2


def slow_first(number: int) -> int:
    """The first waits until the last is done: nobody is held up by it."""
    if number == 0:
        time.sleep(0.5)
    return number


def large(number: int) -> bytes:
    """More than a pipe holds: it is written while it is read."""
    return bytes(1 << 24)


class Asked(list[int]):
    """Numbers, and how many of them were asked for."""

    asked = 0

    def __iter__(self) -> Iterator[int]:
        for number in super().__iter__():
            self.asked += 1
            yield number


def die(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_one_outcome_among_others(jobs: int) -> None:
    found = dict(on_all_cores(square, range(6), jobs))
    assert [found[n] for n in (0, 1, 2, 5)] == [0, 1, 4, 25]
    assert isinstance(found[3], SpecError)
    assert str(found[3]) == "parameters.epsilon: is 3"
    assert (type(found[4]), str(found[4])) == (ArmsError, "arm 0 burns")


def test_all_of_many_are_told_and_what_ends_first_is_first() -> None:
    told = list(on_all_cores(slow_first, range(50), 2))
    assert sorted(told) == [(n, n) for n in range(50)]
    assert told[0] != (0, 0)


def test_a_killed_worker_is_said() -> None:
    with pytest.raises(RunFailed, match="a process that carried out runs ended: memory ran out"):
        list(on_all_cores(die, range(4), 2))


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from math import sqrt\n"
        "from posse.engines.start.pool import on_all_cores\n"
        "print(list(on_all_cores(sqrt, [1, 4], 2)))\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    said = f"InputError: jobs = 2: each process imports {script}, whose line 3 starts runs again; "
    assert said in ended.stderr
    assert ended.stderr.count("Traceback") == 1  # no process was started
    lines = script.read_text().splitlines()
    script.write_text("\n".join([*lines[:2], "if __name__ == '__main__':", f"    {lines[2]}"]))
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ended.stdout == "[(0, 1.0), (1, 2.0)]\n", ended.stderr


def test_who_stops_listening_leaves_nobody_and_does_not_wait_for_half_an_answer() -> None:
    told = on_all_cores(large, range(100), 2)
    next(told)
    told.close()  # type: ignore[attr-defined]


def test_no_more_is_handed_out_than_keeps_all_busy() -> None:
    items = Asked(range(1000))
    told = on_all_cores(slow_first, items, 2)
    next(told)
    told.close()  # type: ignore[attr-defined]
    assert items.asked < 10


def _squares_in_a_daemon(pipe: Connection) -> None:
    pipe.send(sorted(on_all_cores(abs, [-1, -2, -3], 2)))


def test_a_worker_of_a_pool_does_the_work_itself() -> None:
    """`multiprocessing` lets daemonic processes start no others."""
    ours, theirs = Pipe()
    worker = get_context("spawn").Process(target=_squares_in_a_daemon, args=(theirs,), daemon=True)
    worker.start()
    assert ours.recv() == [(0, 1), (1, 2), (2, 3)]
    worker.join()


def test_a_script_from_standard_input_is_refused_before_any_process_starts() -> None:
    script = (
        "from posse.engines.start.pool import on_all_cores\nlist(on_all_cores(abs, [1, 4], 2))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1] == (
        "posse.errors.InputError: jobs = 2: other processes must import the script that starts "
        "them, and this one has no file (standard input?); write it to a file, or use jobs = 1"
    )


def threads(number: int) -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


def test_only_the_workers_are_kept_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = dict(os.environ)
    assert {count for _, count in on_all_cores(threads, range(4), 2)} == {"1"}
    assert dict(os.environ) == before


@given(st.integers(max_value=0))
def test_fewer_than_one_job_is_refused(jobs: int) -> None:
    with pytest.raises(InputError, match=f"jobs = {jobs}: must be 1 or more"):
        next(on_all_cores(abs, [1, 2], jobs))


def test_no_more_workers_start_than_cores_are_allotted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one no process is started, so that even what cannot be sent to another is done."""
    monkeypatch.setattr(pool, "cores", lambda: 1)
    assert [*on_all_cores(lambda item: item + 1, [1, 2])] == [(0, 2), (1, 3)]
