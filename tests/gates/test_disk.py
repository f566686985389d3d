"""The gates ask the process's disk before they write."""

import errno
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posse.errors import DiskTrouble
from posse.gates import databases, files
from posse.gates.disk import DISK, Disk


class Noting(Disk):
    """A disk that notes what it is asked, and fails when it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False
        self.room = 1 << 20

    def writes(self, path: Path) -> None:
        self.asked.append(f"write {path.name}")
        if self.fails:
            raise OSError(errno.EIO, "Input/output error", str(path))

    def removes(self, path: Path) -> None:
        self.writes(path)
        self.asked[-1] = f"remove {path.name}"

    def adds(self, path: Path, data: bytes) -> bytes:
        self.asked.append(f"add {path.name}")
        return data[: self.room]

    def database(
        self, path: Path, timeout: float, connect: Callable[[float], sqlite3.Connection]
    ) -> sqlite3.Connection:
        self.asked.append(f"open {path.name}")
        return connect(timeout)


@pytest.fixture
def disk() -> Iterator[Noting]:
    made = Noting()
    token = DISK.set(made)
    yield made
    DISK.reset(token)


def test_all_that_is_written_is_asked_for(disk: Noting, tmp_path: Path) -> None:
    files.write(tmp_path / "text", "one")
    log = files.append(tmp_path / "log")
    assert files.add(log, tmp_path / "log", b"whole")
    disk.room = 2
    assert not files.add(log, tmp_path / "log", b"torn")
    assert files.read(tmp_path / "log") == b"whole"
    databases.connect(tmp_path / "ledger", 0.0).close()
    databases.remove(tmp_path / "ledger")
    asked = (
        ["write text"] * 2
        + ["add log"] * 2
        + ["open ledger", *(f"remove ledger{part}" for part in ("", "-wal", "-shm"))]
    )
    assert disk.asked == asked


def test_what_fails_leaves_what_was_there(disk: Noting, tmp_path: Path) -> None:
    files.write(tmp_path / "text", "one")
    databases.connect(tmp_path / "ledger", 0.0).close()
    disk.fails = True
    with pytest.raises(OSError, match="Input/output error"):
        files.write(tmp_path / "text", "two")
    with pytest.raises(DiskTrouble, match="cannot be removed: Input/output error; remove it"):
        databases.remove(tmp_path / "ledger")
    assert files.text(tmp_path / "text") == "one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger", "text"]
