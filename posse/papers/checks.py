"""Checks of measured lines against each other: each is data, and decides by 95 % intervals.

Runs of equal number share seed and instance, so that a difference is taken run by run and does not
contain what the instance does to both (Student's t). An order, or a trend, is borne out if every
comparison holds by more than its interval, and not borne out if one is clearly the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, inf, log

from posse.measure.confidence import mean_ci
from posse.measure.numbers import number
from posse.papers.sample import Metric
from posse.papers.statements import Answer, Finding, Measured

Where = Callable[[float], bool]


def everywhere(x: float) -> bool:
    """At every place on the axis."""
    return True


def bounded(values: list[float]) -> tuple[float, float]:
    """Mean and the half-width of its 95 % interval; infinite for a single value."""
    mean, half = mean_ci(values)
    return mean, inf if half is None else half


def decide(total: int, clear: int, reversed_: int) -> Answer:
    """Borne out if all comparisons are clear, not if any is clearly the other way."""
    if reversed_ or not total:
        return "not borne out"
    return "borne out" if clear == total else "undecided"


def within(low: float, high: float, least: float = -inf, most: float = inf) -> Answer:
    """Whether an interval [low, high] lies inside [least, most], outside, or across an end."""
    if high < least or low > most:
        return "not borne out"
    return "borne out" if least <= low and high <= most else "undecided"


def pm(mean: float, half: float) -> str:
    """A mean with its interval."""
    return number(mean) + (f" ± {number(half)}" if 0 < half < inf else "")


def worst(rows: list[tuple[float, str]], clear: int) -> str:
    """How many comparisons are clear, and the one that is least so: (margin, words)."""
    if not rows:
        return "nothing to compare"
    least = min(rows)[1]
    return least if len(rows) == 1 else f"{clear} of {len(rows)} clear; least: {least}"


def _units(difference: float, half: float) -> float:
    """A difference in units of the half-width of its interval."""
    if half:
        return difference / half
    return difference * inf if difference else 0.0


def _compared(rows: list[tuple[float, str]]) -> Finding:
    """Of (difference in units of its interval, words): above 1 is clear, below -1 reversed."""
    clear = sum(units > 1 for units, _ in rows)
    reversed_ = sum(units < -1 for units, _ in rows)
    return Finding(answer=decide(len(rows), clear, reversed_), said=worst(rows, clear))


def _orders(
    measured: Measured, pairs: list[tuple[str, str]], where: Where, metric: Metric | None
) -> Finding:
    """The mean difference, run by run, of each pair against its interval."""
    rows = []
    for higher, lower in pairs:
        common = set(measured.places(higher)) & set(measured.places(lower))
        for x in sorted(filter(where, common)):
            high, low = measured.values(higher, x, metric), measured.values(lower, x, metric)
            difference, half = bounded([a - b for a, b in zip(high, low, strict=False)])
            at = f" at {x:g}" if len(common) > 1 else ""
            said = f"{_short(higher)} − {_short(lower)}{at}: {pm(difference, half)}"
            rows.append((_units(difference, half), said))
    return _compared(rows)


def _short(line: str) -> str:
    """A line's name without its panel."""
    return line.rpartition(": ")[2]


@dataclass(frozen=True)
class Falling:
    """The lines lie in this order, the first highest, wherever they have points."""

    lines: tuple[str, ...]
    where: Where = everywhere
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        return _orders(measured, list(pairwise(self.lines)), self.where, self.metric)


@dataclass(frozen=True)
class Above:
    """Each of `higher` lies above each of `lower`."""

    higher: tuple[str, ...]
    lower: tuple[str, ...]
    where: Where = everywhere
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        pairs = [(high, low) for high in self.higher for low in self.lower]
        return _orders(measured, pairs, self.where, self.metric)


@dataclass(frozen=True)
class Trend:
    """Lines grow (or fall, sign -1) from their first point, or from `first`, to their last."""

    lines: tuple[str, ...]
    sign: int = 1
    first: float | None = None
    last: float | None = None

    def __call__(self, measured: Measured) -> Finding:
        rows = []
        for line in self.lines:
            places = measured.places(line)
            a = places[0] if self.first is None else self.first
            b = places[-1] if self.last is None else self.last
            one, other = measured.values(line, a), measured.values(line, b)
            change, half = bounded([self.sign * (y - x) for x, y in zip(one, other, strict=False)])
            before, after = mean_ci(one)[0], mean_ci(other)[0]
            said = f"{_short(line)}: {number(before)} at {a:g}, {number(after)} at {b:g}"
            rows.append((_units(change, half), said))
        return _compared(rows)


@dataclass(frozen=True)
class Exponent:
    """The exponent of lines between first and last point (log-log) lies in [low, high].

    The interval adds the relative ones of both means, as of independent runs.
    """

    lines: tuple[str, ...]
    low: float
    high: float

    def __call__(self, measured: Measured) -> Finding:
        answers, said = [], []
        for line in self.lines:
            found, half = exponent(measured, line)
            answers.append(within(found - half, found + half, self.low, self.high))
            said.append(f"{_short(line)}: {found:.2f} ± {half:.2f}")
        return Finding(
            answer=together(answers), said=f"{'; '.join(said)}; {between(self.low, self.high)}"
        )


def between(low: float, high: float) -> str:
    """What was wanted, in words."""
    if low == -inf:
        return f"wanted at most {number(high)}"
    if high == inf:
        return f"wanted at least {number(low)}"
    return f"wanted {number(low)} to {number(high)}"


def exponent(measured: Measured, line: str) -> tuple[float, float]:
    """The power of x by which a line grows between its first and its last point."""
    places = measured.places(line)
    (first, before), (last, after) = (bounded(measured.values(line, places[i])) for i in (0, -1))
    span = log(places[-1] / places[0])
    return log(last / first) / span, hypot(before / first, after / last) / span


def together(answers: list[Answer]) -> Answer:
    """One answer for several: all, any clearly not, or undecided."""
    return decide(len(answers), answers.count("borne out"), answers.count("not borne out"))


@dataclass(frozen=True)
class Slower:
    """Lines grow along the axis by a smaller power than another line."""

    lines: tuple[str, ...]
    than: str

    def __call__(self, measured: Measured) -> Finding:
        most, width = exponent(measured, self.than)
        rows = []
        for line in self.lines:
            found, half = exponent(measured, line)
            said = f"{_short(line)} {found:.3f} ± {half:.3f}, {_short(self.than)} {most:.3f}"
            rows.append((_units(most - found, hypot(half, width)), said))
        return _compared(rows)


@dataclass(frozen=True)
class Alike:
    """Each line's mean is within the share `share` of the first line's, at every place.

    Borne out if the 95% interval of each difference lies inside, not if one lies outside.
    """

    lines: tuple[str, ...]
    share: float
    where: Where = everywhere
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        rows, clear, outside = [], 0, 0
        first, *others = self.lines
        for x in filter(self.where, measured.places(first)):
            base = measured.values(first, x, self.metric)
            room = self.share * abs(mean_ci(base)[0])
            for line in others:
                values = measured.values(line, x, self.metric)
                difference, half = bounded([b - a for a, b in zip(base, values, strict=False)])
                clear += abs(difference) + half <= room
                outside += abs(difference) - half > room
                said = f"{_short(line)} − {_short(first)}: {pm(difference, half)}"
                rows.append((room - abs(difference) - half, f"{said} of {number(room)} allowed"))
        return Finding(answer=decide(len(rows), clear, outside), said=worst(rows, clear))


@dataclass(frozen=True)
class Ratio:
    """The mean of one point over that of another lies in [low, high]."""

    over: tuple[str, float]
    under: tuple[str, float]
    low: float
    high: float
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        """By b·under < over < a·under, run by run."""
        top = measured.values(*self.over, self.metric)
        bottom = measured.values(*self.under, self.metric)
        ratio = sum(top) / len(top) / (sum(bottom) / len(bottom))
        pairs = list(zip(top, bottom, strict=False))
        least, one = bounded([a - self.low * b for a, b in pairs])
        most, other = bounded([self.high * b - a for a, b in pairs])
        answer: Answer = "undecided"
        if -least > one or -most > other:
            answer = "not borne out"
        elif least > one and most > other:
            answer = "borne out"
        return Finding(
            answer=answer,
            said=f"ratio {number(ratio)}; {between(self.low, self.high)}",
        )
