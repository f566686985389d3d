"""Databases on this machine's disk."""

import sqlite3
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
    with pytest.raises(sqlite3.DatabaseError, match=f"it has a {kind} that posse never makes"):
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
