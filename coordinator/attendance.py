"""The agents that take part in a run, how far each has come, and its last word."""

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from posse.clocks.run_clock import WallClock
from posse.coordinator.report import BadReport, ReportForm
from posse.protocol import control
from posse.protocol.errors import Contradiction, RemoteProtocolError
from posse.protocol.machine import Finish
from posse.results.record import Absence, Proof
from posse.results.vouched import Signed


class Attendance:
    """The agents of one run, as the coordinator knows them.

    - `rates`: how often each acts relative to the others (P_N), shape (agents,)
    - `answers`: each agent's own arm
    - `exhausted`: agents whose rewards ran out, with the sentence (-1: the shared arms)
    - `dismissed`: agents that the run goes on without, and why; `since` has the time
    - `proofs`: of agents that told others different things, two statements that each signed
    - `vouched`: agents' signatures of their answers, in the run of name `signed_run`
    - `finished`: agents that are done or dismissed
    - `verdict`: what ended the run; then every agent that is present has a last word
    - `reports`: that word in the lab, checked by `form`. In the field `form` is None: an agent says
      only that it has ended.
    - `elapsed`: seconds from the beginning of the run to the verdict, by `clock` in nanoseconds
    """

    def __init__(
        self, rates: NDArray[np.float64], form: ReportForm | None, clock: Callable[[], int]
    ) -> None:
        self._rates: list[float] = rates.tolist()
        self.agents = len(self._rates)
        self.answers: list[int | None] = [None] * self.agents
        self.exhausted: dict[int, str] = {}
        self.dismissed: dict[int, str] = {}
        self.since: dict[int, float] = {}
        self.proofs: dict[int, Contradiction] = {}
        self.vouched: dict[int, bytes] = {}
        self.signed_run = b""
        self.finished: set[int] = set()
        self._reached = [0.0] * self.agents
        self._rate_of_active = 1.0
        self._rounds_of_finished = 0.0
        self.verdict: Finish | None = None
        self.reports: dict[int, control.Report] = {}
        self._rows = defaultdict[int, list[control.ReportRows]](list)
        """What came of reports that have too many rows for one message."""
        self.elapsed = 0.0
        self._reported: set[int] = set()
        self._form = form
        self._wall = WallClock(clock)

    def present(self) -> list[int]:
        """The agents that were not dismissed."""
        return [n for n in range(self.agents) if n not in self.dismissed]

    def expected(self) -> list[int]:
        """The agents that are present and still have rewards."""
        return [n for n in self.present() if n not in self.exhausted]

    def dismiss(self, rank: int, why: str, now: float) -> None:
        """Note that the run goes on without an agent."""
        self.dismissed[rank] = why
        self.since.setdefault(rank, now)
        self._end(rank, now)

    def finish(self, rank: int, arm: int | None, exhausted: str, now: float) -> None:
        """Note that an agent said that it is done."""
        self._end(rank, now)
        self.answers[rank] = arm
        if exhausted:
            self.exhausted[rank] = exhausted

    def absences(self, now: float) -> list[Absence]:
        """The absences of dismissed agents until the end of the run, which is `now`."""
        return [
            Absence(rank, since, now, self.dismissed[rank]) for rank, since in self.since.items()
        ]

    def signed(self) -> Signed | None:
        """What was signed, for the record; None if nothing was."""
        answers = {rank: made.hex() for rank, made in sorted(self.vouched.items())}
        return Signed(self.signed_run.hex(), answers) if self.signed_run else None

    def proven(self) -> dict[int, Proof]:
        """The proofs against agents, for the record."""
        return {
            rank: Proof(
                proof.kind.decode(errors="replace"),
                proof.place.hex(),
                (proof.statements[0].hex(), proof.statements[1].hex()),
            )
            for rank, proof in self.proofs.items()
        }

    def commonest_answer(self) -> int | None:
        """The arm that most agents answered, the lowest if tied; None without answers."""
        answers = Counter(arm for arm in self.answers if arm is not None)
        return min(answers, key=lambda arm: (-answers[arm], arm), default=None)

    def _end(self, rank: int, now: float) -> None:
        if rank not in self.finished:
            self.finished.add(rank)
            self._rate_of_active -= self._rates[rank]
            self._rounds_of_finished += self._rates[rank] * now

    def note_progress(self, rank: int, now: float) -> bool:
        """Note that an agent has come to `now`; False if that is no progress."""
        further = rank not in self.finished and now > self._reached[rank]
        if further:
            self._reached[rank] = now
        return further

    def acting(self) -> list[int]:
        """The agents that are present and not done."""
        return [n for n in self.present() if n not in self.finished]

    def slowest(self) -> list[int]:
        """The least advanced of them."""
        unfinished = self.acting()
        least = min((self._reached[n] for n in unfinished), default=0.0)
        return [n for n in unfinished if self._reached[n] == least]

    def expected_rounds(self, now: float) -> float:
        """The expected activations of all agents by `now`, each until it finished.

        For progress only: exact counts come with the agents' reports.
        """
        return self._rounds_of_finished + self._rate_of_active * now

    # --- the end ---------------------------------------------------------------------------------

    def decide(self, verdict: Finish) -> None:
        """End the run with this verdict."""
        self.verdict = verdict
        self.elapsed = self._wall.now

    def take_last_word(
        self, rank: int, message: control.Report | control.ReportRows | control.Stopped
    ) -> None:
        """Take an agent's last word, or rows of it.

        `RemoteProtocolError` if it is out of turn or not the first; `BadReport` if it is false.
        """
        reports = not isinstance(message, control.Stopped)
        if self.verdict is None or rank in self._reported or reports != (self._form is not None):
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        if isinstance(message, control.ReportRows):
            self._rows[rank].append(message)
            if len(self._rows[rank]) > control.MOST_PARTS:
                raise BadReport("more rows than any run has")
            return
        if isinstance(message, control.Report) and self._form is not None:
            message = control.whole(self._rows.pop(rank, ()), message)
            self._form.check(rank, message)
            self.reports[rank] = message
        self._reported.add(rank)

    def reported(self, rank: int, report: control.Report) -> None:
        """Take a report that this process made itself."""
        self.reports[rank] = report
        self._reported.add(rank)

    @property
    def lacks_last_word(self) -> bool:
        """Whether the last word of an agent that is present is not here yet."""
        # each last word asks: to go through all agents then would take N² steps
        if len(self._reported) + len(self.dismissed) < self.agents:
            return True
        return bool(self.without_last_word())

    def without_last_word(self) -> list[int]:
        """The present agents whose last word is not here yet."""
        return [n for n in self.present() if n not in self._reported]
