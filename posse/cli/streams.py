"""Standard streams that are closed, full, or of few letters end no command halfway."""

import errno
import io
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from posse.errors import INTERRUPTED, PosseError

_ENDS = [vars(signal)[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in vars(signal)]

_AT_ONCE = 0.5
"""Seconds within which several signals are one."""


class OutputError(PosseError):
    """Standard output takes no more; `gone`: its reader has left, which whoever did that knows."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}")
        self.gone = isinstance(error, BrokenPipeError)


class Output(io.TextIOWrapper):
    """Standard output; after an `OutputError` all that is written goes nowhere."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
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


def prepare() -> None:
    """Have all three open, and let none refuse a letter.

    A file that was opened under the number of a closed stream would get what is meant for that.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if os.environ.get("COLUMNS") == "0":  # nothing would be seen of any table
        del os.environ["COLUMNS"]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (as long as the process)
    if type(sys.stdout) is io.TextIOWrapper:  # not a test's own
        encoding, lines = sys.stdout.encoding, sys.stdout.line_buffering
        sys.stdout.flush()
        # a result has it for itself: what children and libraries in C print goes to standard error
        results = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        sys.stdout = Output(results, encoding, "backslashreplace", line_buffering=lines)


class Interrupt:
    """The handler of a signal that ends a command as Ctrl-C does.

    A shell, make or timeout may send the same wish twice at once: then it counts once. Who means it
    twice cuts short what the first has begun to clean up.
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
    """Let SIGTERM, and a terminal that is closed, end a command as Ctrl-C does."""
    _answer(Interrupt())


def leave_on_signals() -> None:
    """Let each of them end a command that has begun nothing.

    At once, as modules may turn what is raised while they load into something else.
    """
    _answer(_leave)


def _answer(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _ENDS:
        # who started us with nohup wants us to outlive the terminal
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, b"posse: interrupted\n")
    os._exit(INTERRUPTED)


def pause(seconds: float) -> None:
    """Do nothing for so long, or until a signal says that it is enough."""
    interrupt = Interrupt()
    with suppress(KeyboardInterrupt):
        for number in _ENDS:
            signal.signal(number, interrupt)
        time.sleep(seconds)
    ignore_signals()


def ignore_signals(act: Callable[[], None] | None = None) -> None:
    """Let nothing of the kind disturb the end, but `act`: nothing is left to be saved by it."""
    for number in _ENDS:
        # what is ignored stays so while Python ends; what is handled does not
        signal.signal(number, signal.SIG_IGN if act is None else lambda *_: act())


def _leave_terminal() -> None:
    """A terminal that is gone refuses every letter."""
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
