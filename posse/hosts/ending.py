"""The end of a run: a verdict, and then the last word of every agent that is present."""

from collections.abc import Callable

from posse.hosts.attendance import Attendance
from posse.hosts.report import ReportForm
from protocol import control
from protocol.errors import RemoteProtocolError
from protocol.machine import Finish


class Ending:
    """The verdict of a run and the agents' last words; `clock` is in nanoseconds.

    In the lab an agent's last word is its report, checked by `form`. In the field `form` is None:
    an agent says only that it has ended.
    """

    def __init__(
        self, attendance: Attendance, form: ReportForm | None, clock: Callable[[], int]
    ) -> None:
        self.verdict: Finish | None = None
        self.reports: dict[int, control.Report] = {}
        self.elapsed = 0.0
        """Seconds from the beginning of the run to the verdict."""
        self._said: set[int] = set()
        self._attendance = attendance
        self._form = form
        self._clock = clock
        self._began = clock()

    def decide(self, verdict: Finish) -> None:
        """End the run with this verdict."""
        self.verdict = verdict
        self.elapsed = (self._clock() - self._began) * 1e-9

    def last_word(self, rank: int, message: control.Report | control.Stopped) -> None:
        """Take an agent's last word.

        `RemoteProtocolError` if it is out of turn or not the first; `BadReport` if it is false.
        """
        reports = isinstance(message, control.Report)
        if self.verdict is None or rank in self._said or reports != (self._form is not None):
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if isinstance(message, control.Report) and self._form is not None:
            self._form.check(rank, message)
            self.reports[rank] = message
        self._said.add(rank)

    def missing(self) -> list[int]:
        """The present agents whose last word is not here yet."""
        return [n for n in self._attendance.present() if n not in self._said]
