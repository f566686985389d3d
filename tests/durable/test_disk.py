"""What journals ask of this machine's disk."""

from pathlib import Path

from posse.durable.disk import DISK


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
