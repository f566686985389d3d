"""Finished pieces of work, each on disk when it ends: what is there is not done again.

A piece counts only if it was made by the same (`posse.durable.made_by`): changed code never passes
off old numbers as its own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from posse.durable import whole

T = TypeVar("T")


class Store(Generic[T]):
    """Finished pieces by name, a file in `folder` each; `by` says what they are made by.

    `trouble` says why a piece could not be written, "" if all could: what was done is in memory
    still, and whoever has it goes on.
    """

    def __init__(
        self, folder: Path, by: str, encode: Callable[[T], bytes], decode: Callable[[bytes], T]
    ) -> None:
        self.folder = folder
        self.trouble = ""
        self._by = by
        self._encode = encode
        self._decode = decode

    def kept(self, name: str) -> T | None:
        """The piece of this name; None if it is not there, or was made by something else."""
        try:
            by, piece = msgspec.msgpack.decode(
                self._path(name).read_bytes(), type=tuple[str, bytes]
            )
            return self._decode(piece) if by == self._by else None
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, name: str, piece: T) -> None:
        """Have a piece on disk."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            whole.write(self._path(name), msgspec.msgpack.encode((self._by, self._encode(piece))))
        except OSError as error:
            self.trouble = error.strerror or str(error)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.msgpack"


def pieces(folder: Path) -> Iterator[bytes]:
    """Every whole piece in a store, by name, whatever it was made by; raises `MsgspecError`."""
    for path in sorted(folder.glob("*.msgpack"), key=lambda path: (len(path.name), path.name)):
        yield msgspec.msgpack.decode(path.read_bytes(), type=tuple[str, bytes])[1]
