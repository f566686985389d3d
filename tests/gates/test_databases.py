"""What journals ask of this machine's disk."""

import sqlite3
from pathlib import Path

import pytest

from posse.gates.databases import DISK, plain


def test_a_database_is_made_and_removed_with_its_other_files(tmp_path: Path) -> None:
    path = tmp_path / "agent.journal"
    database = DISK.database(path, 0.0)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE one (value)")
    assert len(list(tmp_path.iterdir())) == 3
    database.close()
    DISK.remove(path)
    DISK.remove(path)
    assert not list(tmp_path.iterdir())


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
