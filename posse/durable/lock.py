"""One process at a time writes into a folder."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posse.errors import InputError

LOCK = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold an existing folder; `InputError` if another process holds it.

    The operating system releases it when the process ends, even by a kill. Where it has no such
    locks (Windows) nobody is kept out.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not take(descriptor):
            holder = os.pread(descriptor, 64, 0).decode(errors="replace") or "another process"
            raise InputError(
                f"{folder} is being written by {holder}; wait for it, or name another folder"
            )
        with contextlib.suppress(OSError):  # on a full disk only the holder's name is lost
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def take(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another process has it."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
