"""Databases: the SQLite files of journals and ledgers.

They are their owner's alone, no link is followed, and there is nothing in them but tables of plain
columns: views, triggers, conditions, defaults and indexes by an expression are code of whoever made
the file. Its pages are looked at once, as pages that name each other have rows without end. What
stands beside it is written by SQLite alone: it would wait for a pipe's writer there, and remove any
file that a journal names.
"""

import errno
import os
import re
import sqlite3
import stat
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from posse.errors import DiskTrouble
from posse.gates import files, locks
from posse.gates.disk import DISK
from posse.gates.shown import printable

_HEADER, _LOGGED = 19, b"\x02"
"""Bytes of a database up to the one that says how it is written: with a write-ahead log."""

_COLUMNS = r"\((?:[\w\s,]|(?:PRIMARY KEY|UNIQUE) \([\w\s,]+\))*\)"
_MADE = re.compile(rf"CREATE (TABLE \w+ {_COLUMNS}( WITHOUT ROWID)?|INDEX \w+ ON \w+ {_COLUMNS})")
"""A table or an index as posse makes them: names, and nothing to compute."""

_BESIDE = ("-journal", "-wal", "-shm")
_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal of several databases, in which SQLite finds the name of a file to remove."""

LONGEST = 64 << 20
"""Bytes of a value; a message has 8 MiB at most."""

_STEPS, _MOST_STEPS = 10_000, 100
"""Steps of SQLite, and how many times as many the few tables of a file take at most."""

_LOOKED_AT: set[tuple[int, int]] = set()
"""Devices and inodes of files whose pages this process looked at."""


def connect(
    path: Path, timeout: float, *, make: bool = True, longest: int = LONGEST
) -> sqlite3.Connection:
    """Open a database, which is made if need be; `timeout` in seconds. See `plain`.

    `OSError` for a link, or what is no regular file.
    """
    return plain(connected(path, timeout, make=make), longest)


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
    _require_ours_beside(path)
    # SQLite gives its other files the same mode
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=timeout)


def read_only(path: Path) -> sqlite3.Connection:
    """A connection to a database by which nothing is written; see `plain`."""
    # SQLite's readers leave files beside a database with a write-ahead log that they may not write.
    # Where that log is not there, it is not in use, and can be read as a file that does not change
    _require_ours_beside(path)
    with files.opened(path) as file:
        logged = file.read(_HEADER)[-1:] == _LOGGED
    alone = "&immutable=1" if logged and not Path(f"{path}-wal").exists() else ""
    return plain(sqlite3.connect(f"{path.as_uri()}?mode=ro{alone}", uri=True))


def plain(database: sqlite3.Connection, longest: int = LONGEST) -> sqlite3.Connection:
    """The same database; `sqlite3.DatabaseError`, and it is closed, if it has more than tables.

    Or if its pages are not a database's. No value is longer than this many bytes.
    """
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        steps = chain(repeat(0, _MOST_STEPS), repeat(1))
        database.set_progress_handler(steps.__next__, _STEPS)
        made = database.execute("SELECT type, sql FROM sqlite_master").fetchall()
        for kind, statement in made:
            own = kind == "index" and statement is None  # of a key
            if not (own or (kind in ("table", "index") and _MADE.fullmatch(statement or ""))):
                a = "an" if kind == "index" else "a"
                raise sqlite3.DatabaseError(f"it has {a} {kind} that posse never makes")
        database.set_progress_handler(None, 0)
        _look_at_pages(database)
    except BaseException:
        database.close()
        raise
    return database


def trouble(error: Exception, path: Path) -> str:
    """What is wrong with the database at `path`, of which this was raised.

    Where there are no locks SQLite says that it is locked, or that the disk fails.
    """
    said = files.why(error)
    if os.name == "posix" and ("locked" in said or "I/O" in said):
        with suppress(OSError):
            if not locks.are_there(path.parent):
                return "its file system has no locks"
    return said


def _look_at_pages(database: sqlite3.Connection) -> None:
    file = database.execute("PRAGMA database_list").fetchone()[2]
    if not file:
        return
    status = os.stat(file)
    if (status.st_dev, status.st_ino) not in _LOOKED_AT:
        (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {printable(found)}")
        _LOOKED_AT.add((status.st_dev, status.st_ino))


def _require_ours_beside(path: Path) -> None:
    """`sqlite3.DatabaseError` if what stands beside a database is not what SQLite leaves there."""
    for beside in (Path(f"{path}{end}") for end in _BESIDE):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(beside.lstat().st_mode):
                raise sqlite3.DatabaseError(f"{beside.name} is not a regular file")
            if beside.name.endswith(_BESIDE[0]):  # no lock of SQLite's is on it
                with files.opened(beside, links=False) as file:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - len(_NAMES_A_FILE)))
                    if file.read() == _NAMES_A_FILE:
                        raise sqlite3.DatabaseError(f"{beside.name} names a file to remove")


def remove(path: Path) -> None:
    """Remove a database that no process has open, if there is one; `DiskTrouble` if that fails."""
    try:
        for file in (path, *(Path(f"{path}{part}") for part in ("-wal", "-shm"))):
            files.remove(file)
    except OSError as error:
        raise DiskTrouble(f"{path} cannot be removed: {error.strerror}; remove it") from None
