"""The gate of signatures: a process signs one content for each place of a run, and knows what.

Two signatures of one place convict their agent, whoever brought them about: a coordinator that asks
twice, a journal that is a copy of an earlier one. So each is entered on disk before it leaves the
process, as CometBFT's validators keep their last signed state, in a file apart from the journal.
The journal comes first: what is entered there leads to the same content again. A killed agent may
come to another content at a place that was signed in memory alone, and nobody has seen that.

The file is made before its journal begins and goes with it, when no process can sign for that run
again: a run's name has a number in it that only the journal keeps. So a journal without one is a
copy, of a run that is over. What a coordinator orders lasts, with its frames: it keeps what it has
signed, and each agent what it was told (`posse.wire.orders`).
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from posse.errors import DiskTrouble, InputError, PosseError
from posse.gates.databases import connect, read_only, remove, trouble

SIGNED = ".signed"
"""What the register's name has after that of its journal."""

ORDERS = ".orders"
"""What the name of a file of orders has in place of its journal's `.journal`."""

_MADE = (
    "CREATE TABLE IF NOT EXISTS signed (run BLOB, kind BLOB, place BLOB, hash BLOB, "
    "signature BLOB, content BLOB, PRIMARY KEY (run, kind, place, hash)) WITHOUT ROWID"
)

_Place = tuple[bytes, bytes, bytes]

_SIGNATURE = 64
"""Bytes of a signature, the end of a statement."""


class SignedRegister:
    """What one process has signed, in an SQLite file, which `lasts` when its journal goes."""

    def __init__(self, path: Path, *, lasts: bool = False) -> None:
        self._path = path
        self._lasts = lasts
        self._db: sqlite3.Connection | None = None
        self._claimed: dict[_Place, bytes] = {}
        """What is not on disk yet."""
        self._contents: dict[_Place, tuple[bytes, bytes]] = {}
        """Signature and content of it, where these are kept."""

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
        self._contents.clear()
        if self._db is not None:
            self._db.close()
            self._db = None

    def remove(self) -> None:
        """Remove the file, unless it lasts: nothing will be signed for its runs again."""
        self.close()
        if not self._lasts:
            remove(self._path)

    def claim(self, run: bytes, kind: bytes, place: bytes, digest: bytes) -> None:
        """Note what is about to be signed; `PosseError` if something else was signed there."""
        if self._db is None and not (self._lasts or self._path.exists()):
            raise PosseError(
                f"{self._path} is gone, so what this agent has signed is not known, and two "
                "signatures of one place would convict it; its journal is a copy, or of a run that "
                "is over: remove the journal, and start the agent again for the next run"
            )
        self.make()
        assert self._db is not None
        kept = self._kept((run, kind, place))
        if not kept:
            self._claimed[run, kind, place] = digest
        elif digest not in kept:
            raise PosseError(
                f"{self._path}: this process has signed something else at this place of the run, "
                "and two signatures would convict it; its journal may be a copy of an earlier one: "
                "remove the journal, and start it again for the next run"
            )

    def keep(self, run: bytes, kind: bytes, place: bytes, statement: bytes, content: bytes) -> None:
        """Note a statement that somebody signed, and its content, to be kept by `commit`."""
        self.make()
        digest, signature = statement[:-_SIGNATURE], statement[-_SIGNATURE:]
        if (run, kind, place) in self._claimed or digest not in self._kept((run, kind, place)):
            self._claimed[run, kind, place] = digest
            self._contents[run, kind, place] = signature, content

    def _kept(self, at: _Place) -> list[bytes]:
        """The hashes of what is signed at a place; of one signer there is one at most."""
        if at in self._claimed:
            return [self._claimed[at]]
        assert self._db is not None
        asked = "SELECT hash FROM signed WHERE run = ? AND kind = ? AND place = ?"
        try:
            return [found for (found,) in self._db.execute(asked, at)]
        except (OSError, sqlite3.Error, ValueError) as error:
            raise self._trouble(error) from None

    def commit(self) -> None:
        """Write what was claimed; call it after the journal's commit, before anything leaves."""
        if not self._claimed:
            return
        assert self._db is not None
        db = self._db
        try:
            db.execute("BEGIN")
            for at, digest in self._claimed.items():
                signature, content = self._contents.get(at, (None, None))
                row = (*at, digest, signature, content)
                db.execute("INSERT INTO signed VALUES (?, ?, ?, ?, ?, ?)", row)
            db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise self._trouble(error) from None
        self._claimed.clear()
        self._contents.clear()

    def _open(self) -> sqlite3.Connection:
        db = connect(self._path, 10.0)
        # one that lasts is copied, and must then be whole without a log beside it
        db.execute(f"PRAGMA journal_mode = {'DELETE' if self._lasts else 'WAL'}")
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute(_MADE)
        return db

    def _trouble(self, error: Exception) -> DiskTrouble:
        why = trouble(error, self._path)
        return DiskTrouble(
            f"{self._path} cannot be written ({why}), so nothing is signed; make room for it, or "
            "mend the folder, and start this process again"
        )


def kept_in(path: Path, kind: bytes) -> Iterator[tuple[bytes, ...]]:
    """Run, place, hash, signature and content of what a file that lasts has of this kind.

    `InputError` if it is no such file.
    """
    asked = "SELECT run, place, hash, signature, content FROM signed WHERE kind = ?"
    try:
        with closing(read_only(path.absolute())) as db:
            for row in db.execute(f"{asked} ORDER BY run, place", (kind,)):
                if not all(isinstance(part, bytes) for part in row):
                    raise sqlite3.DatabaseError("what it has is no bytes")
                yield row
    except (OSError, sqlite3.Error, ValueError) as error:
        raise InputError(f"{path} is no file of what was signed ({error})") from None
