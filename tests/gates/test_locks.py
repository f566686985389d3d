"""Two processes never write into one folder."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posse.durable.ledger import Ledger
from posse.durable.scratch import Scratch, clear
from posse.errors import DiskTrouble, InputError
from posse.gates import locks

HOLD = """
import sys
from pathlib import Path
from posse.gates import locks
with locks.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout.readline() == b"held\n"
        with (
            pytest.raises(InputError, match=f"is being written by process {first.pid}; wait"),
            locks.held(tmp_path),
        ):
            pass
        first.kill()
    with locks.held(tmp_path):
        pass
    with locks.held(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_costs_a_sentence(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lustre, NFS without lockd, some of FUSE."""

    def flock(descriptor: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with locks.held(tmp_path):
        pass
    assert [line.getMessage() for line in caplog.records] == [
        f"{tmp_path}: its file system has no locks, so nobody keeps another command from writing "
        "there meanwhile"
    ]
    left = Scratch()
    clear()
    assert left.path.exists()  # nobody knows whether its process is gone
    left.remove()
    ledger = Ledger(tmp_path / "rewards.csv.ledger")
    with pytest.raises(DiskTrouble, match="its file system has no locks"), ledger._opened():
        pass


def test_what_stands_in_the_place_of_a_lock_is_left_alone(tmp_path: Path) -> None:
    """A folder of results that somebody sent may have any links (attack r01)."""
    victim, lock = tmp_path / "victim", tmp_path / "sent" / locks.LOCK
    lock.parent.mkdir()
    victim.write_text("ssh-ed25519 AAAA precious")
    for put in (lock.symlink_to, lock.hardlink_to, lambda path: lock.write_text("mine")):
        put(victim)
        with pytest.raises(InputError, match=r"\.lock is"), locks.held(lock.parent):
            pass
        lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(InputError, match="is not a regular file"), locks.held(lock.parent):
        pass
    assert victim.read_text() == "ssh-ed25519 AAAA precious"
