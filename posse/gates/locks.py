"""Locks: one process at a time writes into a folder, a ledger or a list of keys.

The operating system releases a lock when its process ends, even by a kill.
"""

import contextlib
import errno
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posse.errors import InputError
from posse.gates import files
from posse.gates.disk import DISK

LOCK = ".lock"

_NONE = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
"""What file systems without locks say: Lustre by default, NFS without lockd, some of FUSE."""

_HOLDER = b"process "
_PAUSE = 0.01


def take(descriptor: int) -> bool | None:
    """Lock an open file until it is closed; False if another process has it.

    None if there are no locks: on Windows, and on some file systems of networks.
    """
    if not DISK.get().locks:
        return None
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise
    return True


def are_there(folder: Path) -> bool:
    """Whether a folder's file system has locks; `OSError` if nothing can be written there."""
    place = folder / ".locks"
    descriptor = files.claim(place)
    try:
        return take(descriptor) is not None
    finally:
        os.close(descriptor)
        files.remove(place)


@contextmanager
def held(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold an existing folder; `InputError` if another process holds it for `patience` seconds.

    Where there are no locks nobody is kept out, and the log says so.
    """
    try:
        descriptor = _open(folder / LOCK)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        until = time.monotonic() + patience
        while (taken := take(descriptor)) is False and time.monotonic() < until:
            time.sleep(_PAUSE)
        if taken is False:
            holder = os.pread(descriptor, 64, 0).decode(errors="replace") or "another process"
            raise InputError(
                f"{folder} is being written by {holder}; wait for it, or name another folder"
            )
        if taken is None and os.name == "posix":
            logging.getLogger("posse").warning(
                "%s: its file system has no locks, so nobody keeps another command from writing "
                "there meanwhile",
                folder,
            )
        with contextlib.suppress(OSError):  # on a full disk only the holder's name is lost
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _HOLDER + str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """The lock's own file, made if need be; `OSError` if something else is in its place."""
    # who may look into the folder may read who holds it
    descriptor = files.claim(path, mode=0o600 | path.parent.stat().st_mode & 0o044)
    ours = os.pread(descriptor, len(_HOLDER), 0)
    if ours not in (b"", _HOLDER):
        os.close(descriptor)
        raise OSError(errno.EEXIST, f"{path.name} is not posse's; remove it", str(path))
    return descriptor
