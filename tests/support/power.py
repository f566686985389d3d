"""What a loss of power may leave of a folder, after each system call of a program (by strace).

A write or a shortening is safe once its file was synced, a name once its folder was. Of what is not
safe a loss of power leaves all, nothing, or any part; a write may be torn at a sector. So each call
of a real program, SQLite's too, is followed by several folders that may be found after it.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

_CALLS = "openat,open,lseek,write,pwrite64,ftruncate,fsync,fdatasync,unlink,unlinkat,close"
_CALLS += ",rename,renameat,renameat2"
_LINE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_SECTOR = 512


def traced(program: str, *arguments: object, folder: Path, timeout: float) -> list[str]:
    """The system calls of a Python program that ends well, a line each."""
    trace = folder / "trace"
    words = ["strace", "-o", trace, "-e", f"trace={_CALLS}", "-xx", "-s", "10000000"]
    code = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        [*map(str, words), *map(str, code)],
        capture_output=True,
        check=False,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return trace.read_text().splitlines()


class _File:
    """What is safe of a file, and what was done since: where, and data, or None (cut there)."""

    def __init__(self, safe: bytes = b"") -> None:
        self.safe = safe
        self.since: list[tuple[int, bytes | None]] = []

    def found(self, survives: Callable[[], bool], torn: Callable[[int], int]) -> bytes:
        content = bytearray(self.safe)
        for place, data in self.since:
            if not survives():
                continue
            if data is None:
                del content[place:]
                content += bytes(max(0, place - len(content)))
            else:
                kept = data[: torn(len(data))]
                content += bytes(max(0, place - len(content)))
                content[place : place + len(kept)] = kept
        return bytes(content)

    @property
    def size(self) -> int:
        return len(self.found(lambda: True, lambda size: size))


class Disk:
    """The files of one folder, as the calls so far made them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.safe = {path.name: _File(path.read_bytes()) for path in folder.iterdir()}
        self.since: list[tuple[str, _File | None]] = []
        """Names since the folder was synced, and what they mean now; None for none."""
        self.said: list[str] = []
        """What the program wrote to its output."""
        self._open: dict[int, tuple[str, _File | None, int]] = {}
        self._ends: set[int] = set()

    def names(self, left: int | None = None) -> dict[str, _File]:
        """Of the names that are not safe those of the first `left` changes."""
        names = dict(self.safe)
        for name, file in self.since[:left]:
            if file is None:
                names.pop(name, None)
            else:
                names[name] = file
        return names

    def does(self, line: str) -> bool:
        """Follow a call; whether it changes what may be found."""
        match = _LINE.match(line)
        if match is None or match[3].startswith("-"):
            return False
        call, given, returned = match[1], match[2], int(match[3])
        texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(given)]
        if call in ("open", "openat"):
            return self._opens(returned, texts[0].decode(), given)
        if call.startswith(("unlink", "rename")):
            return self._renames([self._own(text.decode()) for text in texts])
        number, *rest = given.split(", ")
        return self._of_descriptor(call, int(number), texts, rest, returned)

    def _own(self, path: str) -> str | None:
        whole = Path(os.path.abspath(path))
        return whole.name if whole.parent == self.folder else None

    def _opens(self, descriptor: int, path: str, given: str) -> bool:
        if os.path.abspath(path) == str(self.folder):
            self._open[descriptor] = ("", None, 0)
            return False
        name = self._own(path)
        self._open.pop(descriptor, None)
        if name is None or ("O_RDONLY" in given and "O_CREAT" not in given):
            return False
        new = name not in self.names()
        if new:
            self.since.append((name, _File()))
        file = self.names()[name]
        if "O_TRUNC" in given and not new:
            file.since.append((0, None))
        self._open[descriptor] = (name, file, file.size if "O_APPEND" in given else 0)
        return new

    def _renames(self, names: list[str | None]) -> bool:
        if names[0] is None:
            return False
        file = self.names().get(names[0])
        self.since.append((names[0], None))
        if len(names) > 1 and names[1] is not None:
            self.since.append((names[1], file))
        return True

    def _of_descriptor(
        self, call: str, number: int, texts: list[bytes], rest: list[str], returned: int
    ) -> bool:
        if call == "write" and number == 1:
            self.said += texts[0].decode().split()
            return True
        if number not in self._open:
            return False
        name, file, place = self._open[number]
        if call == "close":
            del self._open[number]
        elif file is None:
            if call in ("fsync", "fdatasync"):
                self.safe, self.since = self.names(), []
                return True
        elif call == "lseek":
            self._open[number] = (name, file, returned)
        elif call in ("write", "pwrite64"):
            at = place if call == "write" else int(rest[-1])
            file.since.append((at, texts[0][:returned]))
            if call == "write":
                self._open[number] = (name, file, place + returned)
            return True
        elif call == "ftruncate":
            file.since.append((int(rest[0]), None))
            return True
        elif call in ("fsync", "fdatasync"):
            file.safe, file.since = file.found(lambda: True, lambda size: size), []
            return True
        return False

    def found(self, chance: random.Random) -> Iterator[dict[str, bytes]]:
        """Contents by name, as they may be found after a loss of power now."""
        whole = lambda size: size  # noqa: E731
        ways: list[tuple[int, Callable[[], bool], Callable[[int], int]]] = [
            (names, lambda kept=kept: kept, whole)  # type: ignore[misc]
            for names in {0, len(self.since)}
            for kept in (False, True)
        ]
        torn = lambda size: min(size, _SECTOR * chance.randint(0, size // _SECTOR + 1))  # noqa: E731
        ways.append((chance.randint(0, len(self.since)), lambda: chance.random() < 0.5, torn))
        for left, survives, tears in ways:
            files = self.names(left)
            yield {name: file.found(survives, tears) for name, file in files.items()}


def losses(calls: list[str], folder: Path, seed: int) -> Iterator[tuple[Disk, dict[str, bytes]]]:
    """After each call that changes something, what may be found; `folder` is as it was before.

    The same is found once only, if the program said no more meanwhile.
    """
    disk, chance, seen = Disk(folder), random.Random(seed), set()
    for line in calls:
        for contents in disk.found(chance) if disk.does(line) else ():
            state = hash((len(disk.said), frozenset(contents.items())))
            if state not in seen:
                seen.add(state)
                yield disk, contents
