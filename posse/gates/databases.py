"""Databases: the SQLite files of journals and ledgers.

They are their owner's alone, no link is followed, and there is nothing in them but tables: views,
triggers and computed columns are code of whoever made the file, and may never end.
"""

import errno
import os
import re
import sqlite3
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

from posse.errors import DiskTrouble
from posse.gates import files, locks
from posse.gates.disk import DISK

_HEADER, _LOGGED = 19, b"\x02"
"""Bytes of a database up to the one that says how it is written: with a write-ahead log."""

_CODE = re.compile(r"\b(virtual|as)\b", re.I)


def connect(path: Path, timeout: float, *, make: bool = True) -> sqlite3.Connection:
    """Open a database, which is made if need be; `timeout` in seconds. See `plain`.

    `OSError` for a link, or what is no regular file.
    """
    return plain(connected(path, timeout, make=make))


def connected(path: Path, timeout: float, *, make: bool = True) -> sqlite3.Connection:
    """The same, not `plain` yet: whoever wants it alone says so before anything is read."""
    return DISK.get().database(path, timeout, partial(_connect, path, make))


def _connect(path: Path, make: bool, timeout: float) -> sqlite3.Connection:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, f"{path.name} is not a regular file", str(path))
    except FileNotFoundError:
        # only now: closing any descriptor of a file ends SQLite's own locks on it
        os.close(files.claim(path, make=make))
    # SQLite gives its other files the same mode
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=timeout)


def read_only(path: Path) -> sqlite3.Connection:
    """A connection to a database by which nothing is written; see `plain`."""
    # SQLite's readers leave files beside a database with a write-ahead log that they may not write.
    # Where that log is not there, it is not in use, and can be read as a file that does not change
    with files.opened(path) as file:
        logged = file.read(_HEADER)[-1:] == _LOGGED
    alone = "&immutable=1" if logged and not Path(f"{path}-wal").exists() else ""
    return plain(sqlite3.connect(f"{path.as_uri()}?mode=ro{alone}", uri=True))


def plain(database: sqlite3.Connection) -> sqlite3.Connection:
    """The same database; `sqlite3.DatabaseError`, and it is closed, if it has more than tables."""
    try:
        made = database.execute("SELECT type, sql FROM sqlite_master").fetchall()
        for kind, statement in made:
            if kind not in ("table", "index") or _CODE.search(statement or ""):
                raise sqlite3.DatabaseError(f"it has a {kind} that posse never makes")
    except BaseException:
        database.close()
        raise
    return database


def trouble(error: Exception, path: Path) -> str:
    """What is wrong with the database at `path`, of which this was raised.

    Where there are no locks SQLite says that it is locked, or that the disk fails.
    """
    said = getattr(error, "strerror", None) or str(error)
    if os.name == "posix" and ("locked" in said or "I/O" in said):
        with suppress(OSError):
            if not locks.are_there(path.parent):
                return "its file system has no locks"
    return said


def remove(path: Path) -> None:
    """Remove a database that no process has open, if there is one; `DiskTrouble` if that fails."""
    try:
        for file in (path, *(Path(f"{path}{part}") for part in ("-wal", "-shm"))):
            files.remove(file)
    except OSError as error:
        raise DiskTrouble(f"{path} cannot be removed: {error.strerror}; remove it") from None
