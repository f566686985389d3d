"""Checks before anything starts that files and folders can be written."""

import os
from pathlib import Path

from posse.cli import call
from posse.errors import InputError
from posse.gates import files


def result(out: Path | None, name: str) -> Path:
    """The folder of a result; by default a new one of this name below `runs/`."""
    from posse.durable.directory import fresh

    folder(out or Path("runs"))
    return out or fresh(name)


def folder(path: Path) -> Path:
    """Make a folder and its parents; `InputError` if it cannot be written to."""
    call.current().writing = path
    try:
        files.make_folder(path)
    except FileExistsError:
        raise InputError(f"{path} is a file; name a folder") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    _try(path, path)
    return path


def require(path: Path) -> None:
    """`InputError` if no folder can be made, or written to, at `path`; none is made yet.

    Nor for a moment: another process may be about to use it.
    """
    if os.path.exists(path):  # of a name that is too long `Path` cannot say it
        folder(path)
        return
    call.current().writing = path
    there = next(place for place in path.parents if os.path.exists(place))
    if not there.is_dir():
        raise InputError(f"{path} cannot be written: {there} is a file")
    _try(there, path)


def _try(there: Path, path: Path) -> None:
    try:
        if allowed := os.access(there, os.W_OK | os.X_OK):
            files.remove_empty(files.new_folder(".posse-", there))  # to root all is allowed
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if not allowed:
        raise InputError(f"{path} cannot be written: Permission denied")


def file(path: Path) -> Path:
    """Make the folder of a file; `InputError` if the file cannot be written."""
    if files.is_stream(path):
        return path
    folder(path.parent)
    call.current().writing = path
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path} cannot be written: Permission denied")
    return path
