"""What is said of an experiment, and what was measured to decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from posse.experiments import mean_ci
from posse.extend import FloatArray
from posse_papers.sample import Metric, Sample, regret_at, value

Answer = Literal["borne out", "not borne out", "undecided", "says nothing here", "not run"]
By = Literal["both", "printed", "corrected"]
Place = tuple[str, float]
"""A point by its line and its place on the axis."""
Lines = str | Iterable[str]
"""One line, or several."""
Where = float | Callable[[float], bool] | None
"""At one place on the axis, at some, or at all."""


@dataclass(frozen=True)
class Finding:
    """What the measurement says to a statement: the answer, and why in a few words.

    `power` is which alternative the same test refuted, or, of what says nothing here, did not.
    """

    answer: Answer
    said: str
    power: str = ""


def verdict(holds: bool, said: str) -> Finding:
    """What a plain condition says."""
    return Finding("borne out" if holds else "not borne out", said)


@dataclass(frozen=True)
class Statement:
    """A sentence, and how to check it on one variant's runs.

    `place` is where the paper says so; a statement without one is a check of our own. `by` is the
    form of the algorithm that judges it: "printed" where the corrected one is another algorithm
    than the paper speaks of, "corrected" where only that can be run or the paper's own runs were
    so, else "both". `excludes` is what cannot be so if the statement is (power.py).
    """

    text: str
    place: str
    check: Check
    by: By = "both"
    excludes: Alternative | None = None


claim = Statement
"""What a paper says."""


def ours(
    text: str, check: Check, by: By = "both", excludes: Alternative | None = None
) -> Statement:
    """What no paper says, and is worth knowing."""
    return Statement(text, "", check, by, excludes)


def each(lines: Lines) -> tuple[str, ...]:
    """The lines that are meant."""
    return (lines,) if isinstance(lines, str) else tuple(lines)


@dataclass
class Measured:
    """The samples of one variant, by line and place on the axis, and what was run there."""

    variant: str
    metric: Metric
    runs: dict[Place, list[Sample]] = field(default_factory=dict)
    settings: dict[Place, Any] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """All lines, in the order of the legend."""
        return list(dict.fromkeys(line for line, _ in self.runs))

    def places(self, line: str) -> list[float]:
        """Where on the axis a line has points."""
        return sorted(x for name, x in self.runs if name == line)

    def reached(self, lines: Lines, where: Where = None) -> list[Place]:
        """Every point of these lines in these places."""
        return [
            (line, x)
            for line in each(lines)
            for x in self.places(line)
            if where is None or (where(x) if callable(where) else where == x)
        ]

    def values(self, line: str, x: float, metric: Metric | None = None) -> list[float]:
        """The metric of each sample of a point; if none is given a computation's is its value."""
        found = [
            (metric or (value if sample.status == "computed" else self.metric))(sample)
            for sample in self.runs[line, x]
        ]
        return [float(number) for number in found if number is not None]

    def paired(
        self,
        of: Callable[[float, float], float],
        one: Place,
        other: Place,
        metric: Metric | None = None,
    ) -> list[float]:
        """`of` the metric at two points, run by run."""
        both = zip(self.values(*one, metric), self.values(*other, metric), strict=False)
        return [of(a, b) for a, b in both]

    def grown(self, line: str, *times: float) -> FloatArray:
        """By how much the regret of each run of a line grew between these times: a row for each."""
        runs = self.runs[line, 0.0]
        return np.diff([[regret_at(run, t) for t in times] for run in runs]).T

    def mean(self, line: str, x: float, metric: Metric | None = None) -> tuple[float, float]:
        """Mean and 95% half-width (0 for one run, as of a computation's exact number)."""
        mean, half = mean_ci(self.values(line, x, metric))
        return mean, half or 0.0


@dataclass(frozen=True)
class Check:
    """How a statement is decided: the answer of one variant's runs.

    `excludes` is what its "borne out" refutes whatever was measured, as a comparison by an interval
    does; "" where what is tested may hold of everything, as a bound does.
    """

    decide: Callable[[Measured], Finding]
    excludes: str = ""

    def __call__(self, measured: Measured) -> Finding:
        """The answer of these runs."""
        return self.decide(measured)


@dataclass(frozen=True)
class Alternative:
    """What a claim excludes, and what would have been measured if that were so."""

    text: str
    instead: Callable[[Measured], Measured]
