"""What is said of an experiment, and what was measured to decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from posse.measure.confidence import mean_ci
from posse.papers.sample import Metric, Sample

Answer = Literal["borne out", "not borne out", "undecided", "not run"]
By = Literal["both", "printed", "corrected"]
Points = list[tuple[str, float]]
"""Each by its line and its place on the axis."""


@dataclass(frozen=True)
class Finding:
    """What the measurement says to a statement: the answer, and why in a few words."""

    answer: Answer
    said: str


def verdict(holds: bool, said: str) -> Finding:
    """What a plain condition says."""
    return Finding("borne out" if holds else "not borne out", said)


@dataclass(frozen=True)
class Statement:
    """A sentence, and how to check it on one variant's runs.

    `place` is where the paper says so; a statement without one is a check of our own. `by` is the
    form of the algorithm that judges it: "printed" where the corrected one is another algorithm
    than the paper speaks of, "corrected" where only that can be run or the paper's own runs were
    so, else "both".
    """

    text: str
    place: str
    check: Check
    by: By = "both"


claim = Statement
"""What a paper says."""


def ours(text: str, check: Check, by: By = "both") -> Statement:
    """What no paper says, and is worth knowing."""
    return Statement(text, "", check, by)


@dataclass
class Measured:
    """The samples of one variant, by line and place on the axis."""

    variant: str
    metric: Metric
    runs: dict[tuple[str, float], list[Sample]] = field(default_factory=dict)

    def lines(self, start: str = "") -> list[str]:
        """The lines whose names begin so, in the order of the legend."""
        found = dict.fromkeys(line for line, _ in self.runs)
        return [line for line in found if line.startswith(start)]

    def places(self, line: str) -> list[float]:
        """Where on the axis a line has points."""
        return sorted(x for name, x in self.runs if name == line)

    def reached(self, lines: Iterable[str], where: Callable[[float], bool]) -> Points:
        """Every point of these lines in these places."""
        return [(line, x) for line in lines for x in self.places(line) if where(x)]

    def values(self, line: str, x: float, metric: Metric | None = None) -> list[float]:
        """The metric of each sample of a point."""
        found = [(metric or self.metric)(sample) for sample in self.runs[line, x]]
        return [float(value) for value in found if value is not None]

    def mean(self, line: str, x: float, metric: Metric | None = None) -> tuple[float, float]:
        """Mean and 95% half-width (0 for one run, as of a computation's exact number)."""
        mean, half = mean_ci(self.values(line, x, metric))
        return mean, half or 0.0


Check = Callable[[Measured], Finding]
"""How a statement is decided: the answer of one variant's runs."""
