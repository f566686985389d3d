"""Independent runs on all cores of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from typing import TypeVar

from posse.errors import PosseError, RunFailed

A = TypeVar("A")
B = TypeVar("B")


def on_all_cores(
    work: Callable[[A], B], items: Sequence[A], jobs: int | None = None
) -> Iterator[tuple[int, B | PosseError]]:
    """What comes of `work(item)` as it ends, with the item's place; one failure ends no other.

    By `jobs` fresh processes (default: one per core), or in this one if that is enough.
    """
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers <= 1:
        for place, item in enumerate(items):
            yield place, outcome(work, item)
        return
    # every run has one thread: the cores are taken by the runs
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    ours = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)
    with pool:
        try:
            # not `map`, which cancels what is left when it is interrupted: the pool then fails
            # loudly over work that is both cancelled and lost
            places = {pool.submit(outcome, work, item): n for n, item in enumerate(items)}
            for future in as_completed(places):
                yield places.pop(future), future.result()
        except BrokenProcessPool:
            raise RunFailed(
                "a process that carried out runs was killed; if memory was short, give fewer --jobs"
            ) from None
        except BaseException:
            for child in set(active_children()) - ours:
                child.terminate()
            raise


def outcome(work: Callable[[A], B], item: A) -> B | PosseError:
    """What comes of `work(item)`: what it gives, or what it says it cannot do."""
    try:
        return work(item)
    except PosseError as error:
        return error


def _begin() -> None:
    """A worker leaves keyboard and terminal to its parent, and does not outlive it."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
