"""Files and folders: whatever posse opens, makes or replaces goes through here.

Reading: only regular files are opened, and none that is too large. A named pipe would wait for a
writer, and a device may never end.

Writing: a file is there whole or not at all, whatever happens meanwhile, and no link is followed. A
folder of results that somebody sent may hold any links, and whoever can make a link would decide
what is overwritten.
"""

import bz2
import errno
import gzip
import lzma
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, TypeVar

from posse.errors import InputError
from posse.gates import owners
from posse.gates.disk import DISK

MOST = 1 << 30
"""Bytes of the largest file that is read whole, unless less is problem."""

PACKED: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
"""What unpacks a file, by the end of its name, as pandas has it."""

NOT_UNPACKED = (OSError, EOFError, MemoryError, zlib.error, lzma.LZMAError)
"""What these raise; a few bytes may ask for a dictionary of 4 GiB."""

LONGEST_LINE = 1 << 20
"""Characters of a line of text, with its end; a longer one is none of a table."""

_LEAST, _EMPTY = 16, 256
"""As how many characters at least a line counts, and an empty one."""

RESERVE = 32
"""Descriptors between the soft and the hard limit of a coordinator, which only files may use."""

_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_CHUNK = 1 << 20

_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""A shell hands its own pipes over by these names."""

_STREAMS = ("/dev/std", "/dev/fd/", "/dev/null", "/dev/tty", "/proc/self/fd/")
"""What a user may name to be written to that is no file."""

_ROOM = 1 << 20
"""Bytes that must fit onto the disk before anything starts."""

_PATIENCE = 10.0
"""Seconds to wait for a free descriptor: a flood of connections may take all of them, until the
process's door closes it (`posse.wire.door`)."""

T = TypeVar("T")


def require_files(*files: object) -> None:
    """`TypeError` if one is text: what is restored may name no file, so its reader gives them."""
    if not all(file is None or isinstance(file, Path) for file in files):
        raise TypeError("it names a file")


# --- reading -------------------------------------------------------------------------------------


def opened(path: Path, most: int | None = None, *, links: bool = True) -> BufferedReader:
    """A regular file, of at most `most` bytes if given, to be read; `OSError` for any other.

    Without `links` a link in its place is not followed.
    """
    flags = os.O_RDONLY | _NO_WAIT | _BINARY | (0 if links else _NO_LINK)
    return _checked(path, os.open(path, flags), most)


def read(path: Path, most: int = MOST, *, pipes: bool = False) -> bytes:
    """The content of such a file; with `pipes` also of the shell's own pipes."""
    piped = pipes and str(path).startswith(_PIPES) and not path.is_file()
    with path.open("rb") if piped else opened(path, most) as file:
        content = bytearray()
        while chunk := file.read(_CHUNK):
            content += chunk
            if len(content) > most:
                raise OSError(errno.EFBIG, f"at most {most:,} bytes are read", str(path))
    return bytes(content)


def text(path: Path, most: int = MOST) -> str:
    """The text of such a file; what is not UTF-8 raises a `ValueError`."""
    return read(path, most).decode()


def why(error: Exception) -> str:
    """What kept a file from being read or unpacked, in words."""
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    return getattr(error, "strerror", None) or str(error)


def lines(file: TextIO, latest: list[str] | None = None) -> Iterator[str]:
    """The lines of a file, also put into `latest`; `OSError` for one that is too long, or for more
    than `MOST` characters: a packed one may be far larger than it is.
    """
    left = MOST
    while line := file.readline(LONGEST_LINE):
        # a short line takes as long to read as one of so many characters, and an empty one says
        # nothing
        left -= max(len(line), _LEAST if len(line) > len("\r\n") else _EMPTY)
        if left < 0 or len(line) == LONGEST_LINE:
            what, most = ("a line", LONGEST_LINE) if left >= 0 else ("it", MOST)
            raise OSError(errno.EFBIG, f"{what} has more than {most:,} characters")
        if latest is not None:
            latest.append(line)
        yield line


def _checked(path: Path, descriptor: int, most: int | None) -> BufferedReader:
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if most is not None and status.st_size > most:
            problem = f"it has {status.st_size:,} bytes, and at most {most:,} are read"
            raise OSError(errno.EFBIG, problem, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def claim(path: Path, *, make: bool = True, mode: int = 0o600) -> int:
    """A descriptor of a regular file that is posse's own, made if need be; `OSError` otherwise.

    No link is followed, and a hard link is refused: its file has another owner of its content.
    """
    return _claimed(path, os.O_RDWR | (os.O_CREAT if make else 0), mode)


def append(path: Path) -> int:
    """A descriptor for writing at the end of such a file, or into a pipe that somebody reads."""
    descriptor = _claimed(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, pipes=True)
    os.set_blocking(descriptor, True)
    return descriptor


def _claimed(path: Path, how: int, mode: int = 0o600, *, pipes: bool = False) -> int:
    try:
        descriptor = os.open(path, how | _NO_WAIT | _NO_LINK | _BINARY, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{path.name} is a link", str(path)) from None
        raise
    status = os.fstat(descriptor)
    regular = stat.S_ISREG(status.st_mode)
    if (regular and status.st_nlink < 2) or (pipes and not regular):
        return descriptor
    os.close(descriptor)
    problem = "a hard link of another file" if regular else "not a regular file"
    raise OSError(errno.EINVAL, f"{path.name} is {problem}", str(path))


def add(descriptor: int, path: Path, data: bytes) -> bool:
    """Write at the end of the file at `path`; False, and it stays as it was, without room for all.

    Of a part, and of what others add behind it, nobody could tell where the next row begins.
    """
    written = os.write(descriptor, DISK.get().adds(path, data))
    if 0 < written < len(data):
        with suppress(OSError):  # a pipe keeps what it was given
            before = os.lseek(descriptor, 0, os.SEEK_CUR) - written
            os.ftruncate(descriptor, min(before, os.fstat(descriptor).st_size))
    return written == len(data)


# --- writing -------------------------------------------------------------------------------------


def is_stream(path: Path) -> bool:
    """Whether a path is no file but what a shell, or the system, hands over to be written to."""
    return str(path).startswith(_STREAMS)


@contextmanager
def replacing(path: Path, *, private: bool = False, lasting: bool = True) -> Iterator[IO[str]]:
    """A text file to write; it replaces an earlier one when the block has ended well.

    By then it is on disk, if it is `lasting`. After a kill, an error or a full disk (`OSError`) the
    earlier one stays. A link is replaced, and its target left alone. A `private` file is its
    owner's alone.
    """
    if is_stream(path):  # nothing to replace
        with os.fdopen(os.open(path, os.O_WRONLY), "w", encoding="utf-8", newline="") as file:
            yield file
        return
    disk, half = DISK.get(), path.with_name(f"{path.name}.half")
    disk.writes(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY
    try:
        half.unlink(missing_ok=True)
        descriptor = _patiently(lambda: os.open(half, flags, 0o600 if private else 0o666))
        with os.fdopen(
            descriptor, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        disk.writes(path)
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    if lasting:
        _sync(path.parent)


def write(path: Path, content: str | bytes, *, private: bool = False, lasting: bool = True) -> None:
    """Write a file of this content, whole; see `replacing`."""
    with replacing(path, private=private, lasting=lasting) as file:
        if isinstance(content, str):
            file.write(content)
        else:
            file.buffer.write(content)  # type: ignore[attr-defined]


def make_folder(path: Path, *, inside: bool = False, new: bool = False) -> None:
    """Make a folder that a user named, with those above it, unless it is there and need not be new.

    One `inside` such a folder is posse's own: `OSError` if a link is in its place.
    """
    path.mkdir(parents=True, exist_ok=not new)
    if inside and path.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "it is a link", str(path))


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, unless it is there; `OSError` if it is somebody else's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or not owners.is_private(status):
        raise PermissionError(errno.EPERM, "it is not this user's alone", str(folder))


def remove(path: Path) -> None:
    """Remove a file, a socket or a link, not what it leads to; what is gone is no error."""
    DISK.get().removes(path)
    path.unlink(missing_ok=True)


def new_folder(prefix: str, within: Path | None = None) -> Path:
    """Make a folder for its owner alone under a name that nobody can know before."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=within))


def temporary(
    prefix: str = "posse-", within: Path | None = None, *, surely: bool = True
) -> tempfile.TemporaryDirectory[str]:
    """Such a folder for the length of a block; if not `surely`, what cannot be removed stays."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=within, ignore_cleanup_errors=not surely)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it; no link is followed, and what is gone is no error."""
    shutil.rmtree(folder, ignore_errors=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder that is there and that nothing is in."""
    with suppress(OSError):
        folder.rmdir()


def require_room(folder: Path) -> None:
    """`InputError` if a folder cannot be written: it is not ours, or its disk is full."""
    room = folder / f".room-{os.getpid()}"  # others may ask at the same time
    try:
        write(room, bytes(_ROOM))
        room.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None


def _sync(folder: Path) -> None:
    """Flush the new name to disk too, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        opened_folder = _patiently(lambda: os.open(folder, os.O_RDONLY))
        try:
            os.fsync(opened_folder)
        finally:
            os.close(opened_folder)


def _patiently(open_: Callable[[], T]) -> T:
    """Open something, and try again while the process has no free descriptor."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return open_()
        except OSError as error:
            if error.errno != errno.EMFILE or time.monotonic() > until:
                raise
        with _reserve(), suppress(OSError):
            return open_()
        time.sleep(0.01)


@contextmanager
def _reserve() -> Iterator[None]:
    """Lift the soft limit of open files to the hard one."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
