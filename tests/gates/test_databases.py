"""Databases on this machine's disk."""

import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from posse.durable.journal import owner_of
from posse.errors import DiskTrouble, InputError
from posse.gates.databases import connect, connected, plain, read_only, remove


def test_a_database_is_made_and_removed_with_its_other_files(tmp_path: Path) -> None:
    path = tmp_path / "agent.journal"
    database = connected(path, 0.0)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE one (value)")
    assert len(list(tmp_path.iterdir())) == 3
    database.close()
    remove(path)
    remove(path)
    assert not list(tmp_path.iterdir())
    path.mkdir()
    with pytest.raises(DiskTrouble, match="cannot be removed: Is a directory; remove it"):
        remove(path)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("CREATE VIEW v AS SELECT 1", "view"),
        ("CREATE TRIGGER t AFTER INSERT ON one BEGIN DELETE FROM one; END", "trigger"),
        ("CREATE TABLE two (value, twice AS (2 * value))", "table"),
        ("CREATE VIRTUAL TABLE words USING fts5(text)", "table"),
        ("CREATE TABLE two (value, CHECK (length(hex(zeroblob(value)))))", "table"),
        ("CREATE TABLE two (value DEFAULT (hex(zeroblob(1e9))))", "table"),
        ("CREATE INDEX i ON one (hex(zeroblob(value)))", "n index"),
        ("CREATE INDEX i ON one (value) WHERE length(hex(zeroblob(value)))", "n index"),
        ("CREATE INDEX i ON one (value)", ""),
    ],
)
def test_code_in_somebody_elses_database_is_refused(made: str, kind: str) -> None:
    database = sqlite3.connect(":memory:")
    database.executescript(f"CREATE TABLE one (value); {made}")
    if not kind:
        assert plain(database) is database
        database.close()
        return
    with pytest.raises(sqlite3.DatabaseError, match=f"it has a ?{kind} that posse never makes"):
        plain(database)
    with pytest.raises(sqlite3.ProgrammingError):
        database.execute("SELECT 1")  # it is closed


ENDLESS = """
CREATE VIEW about AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT 'owner' AS name, i AS value FROM n WHERE i < 0
"""


def test_a_file_that_never_ends_is_refused_however_it_is_opened(tmp_path: Path) -> None:
    """`posse replay` asked a journal whose it is, and no signal ended that."""
    path = tmp_path / "theirs.journal"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(ENDLESS)
    for opened in (lambda: connect(path, 0.0), lambda: read_only(path)):
        with pytest.raises(sqlite3.DatabaseError, match="it has a view"):
            opened()
    with pytest.raises(InputError, match="is no journal of an agent"):
        owner_of(path)


def named_by(path: Path, victim: Path) -> bytes:
    """A journal left by a crash, as its format has it, of several databases: of the file `victim`.

    SQLite undoes what stands in it, then removes the file.
    """
    page, sector, nonce = 4_096, 512, 7
    first = path.read_bytes()[:page]
    head = bytes.fromhex("d9d505f920a163d7")
    numbers = struct.pack(">5I", 1, nonce, path.stat().st_size // page, sector, page)
    check = nonce + sum(first[at] for at in range(page - 200, 0, -200))
    body = struct.pack(">I", 1) + first + struct.pack(">I", check & 0xFFFFFFFF)
    name = str(victim).encode()
    end = struct.pack(">I", (1 << 30) // page + 1) + name
    end += struct.pack(">2I", len(name), sum(name)) + head
    return (head + numbers).ljust(sector, b"\0") + body + end


def test_a_journal_beside_a_database_removes_no_file(tmp_path: Path) -> None:
    """Whoever sent a log with its ledger chose a file that its reader lost."""
    path, victim = tmp_path / "log.ledger", tmp_path / "thesis"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE one (value)")
    victim.write_text("of three years")
    Path(f"{path}-journal").write_bytes(named_by(path, victim))
    for opened in (lambda: connect(path, 0.0), lambda: read_only(path)):
        with pytest.raises(sqlite3.DatabaseError, match="log.ledger-journal names a file"):
            opened()
    assert victim.exists()
    with closing(sqlite3.connect(path)) as database:  # it is what it is taken for
        database.execute("SELECT * FROM one")
    assert not victim.exists()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_what_stands_beside_a_database_is_a_file(put, end: str, tmp_path: Path) -> None:
    """SQLite waits for whoever writes into a pipe."""
    path = tmp_path / "log.ledger"
    connect(path, 0.0).close()
    put(f"{path}{end}")
    for opened in (lambda: connect(path, 0.0), lambda: read_only(path)):
        with pytest.raises(sqlite3.DatabaseError, match=f"log.ledger{end} is not a regular file"):
            opened()


def endless(path: Path) -> None:
    """Twelve pages of a tree, of which each names the next 40 times."""
    size = 512
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {size}")
        database.executescript("CREATE TABLE one (value); INSERT INTO one VALUES (1)")
    pages = bytearray(path.read_bytes())
    root = pages[size : 2 * size]
    pages += root
    for _ in range(12):
        child = struct.pack(">I", len(pages) // size)
        page = bytearray(size)
        page[:1], page[3:5], page[8:12] = b"\5", struct.pack(">H", 40), child
        page[5:7] = struct.pack(">H", size - 240)
        for cell in range(40):
            at = size - 6 * (cell + 1)
            page[12 + 2 * cell : 14 + 2 * cell] = struct.pack(">H", at)
            page[at : at + 5] = child + b"\1"
        pages += page
    pages[size : 2 * size] = pages[-size:]
    pages[28:32] = struct.pack(">I", len(pages) // size)
    pages[92:96] = pages[24:28]
    path.write_bytes(pages)


def test_pages_that_name_each_other_are_refused(tmp_path: Path) -> None:
    """Of 8 kB `posse ledger` read 40^12 rows."""
    path = tmp_path / "log.ledger"
    endless(path)
    for opened in (lambda: connect(path, 0.0), lambda: read_only(path)):
        with pytest.raises(sqlite3.DatabaseError, match="it is damaged: "):
            opened()


def test_a_value_is_no_longer_than_any_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "log.ledger"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE one (value); INSERT INTO one VALUES (zeroblob(70000000))"
        )
    with closing(read_only(path)) as database, pytest.raises(sqlite3.DataError, match="too big"):
        database.execute("SELECT value FROM one").fetchall()
