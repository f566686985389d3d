"""Files are opened, made and replaced in one place."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.gates import files

FOREVER = """
import sys, time
from pathlib import Path
from posse.gates import files
with files.replacing(Path(sys.argv[1])) as file:
    file.write("half")
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    files.write(path, "first")
    with pytest.raises(ValueError, match="closed"), files.replacing(path) as file:
        print("sec", file=file, end=file.close())
    assert path.read_text() == "first"
    files.write(path, b"\xce\xb5")
    assert path.read_text(encoding="utf-8") == "ε"
    files.write(path, "a file's name: \udce9")
    assert path.read_text() == "a file's name: \\udce9"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("name", ["report.html", "report.html.half"])
def test_a_link_is_replaced_and_its_target_left_alone(name: str, tmp_path: Path) -> None:
    """A folder of results that somebody sent may have any links."""
    (tmp_path / "mine").write_text("precious")
    (tmp_path / name).symlink_to(tmp_path / "mine")
    files.write(tmp_path / "report.html", "page")
    assert (tmp_path / "report.html").read_text() == "page"
    assert (tmp_path / "mine").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_kill_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    files.write(path, "first")
    with subprocess.Popen(
        [sys.executable, "-P", "-c", FOREVER, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_text() == "first"
    files.write(path, "second")
    assert path.read_text() == "second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


@contextmanager
def exhausted() -> Iterator[list[int]]:
    """No descriptor is free below the soft limit; those that were taken for that, to be closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
    try:
        with suppress(OSError):
            for _ in range(100):
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield taken
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == highest + 8
    finally:
        close(taken)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def close(taken: list[int]) -> None:
    while taken:
        os.close(taken.pop())


def test_files_have_descriptors_that_connections_cannot_take(tmp_path: Path) -> None:
    with exhausted():
        files.write(tmp_path / "result.json", "there")
    assert (tmp_path / "result.json").read_text() == "there"


def test_no_free_descriptor_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_reserve", nullcontext)  # all of it is used
    with exhausted() as taken:
        freeing = threading.Timer(0.1, close, [taken])
        freeing.start()
        files.write(tmp_path / "result.json", "there")
        freeing.join()
    assert (tmp_path / "result.json").read_text() == "there"


@given(st.binary(max_size=40), st.integers(0, 40))
@example(b"12345", 5)
@example(b"12345", 4)
def test_a_file_is_read_whole_if_it_is_no_larger_than_allowed(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, most: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "read"
    path.write_bytes(content)
    if len(content) <= most:
        assert files.read(path, most) == content
    else:
        said = f"it has {len(content)} bytes, and at most {most} are read"
        with pytest.raises(OSError, match=said):
            files.read(path, most)


def test_a_pipe_a_device_and_a_folder_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="it is not a regular file"):
            files.read(path, 5, pipes=True)
    with pytest.raises(IsADirectoryError):
        files.read(tmp_path, 5)


def test_the_shells_own_pipe_is_read(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"123456")
    os.close(theirs)
    path = Path(f"/dev/fd/{ours}")
    assert files.read(path, 6, pipes=True) == b"123456"
    with pytest.raises(OSError, match="it is not a regular file"):
        files.read(path, 6)
    os.close(ours)


def test_a_folder_of_ours_is_not_a_link_and_a_private_one_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "kept").symlink_to(tmp_path / "home")
    with pytest.raises(NotADirectoryError, match="it is a link"):
        files.make_folder(tmp_path / "kept", inside=True)
    files.make_folder(tmp_path / "kept")
    files.make_private(tmp_path / "own")
    files.make_private(tmp_path / "own")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    (tmp_path / "own").chmod(0o750)
    for name in ("kept", "own"):
        with pytest.raises(PermissionError, match="it is not this user's alone"):
            files.make_private(tmp_path / name)


def test_no_link_is_followed_where_posse_appends_or_claims(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    for way in (files.append, files.claim, lambda path: files.opened(path, links=False)):
        with pytest.raises(OSError, match="link"):
            way(tmp_path / "link")
    (tmp_path / "hard").hardlink_to(tmp_path / "victim")
    for way in (files.append, files.claim):
        with pytest.raises(OSError, match="hard is a hard link of another file"):
            way(tmp_path / "hard")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is not a regular file"):
        files.claim(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):  # nobody reads it, and none is waited for
        files.append(tmp_path / "pipe")
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_stream_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    files.write(Path(f"/dev/fd/{theirs}"), "a page")
    os.close(theirs)
    assert os.read(ours, 100) == b"a page"
    os.close(ours)


def test_room_is_looked_for_by_several_processes_at_once(tmp_path: Path) -> None:
    code = f"from posse.verbs import require_room\nfor _ in range(30): require_room({tmp_path!r})"
    code = "from pathlib import Path, PosixPath, WindowsPath\n" + code
    looking = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [each.wait(timeout=60) for each in looking] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == []


def test_lines_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 1 << 12)
    kept: list[str] = []
    assert list(files.lines(StringIO("0,1\n\n0,1"), kept)) == kept == ["0,1\n", "\n", "0,1"]
    for text in ("\n" * 17, "0,1\n" * 257, "0" * 5_000):
        with pytest.raises(OSError, match="it has more than 4,096 characters"):
            list(files.lines(StringIO(text)))
    monkeypatch.setattr(files, "MOST", 1 << 30)
    with pytest.raises(OSError, match="a line has more than 1,048,576 characters"):
        list(files.lines(StringIO("0" * (1 << 21))))
