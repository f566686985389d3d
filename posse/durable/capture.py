"""A file of all frames that the processes of a run handed to their links.

Every process of a run appends to the same file, with one write per frame, before it hands the frame
over. So a frame stands behind those that it follows from, and everything that a process sent before
it was killed is there. This needs a disk of this machine: a network's file system may not append
so. The file is a sequence of msgpack objects, and can be read while it grows:

    {"posse": "capture", "version": 1}      the first
    [time, source, target, data]            one per frame and target

`time` is in nanoseconds since 1970. `source` and `target` are ranks, -1 for the coordinator and nil
for a process without a rank yet. `data` is what ZeroMQ was handed, before encryption: docs/wire.md.
"""

import os
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import msgspec

from posse.errors import DiskTrouble, InputError
from posse.gates import files

Tap = Callable[[int | None, int | None, bytes], object]
"""Hears each frame just before it is handed to a link: (sender, receiver, frame).

Ends are ranks or `COORDINATOR`; None for a peer without a rank yet."""

HEAD = {"posse": "capture", "version": 1}

_encode = msgspec.msgpack.Encoder().encode


class Capture:
    """See the module's text; a `Tap`. `new` begins the file anew, else frames are appended."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path.absolute()
        self.now = time.time_ns
        """The clock that frames are stamped by, in nanoseconds since 1970."""
        self._failed = False
        try:
            self._file = files.append(self.path)
            if new:
                self.begin()
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def begin(self) -> None:
        """Begin the file anew."""
        if stat.S_ISREG(os.fstat(self._file).st_mode):
            os.ftruncate(self._file, 0)
            os.fchmod(self._file, 0o600)  # a file that was there may be open to others
        self._append(HEAD)

    def __call__(self, source: int | None, target: int | None, data: bytes) -> None:
        """Write down a frame that is about to be handed over.

        `DiskTrouble` once, if that fails; later frames, which tell others why, go out unrecorded.
        """
        self._append((self.now(), source, target, data))

    def _append(self, row: object) -> None:
        if self._failed:
            return
        data, self._failed = _encode(row), True
        try:
            whole = files.add(self._file, self.path, data)
        except OSError as error:
            raise DiskTrouble(f"{self.path} cannot be written: {error.strerror}") from None
        if not whole:
            raise DiskTrouble(f"{self.path} cannot be written: no space is left for a whole frame")
        self._failed = False

    def close(self) -> None:
        """Close the file; other processes may go on."""
        os.close(self._file)


def writing(
    path: str | Path | None, *, goes_on: bool = False
) -> AbstractContextManager[Capture | None]:
    """A context with a capture, closed at the end; with None if `path` is None.

    The capture begins the file anew, unless the run `goes_on` after its process was killed. A file
    with anything but a capture, such as a log of rewards, is refused.
    """
    if path is None:
        return nullcontext()
    if Path(path).is_file() and not _may_be_replaced(Path(path)):
        raise InputError(f"{path} is there and is no capture; name another file")
    return closing(Capture(Path(path), new=not (goes_on and Path(path).exists())))


def _may_be_replaced(path: Path) -> bool:
    head = _encode(HEAD)
    try:
        with files.opened(path) as file:
            return file.read(len(head)) in (head, b"")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
