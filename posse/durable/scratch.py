"""A private folder for sockets. The next one made removes it if its process was killed."""

import contextlib
import os
import tempfile
from pathlib import Path

from posse.gates import files, owners
from posse.gates.locks import take

_PREFIX = "posse-"
_LOCK = "lock"
_LONGEST = 90
"""Most letters of a folder's name, so that a socket's address has room behind it."""


class Scratch:
    """A new folder for temporary files; also removes folders that dead processes left behind."""

    def __init__(self) -> None:
        clear()
        self._lock = -1
        while self._lock < 0:
            self.path = _new()
            # until the lock is held, `clear` elsewhere may take the folder for one left behind
            with contextlib.suppress(FileNotFoundError):
                lock = files.claim(self.path / _LOCK)
                if take(lock) is not False and (self.path / _LOCK).exists():
                    self._lock = lock
                else:
                    os.close(lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        files.remove_folder(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def clear() -> None:
    """Remove this user's folders whose processes are gone: nobody holds their locks."""
    for folder in {Path(tempfile.gettempdir()), Path("/tmp")}:
        for left in folder.glob(f"{_PREFIX}*/{_LOCK}"):
            with contextlib.suppress(OSError):
                if owners.is_own(left.parent.lstat()):
                    _clear(left)


def _clear(lock: Path) -> None:
    descriptor = files.claim(lock, make=False)
    try:
        if take(descriptor):  # where there are no locks, nobody knows
            files.remove_folder(lock.parent)
    finally:
        os.close(descriptor)


def _new() -> Path:
    folder = files.new_folder(_PREFIX)
    if len(str(folder)) > _LONGEST:
        files.remove_folder(folder)
        folder = files.new_folder(_PREFIX, Path("/tmp"))
    return folder
