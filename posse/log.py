"""What coordinator and agents on several machines say of themselves, on standard error."""

import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

from posse.printable import printable

LOG = logging.getLogger("posse")

MOST = 10
WINDOW = 60.0
"""So many lines about one thing in so many seconds."""

_LONGEST = 4_000


class Lines(logging.StreamHandler[TextIO]):
    """Writes lines that print, and of those about one thing (`extra={"about": …}`) only the first.

    How many were left out is said when the time is over, and at the end.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def format(self, record: logging.LogRecord) -> str:
        """Without control characters; lines after the first are indented, and pass for none."""
        lines = super().format(record).split("\n")
        return "\n    ".join(printable(line, _LONGEST) for line in lines)

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


def begin(who: str, insecure: bool, level: int = logging.INFO) -> None:
    """From now on every line says who speaks, and that there are no keys if there are none."""
    handler = Lines(sys.stderr)
    keys = " [no keys]" if insecure else ""
    handler.setFormatter(logging.Formatter(f"%(asctime)s {who}{keys}: %(message)s", "%H:%M:%S"))
    LOG.handlers = [handler]
    LOG.setLevel(level)
    LOG.propagate = False
