"""The gate of signatures: an agent signs one content for each place of a run, and knows what.

Two signatures of one place convict their agent, whoever brought them about: a coordinator that asks
twice, a journal that is a copy of an earlier one. So each is entered on disk before it is made, as
CometBFT's validators keep their last signed state, in a file apart from the journal.
"""

import sqlite3
from pathlib import Path

from posse.errors import DiskTrouble, PosseError
from posse.gates.databases import DISK, Disk, plain

_MADE = (
    "CREATE TABLE IF NOT EXISTS signed (run BLOB, kind BLOB, place BLOB, hash BLOB, "
    "PRIMARY KEY (run, kind, place)) WITHOUT ROWID"
)


class SignedRegister:
    """What one agent has signed, in an SQLite file that is opened at the first signature."""

    def __init__(self, path: Path, disk: Disk = DISK) -> None:
        self._path = path
        self._disk = disk
        self._db: sqlite3.Connection | None = None

    def claim(self, run: bytes, kind: bytes, place: bytes, digest: bytes) -> None:
        """Enter what is about to be signed; `PosseError` if something else was signed there."""
        try:
            db = self._db or self._open()
            place_of = (run, kind, place)
            db.execute("INSERT OR IGNORE INTO signed VALUES (?, ?, ?, ?)", (*place_of, digest))
            asked = "SELECT hash FROM signed WHERE run = ? AND kind = ? AND place = ?"
            ((kept,),) = db.execute(asked, place_of)
        except (OSError, sqlite3.Error, ValueError) as error:
            raise DiskTrouble(
                f"{self._path} cannot be written ({error}), so this agent signs nothing; make room "
                "for it, or mend the folder, and start the agent again"
            ) from None
        if kept != digest:
            raise PosseError(
                f"{self._path}: this agent has signed something else at this place of the run, and "
                "two signatures would convict it; its journal may be a copy of an earlier one: "
                "remove the journal, and start the agent again for the next run"
            )

    def _open(self) -> sqlite3.Connection:
        db = plain(self._disk.database(self._path, timeout=10.0))
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(_MADE)
        self._db = db
        return db
