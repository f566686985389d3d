"""What is said of an experiment, and what was measured to decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from posse.experiments import mean_ci
from posse.extend import FloatArray
from posse_papers.sample import Metric, Sample, regret_at, value

Held = Literal["holds", "fails", "open", "not run"]
"""What a test says of some runs; whether a claim is borne out takes its power as well."""
By = Literal["both", "printed", "corrected"]
Place = tuple[str, float]
"""A point by its line and its place on the axis."""
Lines = str | Iterable[str]
"""One line, or several."""
Where = float | Callable[[float], bool] | None
"""At one place on the axis, at some, or at all."""


@dataclass(frozen=True)
class Finding:
    """What a test finds in some runs: whether it holds, and why in a few words.

    `final`: it is open, and more runs would not decide it.
    """

    held: Held
    said: str
    final: bool = False


def verdict(holds: bool, said: str) -> Finding:
    """What a plain condition says."""
    return Finding("holds" if holds else "fails", said)


@dataclass(frozen=True)
class Mutant:
    """A wrong world of a claim, by name: what would have been measured in it.

    The test refutes it if it fails there. Of a `null` world, in which there is no difference and a
    test has nothing to contradict, there are many draws, and it must not hold in 19 of 20.
    """

    text: str
    worlds: Callable[[Measured], Iterable[Measured]]
    null: bool = False


@dataclass(frozen=True)
class Check:
    """How a statement is decided on one variant's runs, and the wrong worlds that its kind has."""

    decide: Callable[[Measured], Finding]
    wrong: tuple[Mutant, ...] = ()

    def __call__(self, measured: Measured) -> Finding:
        """What these runs say."""
        return self.decide(measured)


Choice = dict[str, str]
"""What was chosen, by what the paper leaves open."""


@dataclass(frozen=True)
class Choices:
    """A check for each combination of what a paper leaves open and we chose."""

    checks: tuple[tuple[Choice, Check], ...]


def over(check_of: Callable[..., Check], **choices: Any) -> Choices:
    """`check_of` under every combination of choices, each given by name or as plain values."""
    named = {
        what.replace("_", " "): given.items() if isinstance(given, Mapping) else [
            (value if isinstance(value, str) else f"{value:.3g}", value) for value in given
        ]
        for what, given in choices.items()
    }  # fmt: skip
    found = []
    for combination in product(*named.values()):
        choice = {what: name for what, (name, _) in zip(named, combination, strict=True)}
        given = dict(zip(choices, (value for _, value in combination), strict=True))
        found.append((choice, check_of(**given)))
    return Choices(tuple(found))


@dataclass(frozen=True)
class Statement:
    """A sentence, and how to check it on one variant's runs.

    `place` is where the paper says so; a statement without one is a check of our own. `tests` has a
    check for each choice that the paper leaves open. `by` is the form of the algorithm that judges
    it: "printed" where the corrected one is another algorithm than the paper speaks of, "corrected"
    where only that can be run or the paper's own runs were so, else "both": the form is then one
    more choice. `wrong` are wrong worlds of the claim besides those of the kind of its test.
    """

    text: str
    place: str
    tests: tuple[tuple[Choice, Check], ...]
    by: By
    wrong: tuple[Mutant, ...]


def claim(
    text: str,
    place: str,
    test: Check | Choices,
    by: By = "both",
    wrong: Mutant | tuple[Mutant, ...] = (),
) -> Statement:
    """What a paper says."""
    tests = test.checks if isinstance(test, Choices) else (({}, test),)
    return Statement(text, place, tests, by, (wrong,) if isinstance(wrong, Mutant) else wrong)


def ours(
    text: str,
    test: Check | Choices,
    by: By = "both",
    wrong: Mutant | tuple[Mutant, ...] = (),
) -> Statement:
    """What no paper says, and is worth knowing."""
    return claim(text, "", test, by, wrong)


def each(lines: Lines) -> tuple[str, ...]:
    """The lines that are meant."""
    return (lines,) if isinstance(lines, str) else tuple(lines)


class Samples(dict[Place, list[Sample]]):
    """The samples of points; `read` has the points that a test looked at."""

    def __init__(self, samples: Mapping[Place, list[Sample]]) -> None:
        super().__init__(samples)
        self.read: set[Place] = set()

    def __getitem__(self, point: Place) -> list[Sample]:
        self.read.add(point)
        return super().__getitem__(point)


@dataclass
class Measured:
    """The samples of one variant, by line and place on the axis, and what was run there.

    Their intervals miss with probability `error`. In a mutant's world a point's numbers are
    `changed` to a multiple and something more, and what is counted is drawn anew with the
    probability `odds`.
    """

    variant: str
    metric: Metric
    runs: dict[Place, list[Sample]] = field(default_factory=dict)
    settings: dict[Place, Any] = field(default_factory=dict)
    error: float = 0.05
    seed: int = 1
    changed: dict[Place, tuple[float, float]] = field(default_factory=dict)
    odds: float | None = None

    def first(self, counts: Mapping[Place, int], error: float) -> Measured:
        """The first so many samples of each point, whose intervals miss with this probability."""
        runs = {point: samples[: counts[point]] for point, samples in self.runs.items()}
        return replace(self, runs=runs, error=error)

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
        times, more = self.changed.get((line, x), (1.0, 0.0))
        return [times * float(number) + more for number in found if number is not None]

    def paired(
        self,
        combine: Callable[[float, float], float],
        one: Place,
        other: Place,
        metric: Metric | None = None,
    ) -> list[float]:
        """`of` the metric at two points, run by run."""
        both = zip(self.values(*one, metric), self.values(*other, metric), strict=False)
        return [combine(a, b) for a, b in both]

    def grown(self, line: str, *times: float) -> FloatArray:
        """By how much the regret of each run of a line grew between these times: a row for each."""
        runs = self.runs[line, 0.0]
        return np.diff([[regret_at(run, t) for t in times] for run in runs]).T

    def mean(self, line: str, x: float, metric: Metric | None = None) -> tuple[float, float]:
        """Mean and half-width (0 for one run, as of a computation's exact number)."""
        mean, half = mean_ci(self.values(line, x, metric), self.error)
        return mean, half or 0.0
