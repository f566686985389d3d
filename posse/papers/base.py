"""An experiment of a paper as data: what is run, how it is drawn, what the paper says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot, log
from typing import Any, Literal

import numpy as np

from posse.measure.confidence import mean_ci, wilson
from posse.report.numbers import number
from posse.results.record import Detail, RunRecord

SEED = 1
"""The seed of every experiment; repetitions differ by their number."""

Answer = Literal["borne out", "not borne out", "undecided", "cannot be"]
VARIANTS = ("corrected", "printed")


class Computed(Detail):
    """What a computation gave."""

    numbers: dict[str, Any]


def numbers(record: RunRecord) -> dict[str, Any]:
    """What a computation gave, by name."""
    assert isinstance(record.detail, Computed)
    return record.detail.numbers


class Computation:
    """A point that is no run of a system: `of(variant, generator, *arguments)` gives its numbers.

    `of` is a function of a module, so that other processes can call it; what it returns is
    in the record's detail, see `numbers`. Repetition n of every computation has the n-th generator
    of the seed.
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
    repeated `times` as often as the experiment's other points.
    """

    line: str
    x: float
    run: dict[str, Any] | Computation
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurement says to a statement, with the numbers."""

    answer: Answer
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Something that the paper says about a figure, and how to check it."""

    text: str
    check: Callable[[Measured], Finding]


@dataclass
class Measured:
    """The runs of one variant, by line and place on the axis."""

    variant: str
    metric: Callable[[RunRecord], float | None]
    runs: dict[tuple[str, float], list[RunRecord]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The lines, in the order of the paper's legend."""
        return list(dict.fromkeys(line for line, _ in self.runs))

    def places(self, line: str) -> list[float]:
        """Where on the axis a line has points."""
        return sorted(x for name, x in self.runs if name == line)

    def values(self, line: str, x: float) -> list[float]:
        """The metric of each run of a point."""
        found = [self.metric(record) for record in self.runs[line, x]]
        return [float(value) for value in found if value is not None]

    def mean(self, line: str, x: float) -> tuple[float, float]:
        """Mean and 95% half-width (0 for one run)."""
        mean, half = mean_ci(self.values(line, x))
        return mean, half or 0.0


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure.

    `points(quick)` are the settings; `repeat` is how often each is run, quick and in full;
    `shape` is "points" (metric against x), "curves" (regret over time) or "bars" (x says nothing).
    `assumed` says what the paper does not print and what was taken. `keep_log`: statements read the
    logs of runs. `limit` is drawn dashed: what was claimed of all lines. `agreement` is a
    small run for the comparison of engines where every point is large.
    """

    name: str
    paper: str
    figure: str
    title: str
    x_label: str
    y_label: str
    points: Callable[[bool], list[Point]]
    statements: tuple[Statement, ...]
    repeat: tuple[int, int]
    shape: Literal["points", "curves", "bars"] = "points"
    metric: Callable[[RunRecord], float | None] = lambda record: record.rounds
    log_x: bool = False
    log_y: bool = False
    variants: tuple[str, ...] = VARIANTS
    assumed: str = ""
    agreement: dict[str, Any] | None = None
    keep_log: bool = False
    limit: float | None = None

    def has_runs(self, quick: bool) -> bool:
        """Whether any point runs a system, so that engines can be compared."""
        return any(isinstance(point.run, dict) for point in self.points(quick))


def regret(record: RunRecord) -> float | None:
    """Regret at the end."""
    return record.regret


def value(record: RunRecord) -> float | None:
    """The number "value" of a computation."""
    found: float | None = numbers(record)["value"]
    return found


def above(
    text: str, higher: str, lower: str, where: Callable[[float], bool] = lambda x: True
) -> Statement:
    """One line lies above another wherever both have points."""

    def check(measured: Measured) -> Finding:
        return _compare(measured, [(higher, lower)], where)

    return Statement(text=text, check=check)


def falling(text: str, *lines: str) -> Statement:
    """The lines lie in this order, the first highest, wherever they have points."""

    def check(measured: Measured) -> Finding:
        return _compare(measured, list(pairwise(lines)), lambda x: True)

    return Statement(text=text, check=check)


def _compare(
    measured: Measured, pairs: list[tuple[str, str]], where: Callable[[float], bool]
) -> Finding:
    """The mean difference, run by run, of each pair against its 95% interval (Student's t).

    Runs of equal number share seed and instance, so their difference does not contain what the
    instance does to both.
    """
    said, clear, reversed_ = [], 0, 0
    total = 0
    for higher, lower in pairs:
        common = set(measured.places(higher)) & set(measured.places(lower))
        for x in sorted(filter(where, common)):
            high, low = measured.values(higher, x), measured.values(lower, x)
            differences = [a - b for a, b in zip(high, low, strict=False)]
            difference, half = bounded(differences)
            total += 1
            clear += difference > half
            reversed_ += -difference > half
            at = f"at {x:g} " if len(common) > 1 else ""
            said.append(
                f"{at}{higher} {number(mean_ci(high)[0])}, {lower} {number(mean_ci(low)[0])} "
                f"(difference {_pm(difference, half)})"
            )
    return Finding(answer=_decide(total, clear, reversed_), evidence=_join(said))


def bounded(values: list[float]) -> tuple[float, float]:
    """Mean and the half-width of its 95 % interval; infinite for a single value."""
    mean, half = mean_ci(values)
    return mean, float("inf") if half is None else half


def _decide(total: int, clear: int, reversed_: int) -> Answer:
    """Borne out if all comparisons are clear, not if any is clearly the other way."""
    if reversed_ or not total:
        return "not borne out"
    return "borne out" if clear == total else "undecided"


def grows(text: str, line: str, *, sign: int = 1) -> Statement:
    """A line grows (or falls, sign -1) from its first point to its last."""

    def check(measured: Measured) -> Finding:
        places = measured.places(line)
        first, last = measured.values(line, places[0]), measured.values(line, places[-1])
        change, half = bounded([sign * (b - a) for a, b in zip(first, last, strict=False)])
        return Finding(
            answer=_decide(1, int(change > half), int(-change > half)),
            evidence=f"{line}: {number(mean_ci(first)[0])} at {places[0]:g}, "
            f"{number(mean_ci(last)[0])} at {places[-1]:g} "
            f"({'growth' if sign > 0 else 'fall'} {_pm(change, half)})",
        )

    return Statement(text=text, check=check)


def slope(text: str, line: str, low: float, high: float) -> Statement:
    """The exponent of a line between its first and last point (log-log) lies in [low, high].

    Borne out if its 95% interval lies inside, not if it lies outside. The interval adds the
    relative ones of both means, as of independent runs.
    """

    def check(measured: Measured) -> Finding:
        places = measured.places(line)
        (first, before), (last, after) = (
            bounded(measured.values(line, places[i])) for i in (0, -1)
        )
        span = log(places[-1] / places[0])
        found = log(last / first) / span
        half = hypot(before / first, after / last) / span
        return Finding(
            answer=_decide(
                1,
                int(low <= found - half and found + half <= high),
                int(found + half < low or high < found - half),
            ),
            evidence=f"{line} grows as the power {found:.2f} ± {half:.2f} from {places[0]:g} to "
            f"{places[-1]:g}; wanted {low:g} to {high:g}",
        )

    return Statement(text=text, check=check)


def alike(text: str, *lines: str, within: float) -> Statement:
    """Each line's mean is within the share `within` of the first line's, at every place.

    Borne out if the 95% interval of each difference lies inside, not if one lies outside.
    """

    def check(measured: Measured) -> Finding:
        said, inside, outside, total = [], 0, 0, 0
        first, *others = lines
        for x in measured.places(first):
            base = measured.values(first, x)
            room = within * abs(mean_ci(base)[0])
            for line in others:
                values = measured.values(line, x)
                difference, half = bounded([b - a for a, b in zip(base, values, strict=False)])
                total += 1
                inside += abs(difference) + half <= room
                outside += abs(difference) - half > room
                said.append(f"{line} - {first}: {_pm(difference, half)} of {number(room)} allowed")
        return Finding(answer=_decide(total, inside, outside), evidence=_join(said))

    return Statement(text=text, check=check)


def right(text: str, failure: float) -> Statement:
    """Each run names the best arm with probability at least 1 - failure (Wilson's interval)."""

    def check(measured: Measured) -> Finding:
        records = [record for runs in measured.runs.values() for record in runs]
        hits = sum(record.best_arm == 0 and record.status == "identified" for record in records)
        low, high = wilson(hits, len(records))
        answer: Answer = "undecided"
        if low >= 1 - failure:
            answer = "borne out"
        elif high < 1 - failure:
            answer = "not borne out"
        return Finding(
            answer=answer,
            evidence=f"{hits} of {len(records)} runs right: probability {low:.1%} to {high:.1%}",
        )

    return Statement(text=text, check=check)


def below_theory(text: str, line: str, x: float, run: dict[str, Any]) -> Statement:
    """The regret of every run of a point is at most its system's bound, at all times."""

    def check(measured: Measured) -> Finding:
        from posse.plan import prepare  # noqa: PLC0415

        worst, over = 0.0, 0
        records = measured.runs[line, x]
        plan = prepare({**run, "seed": SEED, "variant": measured.variant})
        for record in records:
            promised = plan.bound(record.run).regret
            assert promised is not None
            assert record.regret_curve is not None
            times, found = np.array(record.regret_curve[1:]).T
            share = float((found / promised(times)).max())
            over += share > 1
            worst = max(worst, share)
        return Finding(
            answer="not borne out" if over else "borne out",
            evidence=f"In {len(records) - over} of {len(records)} runs; at most {worst:.2g} of the "
            "bound",
        )

    return Statement(text=text, check=check)


def cannot(text: str, why: str) -> Statement:
    """A statement that no run can decide, and why."""
    return Statement(text=text, check=lambda _: Finding(answer="cannot be", evidence=why))


def _pm(mean: float, half: float) -> str:
    return number(mean) + (f" ± {number(half)}" if half else "")


def _join(said: list[str]) -> str:
    shown = said[:6]
    return "; ".join(shown) + (f"; and {len(said) - 6} more" if len(said) > 6 else "")
