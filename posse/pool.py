"""Independent runs on all cores of this machine."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
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
    pool = ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
    with pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(active_children()) - ours:
                child.terminate()
            raise
