"""Keeps closed, full or narrowly encoded standard streams from breaking a command."""

import errno
import io
import math
import os
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from posse.errors import INTERRUPTED, PosseError
from posse.gates.shown import harmless, printable

_ENDS = [vars(signal)[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in vars(signal)]

_AT_ONCE = 0.5
"""Seconds within which several signals count as one."""


class OutputError(PosseError):
    """Standard output cannot be written; `gone`: its reader left, and needs no message."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}")
        self.gone = isinstance(error, BrokenPipeError)


class Output(io.TextIOWrapper):
    """Standard output; after an `OutputError`, further output is discarded.

    Whoever prints what others may have written, colours are all that a terminal obeys, unless it
    `moves`.
    """

    moves = False

    def write(self, text: str) -> int:
        try:
            super().write(text if self.moves else harmless(text))
            return len(text)
        except OSError as error:
            raise self._failed(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> OutputError:
        _to_nowhere(self.fileno())
        return OutputError(error)


@contextmanager
def moving() -> Iterator[None]:
    """Let what is shown in place move a terminal's cursor; its words are printable already."""
    to = sys.stdout if isinstance(sys.stdout, Output) else None
    if to is None:
        yield
        return
    to.moves = True
    try:
        yield
    finally:
        to.moves = False


def prepare() -> None:
    """Open all three streams, and make none fail on a character.

    Otherwise a file opened next would get the number of a closed stream, and that stream's output.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if os.environ.get("COLUMNS") == "0":  # such tables would be empty
        del os.environ["COLUMNS"]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (as long as the process)
    if type(sys.stdout) is io.TextIOWrapper:  # not a test's replacement
        encoding, lines = sys.stdout.encoding, sys.stdout.line_buffering
        sys.stdout.flush()
        # only the result goes there: children and C libraries print to standard error instead
        results = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        sys.stdout = Output(results, encoding, "backslashreplace", line_buffering=lines)


def wrapped(line: str, hang: int) -> str:
    """A line; for a terminal it is broken at words, and `hang` blanks precede what follows.

    Without a terminal it is broken only if the variable COLUMNS gives a width. A file's words may
    be in it, so what does not print is escaped.
    """
    line = printable(line, len(line))
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return line
    return textwrap.fill(
        line,
        max(shutil.get_terminal_size().columns, 2 * hang),
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Interrupt:
    """Signal handler that ends a command as Ctrl-C does.

    A shell, make or timeout may send a signal twice in quick succession, which counts once. A
    second signal after `_AT_ONCE` seconds also interrupts the clean-up.
    """

    def __init__(self) -> None:
        self._heard_at = -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise `KeyboardInterrupt`."""
        if number == getattr(signal, "SIGHUP", None):
            _leave_terminal()
        now = time.monotonic()
        if now - self._heard_at > _AT_ONCE:
            self._heard_at = now
            raise KeyboardInterrupt


def watch_signals() -> None:
    """Make SIGTERM, and the end of the terminal, act as Ctrl-C does."""
    _answer(Interrupt())


def leave_on_signals() -> None:
    """Make these signals end the process at once, while nothing has begun.

    They raise no exception, because a module that is loading may turn it into another one.
    """
    _answer(_leave)


def _answer(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _ENDS:
        # under nohup we are to outlive the terminal
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"posse: interrupted\n")
    os._exit(INTERRUPTED)


def pause(seconds: float = 1e8) -> None:
    """Sleep for this long (by default for years), or until a signal."""
    interrupt = Interrupt()
    with suppress(KeyboardInterrupt):
        for number in _ENDS:
            signal.signal(number, interrupt)
        time.sleep(seconds)
    ignore_signals()


def ignore_signals(act: Callable[[], None] | None = None) -> None:
    """Ignore these signals, or call `act` on them: everything is saved already."""
    for number in _ENDS:
        # an ignored signal stays ignored during Python's exit; a handler is removed
        signal.signal(number, signal.SIG_IGN if act is None else lambda *_: act())


def _leave_terminal() -> None:
    """Discard output to a terminal that is gone: every write to it would fail."""
    results = [sys.stdout.fileno()] if isinstance(sys.stdout, Output) else []
    for descriptor in (*results, 1, 2):
        try:
            os.ttyname(descriptor)
        except OSError as error:
            if error.errno != errno.EIO:
                continue
        _to_nowhere(descriptor)


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
