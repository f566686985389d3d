"""After a loss of power at any system call, what was promised before is still on disk."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posse.durable.journal import Journal
from posse.durable.lifetime import read
from posse.gates.signatures import SignedRegister
from tests.support.ledger import Run, log, task
from tests.support.patience import PATIENCE
from tests.support.power import losses, traced

__all__ = ["log"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

RUNS = """
import os, sys
from pathlib import Path
from tests.support.ledger import Run, task

for _ in range(2):
    run = Run(Path(sys.argv[1]) / "rewards-3.csv", task({}))
    for counts in ((1, 0), (0, 1)):
        run.uses(*counts)
        os.write(1, b"used " * sum(counts))
    run.ends()
"""

WRITES = """
import os, sys
from pathlib import Path
from posse.durable.journal import FRAME, Journal
from posse.gates import files
from posse.gates.signatures import SignedRegister

folder = Path(sys.argv[1])
journal = Journal(folder / "journal", "agent 0")
register = SignedRegister(folder / "signed", lasts=True)
journal.begin("here")
os.write(1, b"begun ")
for number in range(4):
    files.write(folder / "result", str(number + 1))
    os.write(1, b"file ")
    journal.add(FRAME, number)
    journal.commit()
    os.write(1, b"row ")
    register.claim(b"run", b"kind", bytes([number]), bytes(64))
    register.commit()
    os.write(1, b"signed ")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where waiting for the disk takes no time, as the program's own disk is not tested."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


def found(program: str, folder: Path) -> Iterator[tuple[Counter[str], Path]]:
    """What a program had said, and a folder as power may have left it, after each of its calls."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    calls = traced(program, folder, folder=folder.parent, timeout=2 * PATIENCE)
    for path in folder.iterdir():
        path.unlink() if path.name not in before else path.write_bytes(before[path.name])
    for number, (disk, contents) in enumerate(losses(calls, folder, seed=1)):
        left = folder.with_name(f"left-{number}")
        left.mkdir()
        for name, content in contents.items():
            (left / name).write_bytes(content)
            (left / name).chmod(0o600)
        yield Counter(disk.said), left
        shutil.rmtree(left)


@pytest.mark.parametrize("persons", [False, True])
def test_no_reward_that_was_used_is_forgotten_and_the_next_run_begins(
    persons: bool, log: Path, folder: Path
) -> None:
    about: dict[str, Any] = {"person": "who", "rewards_per_person": 1} if persons else {}
    if persons:
        header, *rows = log.read_text().split()
        named = [f"{row},p{number}" for number, row in enumerate(rows)]
        log.write_text("\n".join([f"{header},who", *named, ""]))
    own = folder / "own"
    own.mkdir()
    shutil.copy(log, own)
    given = ", ".join(f"{name}={value!r}" for name, value in about.items())
    said: Counter[str] = Counter()
    for said, left in found(RUNS.format(given), own):
        Run(left / log.name, task(**about)).ends()
        assert sum(run.rewards for run in read(left / log.name).runs) >= said["used"]
    assert said["used"] == 4


def test_what_was_written_and_waited_for_is_there(folder: Path) -> None:
    own = folder / "own"
    own.mkdir()
    said: Counter[str] = Counter()
    for said, left in found(WRITES, own):
        result = left / "result"
        assert int(result.read_text() if result.exists() else "0") >= said["file"]
        if said["begun"]:
            with Journal(left / "journal", "agent 0").replay() as inputs:
                assert [rank for _, rank, _ in inputs][: said["row"]] == [*range(said["row"])]
        if said["signed"]:
            register = SignedRegister(left / "signed", lasts=True)
            register.make()
            for number in range(said["signed"]):
                assert register._kept((b"run", b"kind", bytes([number])))
            register.close()
    assert said["signed"] == 4
