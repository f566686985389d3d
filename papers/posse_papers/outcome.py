"""What an experiment's outcome.json holds."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Literal

import msgspec

from posse_papers.statements import Choice, Held

Answer = Literal["borne out", "not borne out", "undecided", "says nothing here", "not run"]
DEPENDS = "depends on: "

_ANSWERS: dict[Held, Answer] = {
    "holds": "borne out", "fails": "not borne out", "open": "undecided", "not run": "not run"
}  # fmt: skip


class Tried(msgspec.Struct, kw_only=True):
    """What a test found under one choice, and the wrong worlds that it refuted and passed.

    It was decided, or left open, at the last of its `looks`, with `repetitions` of most points.
    `final`: more repetitions would not decide it.
    """

    choice: Choice
    held: Held
    said: str
    refuted: list[str] = []
    passed: list[str] = []
    looks: int = 1
    repetitions: int = 0
    final: bool = False

    @property
    def looks_said(self) -> str:
        """At which look, if it was not the first."""
        if self.looks == 1:
            return ""
        return f" (look {self.looks}: {self.repetitions} repetitions)"

    @property
    def answer(self) -> Answer:
        """Borne out only with power: what holds in all wrong worlds too says nothing."""
        if self.held == "holds" and not self.refuted:
            return "says nothing here"
        return _ANSWERS[self.held]

    @property
    def choice_said(self) -> str:
        """The choice in words, before what was found; "" where there was none."""
        named = (f"{what} {name}" for what, name in self.choice.items())
        return f"{', '.join(named)}: " if self.choice else ""

    @property
    def power(self) -> str:
        """How many of the wrong worlds were refuted; "" of what did not hold."""
        tried = len(self.refuted) + len(self.passed)
        return f"{len(self.refuted)}/{tried}" if self.held == "holds" else ""


class Judged(msgspec.Struct, kw_only=True):
    """A statement, where it stands in the paper (empty: it is ours), and what was found.

    `by` is the form of the algorithm that judges it, or "both"; `found` has what each choice gave,
    of which the form is one.
    """

    text: str
    place: str
    by: str
    found: list[Tried]

    @property
    def holds(self) -> tuple[int, int]:
        """Under how many choices it is borne out, of how many."""
        return sum(one.answer == "borne out" for one in self.found), len(self.found)

    @property
    def verdict(self) -> str:
        """The one answer of all choices, or what it depends on."""
        answers = {one.answer for one in self.found}
        if len(answers) == 1:
            return next(iter(answers))
        decisive = self._decisive() or ["several choices at once"]
        if "borne out" not in answers and decisive != ["form"]:
            return "undecided"
        return DEPENDS + ", ".join(decisive)

    def _decisive(self) -> list[str]:
        """The choices of which one alone changes the answer."""
        found: dict[str, None] = {}
        for one, other in combinations(self.found, 2):
            differ = [what for what in one.choice if one.choice[what] != other.choice.get(what)]
            if len(differ) == 1 and one.answer != other.answer:
                found[differ[0]] = None
        return list(found)

    @property
    def telling(self) -> Tried:
        """The choice whose figure says most: the first that is not borne out, or the first."""
        return next((one for one in self.found if one.answer != "borne out"), self.found[0])


def counted(verdicts: Iterable[str]) -> str:
    """How many there are of each verdict; what they depend on is left out."""
    counts = Counter(verdict.partition(":")[0] for verdict in verdicts)
    return ", ".join(f"{n} {answer}" for answer, n in counts.most_common())


class PointMean(msgspec.Struct, array_like=True):
    """The mean of a line at one place, and half of its 95 % interval (0 for one run)."""

    line: str
    x: float
    mean: float
    half: float


class Told(msgspec.Struct, kw_only=True):
    """An experiment and what came of it. `engines_agree` is None where nothing was run."""

    name: str
    paper: str
    figure: str
    title: str
    x_label: str
    y_label: str
    shape: str
    form: str
    repeat: int
    engine: str
    engines_agree: bool | None
    seconds: float
    processor_seconds: float
    assumed: str
    statements: list[Judged]
    numbers: dict[str, list[PointMean]]

    @property
    def tally(self) -> str:
        """How many statements have each answer."""
        return counted(statement.verdict for statement in self.statements)


class Cost(msgspec.Struct, kw_only=True):
    """What a form of an experiment costs, by one repetition of each of its points.

    `more_seconds`: without the repetitions that it shares with experiments before it.
    """

    repetitions: int
    processor_seconds: float
    more_seconds: float
    kept: int
