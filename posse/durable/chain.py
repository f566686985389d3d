"""What a ledger was told, in entries that are only added, each with a hash of all before it.

Its *head*, how many entries there are and the last one's hash, is all that somebody else needs to
keep: a ledger that lost entries, or in which one was changed, is no longer one that goes on from
that head. So a backup that is put back, a copy that went on by itself and a new file in the old
one's place are evident to whoever knows a later head.
"""

import hashlib
import sqlite3
from typing import Any, NamedTuple

import msgspec

from posse.errors import PosseError
from posse.gates.decode import Packed

SCHEMA = """
CREATE TABLE IF NOT EXISTS chain (
  number INTEGER PRIMARY KEY, entry BLOB NOT NULL, hash BLOB NOT NULL
);
"""

HASH_BYTES = 32

_read = Packed[list[Any]](list[Any]).read


class RewoundError(PosseError):
    """A ledger is not one that goes on from where it is known to have been."""


class Head(NamedTuple):
    """How many entries a ledger has, and the hash of the last: zeros if there is none."""

    number: int
    digest: bytes


NONE = Head(0, bytes(HASH_BYTES))


def add(db: sqlite3.Connection, *entry: Any) -> Head:
    """Add an entry, within the caller's transaction; the new head."""
    number, before = head(db)
    packed = msgspec.msgpack.encode(entry)
    new = Head(number + 1, _hash(before, packed))
    db.execute("INSERT INTO chain VALUES (?, ?, ?)", (new.number, packed, new.digest))
    return new


def head(db: sqlite3.Connection) -> Head:
    """The last entry's number and hash."""
    last = db.execute("SELECT number, hash FROM chain ORDER BY number DESC LIMIT 1").fetchone()
    return NONE if last is None else Head(*last)


def goes_on_from(db: sqlite3.Connection, known: Head) -> bool:
    """Whether the ledger had this head once."""
    if not known.number:
        return True
    at = db.execute("SELECT hash FROM chain WHERE number = ?", (known.number,)).fetchone()
    return at is not None and at[0] == known.digest


def entries(db: sqlite3.Connection) -> list[list[Any]]:
    """All entries, in order; `sqlite3.DatabaseError` if a hash is not that of those before it."""
    before, found = NONE, []
    for number, packed, digest in db.execute(
        "SELECT number, entry, hash FROM chain ORDER BY number"
    ):
        if number != before.number + 1 or digest != _hash(before.digest, packed):
            raise sqlite3.DatabaseError(f"its entry {number} is not the one that was written")
        before = Head(number, digest)
        found.append(_read(packed))
    return found


def _hash(before: bytes, packed: bytes) -> bytes:
    return hashlib.blake2b(before + packed, digest_size=HASH_BYTES).digest()
