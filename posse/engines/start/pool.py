"""Independent runs on all cores of this machine."""

import ast
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, current_process, get_context, parent_process
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import TypeVar

from posse.engines.start.room import cores
from posse.errors import InputError, PosseError, RunFailed
from posse.gates import code, files

A = TypeVar("A")
B = TypeVar("B")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
_AHEAD = 2
"""Items handed out per worker: the one in progress, and the next so that it need not wait."""


def on_all_cores(
    work: Callable[[A], B], items: Sequence[A], jobs: int | None = None
) -> Iterator[tuple[int, B | PosseError]]:
    """Each outcome of `work(item)` as it ends, with the item's place; a failure stops no other.

    `jobs` new processes do the work (default: one per core that this process may use), or this one
    if one is enough, or if it is itself a worker of a `multiprocessing.Pool`, which must not start
    others.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs}: must be 1 or more, or None for one per core")
    workers = min(jobs or cores(), len(items))
    if workers <= 1 or current_process().daemon:
        for place, item in enumerate(items):
            yield place, outcome(work, item)
        return
    if not is_main_importable():
        raise InputError(
            f"jobs = {workers}: other processes must import the script that starts them, and this "
            "one has no file (standard input?); write it to a file, or use jobs = 1"
        )
    if line := unguarded():
        raise InputError(
            f"jobs = {workers}: each process imports {line[0]}, whose line {line[1]} starts runs "
            "again; put it below `if __name__ == '__main__':`, or use jobs = 1"
        )
    before = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), begin_worker, (code.trusted(),))
    pending = iter(enumerate(items))
    places: dict[Future[B | PosseError], int] = {}
    # not `concurrent.futures.wait`, whose locks an interrupt may leave held
    ended: SimpleQueue[Future[B | PosseError]] = SimpleQueue()
    with pool:
        try:
            while True:
                for place, item in islice(pending, _AHEAD * workers - len(places)):
                    with _one_thread():
                        future = pool.submit(outcome, work, item)
                    places[future] = place
                    future.add_done_callback(ended.put)
                if not places:
                    return
                future = ended.get()
                yield places.pop(future), future.result()
        except BrokenProcessPool:
            raise RunFailed(
                "a process that carried out runs ended: memory ran out (use fewer --jobs), or a "
                "script starts its runs outside `if __name__ == '__main__':`"
            ) from None
        except BaseException:
            # no future is cancelled: the pool fails loudly over work both cancelled and lost
            for child in set(active_children()) - before:
                child.terminate()
            # a terminated worker may leave half an answer; the pool would wait for the rest as long
            # as any process, even this one, holds the writing end
            pool._result_queue._writer.close()  # type: ignore[attr-defined]
            raise


def is_main_importable() -> bool:
    """Whether new processes can import `__main__`, as `multiprocessing` makes them do.

    It makes them import nothing where `__main__` has no file at all, as in a notebook.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    return file is None or main.__spec__ is not None or os.path.exists(file)


def unguarded() -> tuple[str, int] | None:
    """File and line of the script's running statement, if importing the script would run it too.

    Only a statement at the top of the script counts, outside any `if` about `__name__`.
    """
    main = sys.modules["__main__"]
    frame: FrameType | None = sys._getframe()
    while frame is not None and (frame.f_globals is not vars(main) or frame.f_back is not None):
        frame = frame.f_back
    if frame is None or main.__spec__ is not None or frame.f_code.co_name != "<module>":
        return None
    try:
        statements = ast.parse(files.read(Path(frame.f_code.co_filename))).body
    except (OSError, SyntaxError, ValueError):
        return None
    for statement in statements:
        if statement.lineno <= frame.f_lineno <= (statement.end_lineno or 0):
            guard = isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)
            return None if guard else (frame.f_code.co_filename, frame.f_lineno)
    return None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start meanwhile use one thread each, because together they take all cores."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def outcome(work: Callable[[A], B], item: A) -> B | PosseError:
    """What `work(item)` returns, or the `PosseError` that it raises."""
    try:
        return work(item)
    except PosseError as error:
        return error


def begin_worker(trust: str) -> None:
    """Leave signals of keyboard and terminal to the parent, and end when it ends.

    `trust` is the parent's `posse.gates.code.trusted`.
    """
    code.trust(trust)
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
