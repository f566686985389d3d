"""Commands of posse in processes of their own, forked from one that has loaded it.

`python -m tests.fuzz.verbs` reads a line of JSON for each command: the folder and its words. It
answers how the command ended.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import msgspec

MOST_SECONDS = 60.0
MOST_MB = 1_000.0
_ADDRESSES = 6 << 30
"""Bytes of addresses, of which libraries take many that they never use: the machine's safety."""


class Ended(msgspec.Struct, frozen=True):
    """How a command ended; `code` is None if it was killed after `MOST_SECONDS`.

    `megabytes` are the most that the command's own process, or one of those it started, took.
    """

    code: int | None
    said: str
    complained: str
    seconds: float
    megabytes: float


class Verbs:
    """The process that forks; commands run one after the other."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.fuzz.verbs"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.wait(MOST_SECONDS)
        self._process.stdout.close()

    def run(self, folder: Path, *words: str) -> Ended:
        """Carry out `posse WORDS` in the folder."""
        print(json.dumps([str(folder), *words]), file=self._process.stdin, flush=True)
        return msgspec.json.decode(self._process.stdout.readline(), type=Ended)


def _forked(folder: str, words: list[str]) -> Ended:
    out, err = Path(folder, ".out"), Path(folder, ".err")
    begun = time.monotonic()
    if not (child := os.fork()):
        _carry_out(folder, words, out, err)
    code, usage = None, None
    while usage is None:
        pid, status, taken = os.wait4(child, os.WNOHANG)
        if pid:
            code, usage = os.waitstatus_to_exitcode(status), taken
        elif time.monotonic() - begun > MOST_SECONDS:
            os.killpg(child, signal.SIGKILL)
            usage = os.wait4(child, 0)[2]
        else:
            time.sleep(0.002)
    said, complained = (path.read_text(errors="replace") for path in (out, err))
    took = time.monotonic() - begun
    return Ended(code, said, complained, round(took, 3), usage.ru_maxrss / 1024)


def _carry_out(folder: str, words: list[str], out: Path, err: Path) -> None:
    """In the child, which ends here."""
    from posse.cli import main  # noqa: PLC0415  (loaded before; where it is patched, anew)

    code = 99
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        os.chdir(folder)
        for path, number in ((out, 1), (err, 2)):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        code = main.main(words)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 98
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    from posse.cli import main  # noqa: PLC0415

    for verb in (whole := main.whole({})):  # each is loaded once
        whole[verb]
    for line in sys.stdin:
        folder, *words = json.loads(line)
        print(msgspec.json.encode(_forked(folder, words)).decode(), flush=True)


if __name__ == "__main__":
    _serve()
