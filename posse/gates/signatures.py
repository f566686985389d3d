"""The gate of signatures: an agent signs one content for each place of a run, and knows what.

Two signatures of one place convict their agent, whoever brought them about: a coordinator that asks
twice, a journal that is a copy of an earlier one. So each is entered on disk before it leaves the
process, as CometBFT's validators keep their last signed state, in a file apart from the journal.
The journal comes first: what is entered there leads to the same content again. A killed agent may
come to another content at a place that was signed in memory alone, and nobody has seen that.

The file is made before its journal begins and goes with it, when no process can sign for that run
again: a run's name has a number in it that only the journal keeps. So a journal without one is a
copy, of a run that is over.
"""

import sqlite3
from pathlib import Path

from posse.errors import DiskTrouble, PosseError
from posse.gates.databases import DISK, Disk, plain

SIGNED = ".signed"
"""What the register's name has after that of its journal."""

_MADE = (
    "CREATE TABLE IF NOT EXISTS signed (run BLOB, kind BLOB, place BLOB, hash BLOB, "
    "PRIMARY KEY (run, kind, place)) WITHOUT ROWID"
)


class SignedRegister:
    """What one agent has signed, in an SQLite file."""

    def __init__(self, path: Path, disk: Disk = DISK) -> None:
        self._path = path
        self._disk = disk
        self._db: sqlite3.Connection | None = None
        self._claimed: dict[tuple[bytes, bytes, bytes], bytes] = {}
        """What is not on disk yet."""

    def make(self) -> None:
        """Make the file, if it is not there: `DiskTrouble` if it cannot be made."""
        if self._db is None:
            try:
                self._db = self._open()
            except (OSError, sqlite3.Error) as error:
                raise self._trouble(error) from None

    def close(self) -> None:
        """Close the file; what is not written by now never left."""
        self._claimed.clear()
        if self._db is not None:
            self._db.close()
            self._db = None

    def remove(self) -> None:
        """Remove the file: nothing will be signed for its runs again."""
        self.close()
        self._disk.remove(self._path)

    def claim(self, run: bytes, kind: bytes, place: bytes, digest: bytes) -> None:
        """Note what is about to be signed; `PosseError` if something else was signed there."""
        if self._db is None and not self._path.exists():
            raise PosseError(
                f"{self._path} is gone, so what this agent has signed is not known, and two "
                "signatures of one place would convict it; its journal is a copy, or of a run that "
                "is over: remove the journal, and start the agent again for the next run"
            )
        self.make()
        assert self._db is not None
        place_of = (run, kind, place)
        kept = self._claimed.get(place_of)
        if kept is None:
            asked = "SELECT hash FROM signed WHERE run = ? AND kind = ? AND place = ?"
            try:
                found = self._db.execute(asked, place_of).fetchone()
            except (OSError, sqlite3.Error, ValueError) as error:
                raise self._trouble(error) from None
            if found is None:
                self._claimed[place_of] = digest
                return
            (kept,) = found
        if kept != digest:
            raise PosseError(
                f"{self._path}: this agent has signed something else at this place of the run, and "
                "two signatures would convict it; its journal may be a copy of an earlier one: "
                "remove the journal, and start the agent again for the next run"
            )

    def commit(self) -> None:
        """Write what was claimed; call it after the journal's commit, before anything leaves."""
        if not self._claimed:
            return
        assert self._db is not None
        db = self._db
        try:
            db.execute("BEGIN")
            for place, digest in self._claimed.items():
                db.execute("INSERT INTO signed VALUES (?, ?, ?, ?)", (*place, digest))
            db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise self._trouble(error) from None
        self._claimed.clear()

    def _open(self) -> sqlite3.Connection:
        db = plain(self._disk.database(self._path, timeout=10.0))
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(_MADE)
        return db

    def _trouble(self, error: Exception) -> DiskTrouble:
        return DiskTrouble(
            f"{self._path} cannot be written ({error}), so this agent signs nothing; make room "
            "for it, or mend the folder, and start the agent again"
        )
