"""What commands say of what goes on, on standard error."""

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import TextIO

from posse.printable import printable

LOG = logging.getLogger("posse")

MOST = 10
WINDOW = 60.0
"""So many lines about one thing in so many seconds."""

_LONGEST = 4_000


class Text(logging.Formatter):
    """For people: when (with the zone), who speaks, what."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """As in 2026-11-22T05:28:03+00:00."""
        return _when(record, "seconds")

    def format(self, record: logging.LogRecord) -> str:
        """Without control characters; lines after the first are indented, and pass for none."""
        lines = super().format(record).split("\n")
        return "\n    ".join(printable(line, _LONGEST) for line in lines)


class Json(logging.Formatter):
    """For machines: one object a line; `about` is what lines have in common of which many come."""

    def __init__(self, who: str, *, insecure: bool) -> None:
        super().__init__()
        self._said = {"who": who, "keys": not insecure}

    def format(self, record: logging.LogRecord) -> str:
        """See the class."""
        said = {
            "time": _when(record, "milliseconds"),
            "level": record.levelname.lower(),
            **self._said,
            "about": getattr(record, "about", ""),
            "message": record.getMessage()[:_LONGEST],
        }
        return json.dumps(said)


def _when(record: logging.LogRecord, precision: str) -> str:
    return datetime.fromtimestamp(record.created).astimezone().isoformat(timespec=precision)


class Lines(logging.StreamHandler[TextIO]):
    """Writes lines, and of those about one thing (`extra={"about": …}`) only the first.

    How many were left out is said when the time is over, and at the end.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, unless there were too many like it."""
        now = self._clock()
        self._count(now)
        if about := getattr(record, "about", ""):
            since, count = self._said.get(about, (now, 0))
            self._said[about] = since, count + 1
            if count >= MOST:
                return
        super().emit(record)

    def close(self) -> None:
        self._count(float("inf"))
        super().close()

    def _count(self, now: float) -> None:
        """Say how many were left out of those whose time is over."""
        over = [about for about, (since, _) in self._said.items() if now >= since + WINDOW]
        for about in over:
            left = self._said.pop(about)[1] - MOST
            if left > 0:
                text = f"{left} more lines about {about} were left out"
                super().emit(logging.LogRecord(LOG.name, logging.WARNING, "", 0, text, None, None))


_PLAIN = Text("%(message)s")


def plain() -> None:
    """From now on lines are as they are: what one command says of all that it started itself."""
    _by(_PLAIN)


def begin(who: str, insecure: bool, level: int = logging.INFO, form: str = "text") -> None:
    """From now on every line says who speaks, and that there are no keys if there are none."""
    keys = " [no keys]" if insecure else ""
    text = Text(f"%(asctime)s {who}{keys}: %(message)s")
    _by(Json(who, insecure=insecure) if form == "json" else text)
    LOG.setLevel(level)
    LOG.propagate = False


def _by(formatter: logging.Formatter) -> None:
    handler = Lines(sys.stderr)
    handler.setFormatter(formatter)
    LOG.handlers = [handler]


def complain(text: str) -> None:
    """Say on standard error what went wrong with a command."""
    _say(logging.ERROR, text, f"posse: {text}")


def remark(text: str) -> None:
    """Say on standard error what is to be known of a command, also where it is quiet."""
    _say(logging.WARNING, text, text)


def _say(level: int, text: str, plain: str) -> None:
    """As a line of the log, where that has begun: who reads it asks when, too."""
    if any(handler.formatter is not _PLAIN for handler in LOG.handlers):
        LOG.log(level, "%s", text)
    else:
        sys.stderr.write(f"{plain}\n")
