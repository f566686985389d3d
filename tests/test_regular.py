"""Only regular files are opened, and none that is too large."""

import os
from pathlib import Path

import pytest

from posse import regular


def test_a_file_is_read_whole_if_it_is_no_larger_than_allowed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert regular.read(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, and at most 4 are read"):
        regular.read(tmp_path / "file", 4)


def test_a_pipe_a_device_and_a_folder_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="it is not a regular file"):
            regular.read(path, 5, pipes=True)
    with pytest.raises(IsADirectoryError):
        regular.read(tmp_path, 5)


def test_the_shells_own_pipe_is_read(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"123456")
    os.close(theirs)
    path = Path(f"/dev/fd/{ours}")
    assert regular.read(path, 6, pipes=True) == b"123456"
    with pytest.raises(OSError, match="it is not a regular file"):
        regular.read(path, 6)
    os.close(ours)
