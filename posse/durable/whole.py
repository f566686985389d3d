"""Files that are written whole or not at all, whatever happens meanwhile."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from posse.errors import InputError

_ROOM = 1 << 20
"""Bytes that must fit onto the disk before anything starts."""

_PATIENCE = 10.0
"""Seconds to wait for a free descriptor: a flood of connections may take all of them, until the
process's door closes it (`posse.wire.door`)."""

RESERVE = 32
"""Descriptors between the soft and the hard limit of a coordinator, which only files may use."""

T = TypeVar("T")


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """A text file to write; it replaces an earlier one when the block has ended well.

    By then it is on disk. After a kill, an error or a full disk (`OSError`) the earlier one stays.
    A link is replaced, and its target left alone: the folder may be somebody else's results.
    """
    half = path.with_name(f"{path.name}.half")
    try:
        half.unlink(missing_ok=True)
        with _patiently(
            lambda: half.open("x", encoding="utf-8", errors="backslashreplace", newline="")
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def write(path: Path, content: str | bytes) -> None:
    """Write a file of this content, whole; see `opened`."""
    with opened(path) as file:
        if isinstance(content, str):
            file.write(content)
        else:
            file.buffer.write(content)  # type: ignore[attr-defined]


def require_room(folder: Path) -> None:
    """`InputError` if a folder cannot be written: it is not ours, or its disk is full."""
    room = folder / ".room"
    try:
        write(room, bytes(_ROOM))
        room.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def _sync(folder: Path) -> None:
    """Flush the new name to disk too, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened_folder = _patiently(lambda: os.open(folder, os.O_RDONLY))
        try:
            os.fsync(opened_folder)
        finally:
            os.close(opened_folder)


def _patiently(open_: Callable[[], T]) -> T:
    """Open something, and try again while the process has no free descriptor."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return open_()
        except OSError as error:
            if error.errno != errno.EMFILE or time.monotonic() > until:
                raise
        with _reserve(), suppress(OSError):
            return open_()
        time.sleep(0.01)


@contextmanager
def _reserve() -> Iterator[None]:
    """Lift the soft limit of open files to the hard one."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
