"""Independent runs on all cores of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from queue import SimpleQueue
from typing import TypeVar

from posse.errors import PosseError, RunFailed

A = TypeVar("A")
B = TypeVar("B")

_AHEAD = 2
"""Items handed out for each worker: one that it is at, and one so that it need not wait."""


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
    before = set(active_children())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)
    left = iter(enumerate(items))
    places: dict[Future[B | PosseError], int] = {}
    # not `wait`, whose locks an interrupt may leave closed
    ended: SimpleQueue[Future[B | PosseError]] = SimpleQueue()
    with pool:
        try:
            while True:
                for place, item in islice(left, _AHEAD * workers - len(places)):
                    future = pool.submit(outcome, work, item)
                    places[future] = place
                    future.add_done_callback(ended.put)
                if not places:
                    return
                future = ended.get()
                yield places.pop(future), future.result()
        except BrokenProcessPool:
            raise RunFailed(
                "a process that carried out runs ended: memory was short (give fewer --jobs), or a "
                "script's own runs are not under `if __name__ == '__main__':`"
            ) from None
        except BaseException:
            # nothing is cancelled: the pool fails loudly over work that is both cancelled and lost
            for child in set(active_children()) - before:
                child.terminate()
            # who was in the middle of an answer never ends it: the pool waits for the rest of it
            # for as long as anybody, and be it this process, may write
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
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
