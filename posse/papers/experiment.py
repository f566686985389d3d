"""An experiment of a paper as data: what is run, how it is drawn, what the paper says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from posse.measure.confidence import mean_ci
from posse.papers.sample import Metric, Sample
from posse.papers.sample import rounds as _rounds
from posse.papers.sample import value as _value

SEED = 1
"""The seed of every experiment; repetitions differ by their number."""

Answer = Literal["borne out", "not borne out", "undecided", "not run"]
Variant = Literal["corrected", "printed"]
By = Literal["both", "printed", "corrected"]
VARIANTS: tuple[Variant, ...] = ("corrected", "printed")


class Computation:
    """A point that is no run of a system: `of(variant, generator, *arguments)` gives its numbers.

    `of` is a function of a module, so that other processes can call it; what it returns are the
    sample's `numbers`. Repetition n of every computation has the n-th generator of the seed.
    """

    def __init__(self, of: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        self.of = of
        self.arguments = arguments

    @property
    def module(self) -> str:
        """Where `of` is written."""
        return self.of.__module__

    def identity(self) -> list[Any]:
        """What it is, as plain data."""
        return [self.module, self.of.__qualname__, *self.arguments]

    def __call__(self, variant: str, number: int) -> dict[str, Any]:
        """The numbers of one repetition."""
        sequence = np.random.SeedSequence(SEED, spawn_key=(number,))
        return self.of(variant, np.random.default_rng(sequence), *self.arguments)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One setting: the line of the figure it belongs to, its place on the axis, what to run.

    `run` is a run specification without seed, repeat, variant and engine, or a computation. It is
    repeated `times` as often as the experiment's other points, in these `variants`. A line that is
    called "left: ε = .1" lies in the panel "left".
    """

    line: str
    x: float = 0.0
    run: dict[str, Any] | Computation
    times: int = 1
    variants: tuple[Variant, ...] = VARIANTS


def by_line(runs: dict[str, Any]) -> list[Point]:
    """Points from what each line runs: {line: run}, or {line: {place on the axis: run}}."""
    return [
        Point(line=line, x=x, run=run)
        for line, of in runs.items()
        for x, run in (of if _is_by_place(of) else {0.0: of}).items()
    ]


def _is_by_place(of: Any) -> bool:
    return isinstance(of, dict) and "system" not in of


def always(runs: dict[str, Any]) -> Callable[[bool], list[Point]]:
    """The same points in the quick and the full form (see `by_line`)."""
    return lambda quick: by_line(runs)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurement says to a statement: the answer, and why in a few words."""

    answer: Answer
    said: str


def verdict(holds: bool, said: str) -> Finding:
    """What a plain condition says."""
    return Finding(answer="borne out" if holds else "not borne out", said=said)


class Check(Protocol):
    """How a statement is decided."""

    def __call__(self, measured: Measured) -> Finding:
        """The answer of one variant's runs."""
        ...


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence, and how to check it.

    `place` is where the paper says so; a statement without one is a check of our own. `by` is the
    form of the algorithm that judges it: "printed" where the corrected one is another algorithm
    than the paper speaks of, "corrected" where only that can be run or the paper's own runs were
    so, else "both".
    """

    text: str
    check: Check
    place: str = ""
    by: By = "both"


def claim(text: str, place: str, check: Check, by: By = "both") -> Statement:
    """What a paper says."""
    return Statement(text=text, place=place, check=check, by=by)


def ours(text: str, check: Check, by: By = "both") -> Statement:
    """What no paper says, and is worth knowing."""
    return Statement(text=text, check=check, by=by)


@dataclass
class Measured:
    """The samples of one variant, by line and place on the axis."""

    variant: str
    metric: Metric
    runs: dict[tuple[str, float], list[Sample]] = field(default_factory=dict)

    def lines(self, start: str = "") -> list[str]:
        """The lines whose names begin so, in the order of the legend."""
        return [line for line in dict.fromkeys(line for line, _ in self.runs)
                if line.startswith(start)]  # fmt: skip

    def places(self, line: str) -> list[float]:
        """Where on the axis a line has points."""
        return sorted(x for name, x in self.runs if name == line)

    def values(self, line: str, x: float, metric: Metric | None = None) -> list[float]:
        """The metric of each sample of a point."""
        found = [(metric or self.metric)(sample) for sample in self.runs[line, x]]
        return [float(value) for value in found if value is not None]

    def mean(self, line: str, x: float) -> tuple[float, float]:
        """Mean and 95% half-width (0 for one run)."""
        mean, half = mean_ci(self.values(line, x))
        return mean, half or 0.0

    def samples(self, lines: Iterable[str] = ()) -> list[Sample]:
        """All samples, or those of these lines."""
        wanted = set(lines)
        return [sample for (line, _), found in self.runs.items() if not wanted or line in wanted
                for sample in found]  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One figure, or one statement of theory.

    `figure` says what of the paper it is, "" for our own. `points(quick)` are the settings;
    `repeat` is how often each is run, quick and in full; `shape` is "points" (metric against x),
    "curves" (regret over time) or "bars" (x says nothing). `log` names the logarithmic axes.
    `assumed` says what the paper does not print and what was taken. `keep_log`: statements read the
    logs of runs. `limit` is drawn dashed: what was claimed of all lines.
    """

    name: str
    figure: str
    title: str
    _: KW_ONLY
    paper: str = ""
    x_label: str = ""
    y_label: str
    points: Callable[[bool], list[Point]]
    statements: tuple[Statement, ...]
    repeat: tuple[int, int]
    shape: Literal["points", "curves", "bars"] = "points"
    metric: Metric = _rounds
    log: Literal["", "x", "y", "xy"] = ""
    variants: tuple[Variant, ...] = VARIANTS
    assumed: str = ""
    keep_log: bool = False
    limit: float | None = None

    def systems(self, quick: bool) -> list[str]:
        """The systems that its points run."""
        runs = [point.run for point in self.points(quick) if isinstance(point.run, dict)]
        return list(dict.fromkeys(run["system"] for run in runs))


computed = partial(Experiment, metric=_value, variants=("corrected",))
"""An experiment of computations alone, of which there is one form."""


def of_paper(paper: str, *modules: Any) -> tuple[Experiment, ...]:
    """The experiments of a paper's modules."""
    return tuple(replace(one, paper=paper) for module in modules for one in module.EXPERIMENTS)


def panel(line: str) -> str:
    """The panel that a line lies in, "" if the figure has only one."""
    name, colon, _ = line.partition(": ")
    return name if colon else ""
