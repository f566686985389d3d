"""What an experiment's outcome.json holds."""

import msgspec

from posse_papers.statements import Finding

DEPENDS = "depends on the form"


class Judged(msgspec.Struct, kw_only=True):
    """A statement, where it stands in the paper (empty: it is ours), and what was found.

    `by` is the form of the algorithm that judges it, or "both"; `found` has the findings by form.
    """

    text: str
    place: str
    by: str
    found: dict[str, Finding]

    @property
    def judging(self) -> dict[str, Finding]:
        """The findings that count, by form."""
        return {self.by: self.found[self.by]} if self.by in self.found else self.found

    @property
    def verdict(self) -> str:
        """The one answer."""
        answers = {finding.answer for finding in self.judging.values()}
        return next(iter(answers)) if len(answers) == 1 else DEPENDS


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


class Cost(msgspec.Struct, kw_only=True):
    """What a form of an experiment costs, by one repetition of each of its points."""

    repetitions: int
    processor_seconds: float
    kept: int
