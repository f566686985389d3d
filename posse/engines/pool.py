"""Independent runs on all cores of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context, parent_process
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def on_all_cores(
    work: Callable[[A], B], items: Sequence[A], jobs: int | None = None
) -> Iterator[B]:
    """`work(item)` for every item, in order, by `jobs` fresh processes (default: one per core)."""
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers <= 1:
        yield from map(work, items)
        return
    # every run has one thread: the cores are taken by the runs
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    ours = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)
    with pool:
        try:
            # not `map`, which cancels what is left when it is interrupted: the pool then fails
            # loudly over work that is both cancelled and lost
            futures = [pool.submit(work, item) for item in items]
            for future in futures:
                yield future.result()
        except BaseException:
            for child in set(active_children()) - ours:
                child.terminate()
            raise


def _begin() -> None:
    """A worker leaves the keyboard to its parent, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
