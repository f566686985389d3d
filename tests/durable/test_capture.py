"""A file of frames that several processes write."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgpack
import pytest

from posse.durable.capture import Capture, writing
from posse.errors import InputError, PosseError
from posse.gates.disk import DISK, Disk

WRITER = """
import sys
from pathlib import Path
from posse.durable.capture import Capture

capture = Capture(Path(sys.argv[1]))
rank = int(sys.argv[2])
for number in range(300):
    capture(rank, None, bytes([rank]) * (1 + 37 * number))
print("written", flush=True)
sys.stdin.read()
"""


def test_processes_write_whole_rows_and_a_kill_loses_none_of_them(tmp_path: Path) -> None:
    with writing(tmp_path / "frames") as capture:
        assert capture is not None
        started = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(capture.path), str(rank)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for rank in range(3)
        ]
        for process in started:
            with process:
                assert process.stdout.readline() == b"written\n"
                process.kill()
        capture(-1, 2, b"last")
    with capture.path.open("rb") as file:
        head, *rows = msgpack.Unpacker(file)
    assert head == {"posse": "capture", "version": 1}
    assert [row[1:] for row in rows[-1:]] == [[-1, 2, b"last"]]
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 3
    for rank in range(3):
        data = [row[3] for row in rows if row[1] == rank]
        assert data == [bytes([rank]) * (1 + 37 * number) for number in range(300)]
        times = [row[0] for row in rows if row[1] == rank]
        assert times == sorted(times)


def frames_in(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        head, *rows = msgpack.Unpacker(file)
    assert head == {"posse": "capture", "version": 1}
    return [frame for *_, frame in rows]


def test_a_new_capture_begins_the_file_and_another_adds_to_it(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    with writing(path) as before:
        assert before is not None
        before(0, 1, b"what was there")
    with writing(path):
        added = Capture(path)
        added(0, 1, b"frame")
        added.close()
    assert frames_in(path) == [b"frame"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_no_capture_is_written_over_a_log_of_rewards(tmp_path: Path, goes_on: bool) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text("arm,reward\n0,1\n")
    with pytest.raises(InputError, match=r"rewards\.csv is there and is no capture; name another"):
        writing(path, goes_on=goes_on)
    assert path.read_text() == "arm,reward\n0,1\n"


def test_who_was_killed_and_goes_on_adds_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    for number in range(2):  # the first time there is no file to add to
        with writing(path, goes_on=True) as capture:
            assert capture is not None
            capture(0, 1, bytes([number]))
    assert frames_in(path) == [b"\0", b"\1"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent/frames cannot be written: No such file"):
        Capture(tmp_path / "absent" / "frames")


def test_a_file_that_others_may_read_becomes_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    path.touch(mode=0o644)
    with writing(path):
        assert path.stat().st_mode & 0o777 == 0o600
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo, 0o644)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with writing(fifo):
        assert fifo.stat().st_mode & 0o777 == 0o644
    os.close(reader)


def test_a_full_disk_is_said_once_so_that_others_can_still_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(tmp_path / "frames") as capture:
        assert capture is not None
        monkeypatch.setattr(os, "write", lambda file, data: len(data) - 1)
        with pytest.raises(PosseError, match="no space is left for a whole frame"):
            capture(0, -1, b"a frame")
        capture(0, -1, b"why this agent ends")


class Filling(Disk):
    """A disk with room for so many more bytes at the ends of files."""

    def __init__(self, room: int) -> None:
        self.room = room

    def adds(self, path: Path, data: bytes) -> bytes:
        return data[: self.room]


@pytest.mark.parametrize("room", range(0, 12, 3))
def test_a_capture_goes_on_behind_its_last_whole_row_after_a_full_disk(
    room: int, tmp_path: Path
) -> None:
    path = tmp_path / "frames"
    with writing(path) as other, writing(path, goes_on=True) as capture:
        assert capture is not None
        assert other is not None
        capture(0, 1, b"before")
        token = DISK.set(Filling(room))
        for each in (capture, other):
            with pytest.raises(PosseError, match="no space is left for a whole frame"):
                each(0, 1, b"without room")
        DISK.reset(token)
    with writing(path, goes_on=True) as again:
        assert again is not None
        again(0, 1, b"after")
    assert frames_in(path) == [b"before", b"after"]
