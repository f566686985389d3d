"""How a run ends: a verdict, and then the last word of every agent that is present."""

from collections.abc import Callable

from posse.hosts.attendance import Attendance
from protocol import control
from protocol.machine import Finish


class Ending:
    """The verdict of a run and what came after it; `clock` is in nanoseconds.

    In the lab an agent's last word is its report, which is kept; in the field it says only that it
    has ended.
    """

    def __init__(self, attendance: Attendance, clock: Callable[[], int]) -> None:
        self.verdict: Finish | None = None
        self.reports: dict[int, control.Report] = {}
        self.elapsed = 0.0
        """Seconds from the beginning to the verdict."""
        self._said: set[int] = set()
        self._attendance = attendance
        self._clock = clock
        self._began = clock()

    def decide(self, verdict: Finish) -> None:
        """The run is over."""
        self.verdict = verdict
        self.elapsed = (self._clock() - self._began) * 1e-9

    def last_word(self, rank: int, message: control.Report | control.Stopped) -> bool:
        """An agent's last word; False if it had it before, or the run is not over."""
        if self.verdict is None or rank in self._said:
            return False
        self._said.add(rank)
        if isinstance(message, control.Report):
            self.reports[rank] = message
        return True

    def missing(self) -> list[int]:
        """Who is present and has not had its last word."""
        return [n for n in self._attendance.present() if n not in self._said]

    @property
    def complete(self) -> bool:
        """Whether there is a verdict, and nobody's last word is missing."""
        return self.verdict is not None and not self.missing()
