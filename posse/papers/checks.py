"""Checks of measured lines against each other, by 95 % intervals.

Runs of equal number share seed and instance, so that a difference is taken run by run and does not
contain what the instance does to both (Student's t). An order, or a trend, is borne out if every
comparison holds by more than its interval, and not borne out if one is clearly the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from itertools import pairwise
from math import hypot, inf, log
from typing import Concatenate, ParamSpec

from posse.measure.confidence import mean_ci
from posse.measure.numbers import number
from posse.papers.sample import Metric
from posse.papers.statements import Answer, Check, Finding, Measured

P = ParamSpec("P")
Where = Callable[[float], bool]
Lines = str | Iterable[str]
"""One line, or several."""
Row = tuple[float, str, Answer]
"""A comparison: how clear it is, in words, and its answer."""


def check(decide: Callable[Concatenate[Measured, P], Finding]) -> Callable[P, Check]:
    """The check of given lines and limits, from how it decides on what was measured."""

    @wraps(decide)
    def given(*args: P.args, **kwargs: P.kwargs) -> Check:
        return lambda measured: decide(measured, *args, **kwargs)

    return given


def everywhere(x: float) -> bool:
    """At every place on the axis."""
    return True


def each(lines: Lines) -> tuple[str, ...]:
    """The lines that are meant."""
    return (lines,) if isinstance(lines, str) else tuple(lines)


def bounded(values: list[float]) -> tuple[float, float]:
    """Mean and the half-width of its 95 % interval; infinite for a single value."""
    mean, half = mean_ci(values)
    return mean, inf if half is None else half


def within(low: float, high: float, least: float = -inf, most: float = inf) -> Answer:
    """Whether an interval [low, high] lies inside [least, most], outside, or across an end."""
    if high < least or low > most:
        return "not borne out"
    return "borne out" if least <= low and high <= most else "undecided"


def together(answers: list[Answer]) -> Answer:
    """One answer for several: all, any clearly not, or undecided; not borne out by none."""
    if not answers or "not borne out" in answers:
        return "not borne out"
    return "undecided" if "undecided" in answers else "borne out"


def weighed(rows: list[Row]) -> Finding:
    """All comparisons together: how many are clear, and the words of the one that is least so."""
    answers = [answer for _, _, answer in rows]
    said = min(rows)[1] if rows else "nothing to compare"
    if len(rows) > 1:
        said = f"{answers.count('borne out')} of {len(rows)} clear; least: {said}"
    return Finding(together(answers), said)


def pm(mean: float, half: float) -> str:
    """A mean with its interval."""
    return number(mean) + (f" ± {number(half)}" if 0 < half < inf else "")


def between(low: float, high: float) -> str:
    """What was wanted, in words."""
    if low == -inf:
        return f"wanted at most {number(high)}"
    if high == inf:
        return f"wanted at least {number(low)}"
    return f"wanted {number(low)} to {number(high)}"


def _above_zero(difference: float, half: float, said: str) -> Row:
    """A difference in units of its interval: above 1 is clear, below -1 reversed.

    What is the same in every run lies above nothing.
    """
    units = difference / half if half else inf if difference > 0 else -inf
    answer: Answer = "borne out" if units > 1 else "not borne out" if units < -1 else "undecided"
    return units, said, answer


def _short(line: str) -> str:
    """A line's name without its panel."""
    return line.rpartition(": ")[2]


def _orders(
    measured: Measured, pairs: Iterable[tuple[str, str]], where: Where, metric: Metric | None
) -> Finding:
    """The mean difference, run by run, of each pair against its interval."""
    rows = []
    for higher, lower in pairs:
        common = set(measured.places(higher)) & set(measured.places(lower))
        for x in sorted(filter(where, common)):
            high, low = measured.values(higher, x, metric), measured.values(lower, x, metric)
            found = bounded([a - b for a, b in zip(high, low, strict=False)])
            at = f" at {x:g}" if len(common) > 1 else ""
            rows.append(
                _above_zero(*found, f"{_short(higher)} − {_short(lower)}{at}: {pm(*found)}")
            )
    return weighed(rows)


@check
def falling(measured: Measured, *lines: str, where: Where = everywhere) -> Finding:
    """The lines lie in this order, the first highest, wherever they have points."""
    return _orders(measured, pairwise(lines), where, None)


@check
def above(
    measured: Measured,
    higher: Lines,
    lower: Lines,
    where: Where = everywhere,
    metric: Metric | None = None,
) -> Finding:
    """Each of `higher` lies above each of `lower`."""
    pairs = [(high, low) for high in each(higher) for low in each(lower)]
    return _orders(measured, pairs, where, metric)


@check
def trend(measured: Measured, lines: Lines, sign: int = 1) -> Finding:
    """Lines grow (or fall, sign -1) from their first point to their last."""
    rows = []
    for line in each(lines):
        a, b = (measured.places(line)[end] for end in (0, -1))
        one, other = measured.values(line, a), measured.values(line, b)
        found = bounded([sign * (y - x) for x, y in zip(one, other, strict=False)])
        before, after = number(mean_ci(one)[0]), number(mean_ci(other)[0])
        rows.append(_above_zero(*found, f"{_short(line)}: {before} at {a:g}, {after} at {b:g}"))
    return weighed(rows)


def _power(measured: Measured, line: str) -> tuple[float, float]:
    """The power of x by which a line grows between its first and its last point (log-log).

    The interval adds the relative ones of both means, as of independent runs.
    """
    places = measured.places(line)
    (first, before), (last, after) = (bounded(measured.values(line, places[i])) for i in (0, -1))
    span = log(places[-1] / places[0])
    return log(last / first) / span, hypot(before / first, after / last) / span


@check
def exponent(measured: Measured, lines: Lines, low: float, high: float) -> Finding:
    """The power of x by which lines grow lies in [low, high]."""
    found = {_short(line): _power(measured, line) for line in each(lines)}
    said = "; ".join(f"{line}: {power:.2f} ± {half:.2f}" for line, (power, half) in found.items())
    answers = [within(power - half, power + half, low, high) for power, half in found.values()]
    return Finding(together(answers), f"{said}; {between(low, high)}")


@check
def slower(measured: Measured, lines: Lines, than: str) -> Finding:
    """Lines grow along the axis by a smaller power than another line."""
    most, width = _power(measured, than)
    rows = []
    for line in each(lines):
        found, half = _power(measured, line)
        said = f"{_short(line)} {found:.3f} ± {half:.3f}, {_short(than)} {most:.3f}"
        rows.append(_above_zero(most - found, hypot(half, width), said))
    return weighed(rows)


@check
def alike(
    measured: Measured, first: str, others: Lines, share: float, metric: Metric | None = None
) -> Finding:
    """The mean of each of `others` is within the share `share` of the first line's, everywhere.

    Borne out if the 95% interval of each difference lies inside, not if one lies outside.
    """
    rows = []
    for x in measured.places(first):
        base = measured.values(first, x, metric)
        room = share * abs(mean_ci(base)[0])
        for line in each(others):
            values = measured.values(line, x, metric)
            difference, half = bounded([b - a for a, b in zip(base, values, strict=False)])
            off = abs(difference)
            said = f"{_short(line)} − {_short(first)}: {pm(difference, half)}"
            said = f"{said} of {number(room)} allowed"
            rows.append((room - off - half, said, within(off - half, off + half, most=room)))
    return weighed(rows)


@check
def ratio(
    measured: Measured,
    over: tuple[str, float],
    under: tuple[str, float],
    low: float,
    high: float,
    metric: Metric | None = None,
) -> Finding:
    """The mean of one point over that of another lies in [low, high].

    By low·under < over < high·under, run by run.
    """
    top, bottom = measured.values(*over, metric), measured.values(*under, metric)
    found = sum(top) / len(top) / (sum(bottom) / len(bottom))
    pairs = list(zip(top, bottom, strict=False))
    ends = [[a - low * b for a, b in pairs]]
    if high < inf:
        ends.append([high * b - a for a, b in pairs])
    answers = [_above_zero(*bounded(end), "")[2] for end in ends]
    return Finding(together(answers), f"ratio {number(found)}; {between(low, high)}")
