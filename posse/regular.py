"""Files that others name: only regular ones are opened, and none that is too large.

A named pipe would wait for a writer, and a device may never end.
"""

import bz2
import errno
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20
MOST = 1 << 30
"""Bytes of the largest file that is read whole, unless less is problem."""

PACKED: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
"""What unpacks a file, by the end of its name, as pandas has it."""

NOT_UNPACKED = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What these raise."""

_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""A shell hands its own pipes over by these names."""


def opened(path: Path, most: int | None = None) -> BinaryIO:
    """A regular file, of at most `most` bytes if given, to be read; `OSError` for any other."""
    descriptor = os.open(path, _OPEN)
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
