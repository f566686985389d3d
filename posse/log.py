"""The log that commands write to standard error."""

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import TextIO

from posse.gates.shown import printable

LOG = logging.getLogger("posse")

MOST = 10
WINDOW = 60.0
"""At most `MOST` lines about one subject are written in `WINDOW` seconds."""

_LONGEST = 4_000


class TextFormatter(logging.Formatter):
    """Lines for people: time with its zone, the process that speaks, the message."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """The time in the form 2026-11-22T05:28:03+00:00."""
        return _when(record, "seconds")

    def format(self, record: logging.LogRecord) -> str:
        """Escape control characters and indent further lines: none can pass for a log line."""
        lines = super().format(record).split("\n")
        return "\n    ".join(printable(line, _LONGEST) for line in lines)


class JsonFormatter(logging.Formatter):
    """Lines for programs: a JSON object each. Frequent lines about one subject share `about`."""

    def __init__(self, who: str, *, insecure: bool) -> None:
        super().__init__()
        self._fixed = {"who": who, "keys": not insecure}

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": _when(record, "milliseconds"),
            "level": record.levelname.lower(),
            **self._fixed,
            "about": getattr(record, "about", ""),
            "message": record.getMessage()[:_LONGEST],
        }
        return json.dumps(fields)


def _when(record: logging.LogRecord, precision: str) -> str:
    return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec=precision)


class ThrottledHandler(logging.StreamHandler[TextIO]):
    """Writes lines; about one subject (`extra={"about": …}`), only the first few.

    When the window of a subject ends, or the log closes, a line says how many were left out.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._subjects: dict[str, tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, unless there were too many about its subject."""
        now = self._clock()
        self._count(now)
        if about := getattr(record, "about", ""):
            since, count = self._subjects.get(about, (now, 0))
            self._subjects[about] = since, count + 1
            if count >= MOST:
                return
        super().emit(record)

    def close(self) -> None:
        self._count(float("inf"))
        super().close()

    def _count(self, now: float) -> None:
        """Report the lines left out about subjects whose window has ended."""
        over = [about for about, (since, _) in self._subjects.items() if now >= since + WINDOW]
        for about in over:
            left = self._subjects.pop(about)[1] - MOST
            if left > 0:
                text = f"{left} more lines about {about} were left out"
                super().emit(logging.LogRecord(LOG.name, logging.WARNING, "", 0, text, None, None))


_PLAIN = TextFormatter("%(message)s")


def plain() -> None:
    """From now on, write messages without a prefix: all processes belong to one command."""
    _by(_PLAIN)


def begin(who: str, insecure: bool, level: int = logging.INFO, form: str = "text") -> None:
    """From now on, each line names its process, and says if there are no keys."""
    keys = " [no keys]" if insecure else ""
    text = TextFormatter(f"%(asctime)s {who}{keys}: %(message)s")
    _by(JsonFormatter(who, insecure=insecure) if form == "json" else text)
    LOG.setLevel(level)
    LOG.propagate = False


def _by(formatter: logging.Formatter) -> None:
    handler = ThrottledHandler(sys.stderr)
    handler.setFormatter(formatter)
    LOG.handlers = [handler]


def complain(text: str) -> None:
    """Report on standard error why a command failed."""
    _say(logging.ERROR, text, f"posse: {text}")


def remark(text: str) -> None:
    """Report on standard error what a user must know about a command, even if it runs quietly."""
    _say(logging.WARNING, text, text)


def _say(level: int, text: str, plain: str) -> None:
    """Write a log line if the log has begun, because its readers want the time; else plain text."""
    if any(handler.formatter is not _PLAIN for handler in LOG.handlers):
        LOG.log(level, "%s", text)
    else:
        sys.stderr.write(f"{plain}\n")
