"""Files of keys: nobody else may read the secret ones, and nobody else may have written any.

Links are never followed, in reading or writing: whoever can make a link decides what is read or
overwritten.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posse.errors import InputError
from posse.gates import files, locks, owners

_LONGEST = 1 << 20
_PATIENCE = 10.0
"""Seconds to wait for another command that changes the same folder."""

_MAKE = "make it with posse keys"

IGNORED = (".gitignore", ".dockerignore")
"""Files by which a folder of keys keeps itself out of repositories and images."""


def open_folder(folder: Path, *, of_folders: bool = False) -> None:
    """Make a folder of keys if it is not there, for its owner alone; see `check_folder`.

    A folder `of_folders` has no keys itself, so nothing is written into it.
    """
    mask = os.umask(0o077)
    try:
        files.make_folder(folder)
        check_folder(folder)
        for name in () if of_folders else IGNORED:
            if not (folder / name).exists():
                write(folder / name, "*\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    finally:
        os.umask(mask)


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Hold a folder of keys while a list in it is read, changed and written."""
    open_folder(folder)
    with locks.held(folder, _PATIENCE):
        yield


def check_folder(folder: Path) -> None:
    """`InputError` for a folder into which others may put keys, or in whose place another."""
    try:
        status = folder.stat()
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}; {_MAKE}") from None
    _check_owner(folder, status)
    open_to_all = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to_all and not status.st_mode & stat.S_ISVTX:
        raise InputError(f"{folder} is writable by others; run: chmod 700 {folder}")
    if problem := owners.changed_by(folder, above=True):
        raise InputError(f"{problem}, who could put another folder in the place of {folder}")


def read(path: Path, *, secret: bool = False, most: int = _LONGEST) -> str:
    """The text of a file of keys; `InputError` if others may have written it.

    Others must not be able to read a `secret` file either. If the file is not ours but the system's
    (a mounted secret), its group may read it. At most `most` bytes and one more are read.
    """
    try:
        file = files.opened(path, links=False)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"{path} is a symbolic link; put the key file itself there") from None
        if error.errno in (errno.EINVAL, errno.EISDIR):
            raise InputError(f"{path} is not a file") from None
        raise InputError(f"{path} cannot be read: {error.strerror}; {_MAKE}") from None
    with file:
        status = os.fstat(file.fileno())
        _check_owner(path, status)
        readers = stat.S_IRWXO | (stat.S_IRWXG if owners.is_own(status) else 0)
        if secret and hasattr(os, "geteuid") and status.st_mode & readers:
            raise InputError(f"{path} is readable by others; run: chmod 600 {path}")
        if hasattr(os, "geteuid") and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InputError(f"{path} is writable by others; run: chmod 644 {path}")
        data = file.read(most + 1)
    try:
        return data.decode("utf-8-sig")  # some editors begin with a byte order mark
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a key file of posse") from None


def write(path: Path, text: str) -> None:
    """Write a file, whole, for its owner alone. A link is replaced, and its target left alone."""
    try:
        files.write(path, text, private=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _check_owner(path: Path, status: os.stat_result) -> None:
    if stranger := owners.stranger(status):
        raise InputError(f"{path} belongs to {stranger}, who could change it")
