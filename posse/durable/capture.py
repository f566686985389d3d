"""A file of the frames that a run's processes handed to their links, whoever wrote them there.

Every process of a run appends to the same file, one write per frame, before the frame is handed
over. So a frame stands behind those that it follows from, and what a process sent before it was
killed is there; on a disk of this machine, as file systems of a network may not append so. The file
is a row of msgpack objects, to be read as it grows:

    {"posse": "capture", "version": 1}      the first
    [time, source, target, data]            one per frame and target

`time` is in nanoseconds since 1970. `source` and `target` are ranks, -1 for the coordinator and nil
for who had no rank yet. `data` is what ZeroMQ was handed, before it was encrypted: docs/wire.md.
"""

import os
import time
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import msgspec

from posse.errors import InputError, PosseError

HEAD = {"posse": "capture", "version": 1}

_AS_IT_IS = getattr(os, "O_BINARY", 0)
"""Windows otherwise writes two bytes for a line's end."""

_encode = msgspec.msgpack.Encoder().encode


class Capture:
    """See the module's text; a `Tap`. `new` begins the file, else it is added to."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self.path = path.absolute()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _AS_IT_IS | (os.O_TRUNC if new else 0)
        try:
            self._file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        if new:
            self._append(HEAD)

    def __call__(self, source: int | None, target: int | None, data: bytes) -> None:
        """Write down a frame that is about to be handed over."""
        self._append((time.time_ns(), source, target, data))

    def _append(self, row: object) -> None:
        data = _encode(row)
        try:
            whole = os.write(self._file, data) == len(data)
        except OSError as error:
            raise PosseError(f"{self.path} cannot be written: {error.strerror}") from None
        if not whole:
            raise PosseError(f"{self.path} cannot be written: no space is left for a whole frame")

    def close(self) -> None:
        """Close the file; other processes may go on."""
        os.close(self._file)


def writing(
    path: str | Path | None, *, goes_on: bool = False
) -> AbstractContextManager[Capture | None]:
    """A capture, closed at the end; None where no file is named.

    It begins the file, unless who writes was killed and `goes_on`: then what is there stays.
    """
    if path is None:
        return nullcontext()
    return closing(Capture(Path(path), new=not (goes_on and Path(path).exists())))
