"""The disk of the process that runs: this machine's, or in a simulation a machine's own.

Whatever the gates of files and databases write, or remove, they ask it for first.
"""

import sqlite3
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path


class Disk:
    """This machine's disk, which does what it is asked; a simulated one may fail, and wait."""

    locks = True
    """Whether its files can be locked, if those of this system can."""

    def writes(self, path: Path) -> None:
        """A file is about to be replaced; `OSError` if that fails."""

    def removes(self, path: Path) -> None:
        """A file is about to be removed; `OSError` if that fails."""

    def adds(self, path: Path, data: bytes) -> bytes:
        """What is written of data that go to a file's end; nobody waits until they are safe."""
        return data

    def database(
        self, path: Path, timeout: float, connect: Callable[[float], sqlite3.Connection]
    ) -> sqlite3.Connection:
        """What `connect(timeout)` returns for the database at `path`; `timeout` in seconds."""
        return connect(timeout)


DISK: ContextVar[Disk] = ContextVar("disk", default=Disk())  # noqa: B039  (it has no state)
"""The disk of the process that runs."""
