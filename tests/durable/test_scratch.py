"""Folders for sockets: nobody's is left, and nobody's that is in use is taken away."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from posse.durable import scratch as module
from posse.durable.scratch import Scratch, clear
from posse.gates import locks

HOLD = """
import sys
from posse.durable.scratch import Scratch
print(Scratch().path, flush=True)
sys.stdin.read()
"""


def test_a_folder_is_private_and_removed() -> None:
    scratch = Scratch()
    assert scratch.path.stat().st_mode & 0o777 == 0o700
    (scratch.path / "hub").touch()
    scratch.remove()
    scratch.remove()
    assert not scratch.path.exists()


def test_what_a_killed_process_left_is_cleared_by_the_next_and_no_sooner() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        folder = Path(process.stdout.readline().strip())
        (folder / "hub").touch()
        clear()
        assert (folder / "hub").exists()
        process.kill()
    Scratch().remove()
    assert not folder.exists()


def test_what_others_made_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "posse-notes").mkdir()
    (tmp_path / "posse-notes" / "text").touch()
    (tmp_path / "posse-file").touch()
    Scratch().remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["posse-file", "posse-notes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a link to another user")
def test_no_link_of_another_user_is_followed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a folder that all may write, they could name a folder of ours that has a file `lock`."""
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "lock").touch()
    everybodys = tmp_path / "tmp"
    everybodys.mkdir()
    (everybodys / "posse-a").symlink_to(ours)
    os.lchown(everybodys / "posse-a", 12_345, 12_345)
    monkeypatch.setattr(tempfile, "tempdir", str(everybodys))
    Scratch().remove()
    assert (ours / "lock").exists()


def test_a_name_that_leaves_no_room_for_a_socket_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    scratch = Scratch()
    try:
        assert scratch.path.parent == Path("/tmp")
    finally:
        scratch.remove()


def test_a_folder_that_another_run_clears_before_it_is_locked_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two runs begin in two threads: one sees the other's folder before its lock is held."""
    tried = []

    def take(descriptor: int) -> bool:
        tried.append(descriptor)
        if len(tried) == 1:
            clear()  # takes the lock first: it finds no holder
        return locks.take(descriptor)

    monkeypatch.setattr(module, "take", take)
    scratch = Scratch()
    assert len(tried) > 2
    assert scratch.path.exists()
    scratch.remove()
