"""What journals and ledgers ask of a disk; a simulated disk is another implementation."""

import sqlite3
from pathlib import Path


class Disk:
    """This machine's disk."""

    def database(self, path: Path, timeout: float) -> sqlite3.Connection:
        """Open an SQLite file, which is made if need be; `timeout` in seconds."""
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=timeout)

    def remove(self, path: Path) -> None:
        """Remove an SQLite file that no process has open, if there is one."""
        for file in (path, *(Path(f"{path}{part}") for part in ("-wal", "-shm"))):
            file.unlink(missing_ok=True)


DISK = Disk()
