"""Checks of measured lines: against each other, and against numbers.

Runs of equal number share seed and instance, so that a difference is taken run by run and does not
contain what the instance does to both (Student's t). Points that were not run equally often
are compared as independent (Welch), so that no run is left out. An order, or a trend, holds if
every comparison does by more than its interval, and fails if one is clearly the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import pairwise
from math import hypot, inf, log
from typing import Any, Concatenate, ParamSpec

import numpy as np

from posse.experiments import mean_ci, number, student, wilson
from posse.extend import FloatArray
from posse_papers.experiment import SEED
from posse_papers.sample import Metric, Sample
from posse_papers.statements import (
    Check,
    Choices,
    Finding,
    Held,
    Lines,
    Measured,
    Mutant,
    Place,
    Where,
    each,
    over,
    verdict,
)
from posse_papers.worlds import at_odds, changed, dealt, multiplied, plan_of, same

P = ParamSpec("P")
Limit = float | Callable[[str, float], float]
"""A number, or one for each line and place."""
Row = tuple[float, str, Held]
"""A comparison: how clear it is, in words, and what it says."""

Decide = Callable[Concatenate[Measured, P], Finding]
"""How a check decides on what was measured, given lines and limits."""


def check(
    decide: Decide[P], wrong: Callable[P, Iterable[Mutant]] | None = None
) -> Callable[P, Check]:
    """The check of given lines and limits, from how it decides on what was measured."""

    @wraps(decide)
    def given(*args: P.args, **kwargs: P.kwargs) -> Check:
        worlds = () if wrong is None else tuple(wrong(*args, **kwargs))
        return Check(lambda measured: decide(measured, *args, **kwargs), worlds)

    return given


def against(
    wrong: Callable[P, Iterable[Mutant]],
) -> Callable[[Decide[P]], Callable[P, Check]]:
    """As `check`, with the wrong worlds that the kind of check has for these lines and limits."""
    return lambda decide: check(decide, wrong)


def bounded(values: list[float], error: float) -> tuple[float, float]:
    """Mean and the half-width of its interval; infinite for a single value."""
    mean, half = mean_ci(values, error)
    return mean, inf if half is None else half


def combined(
    measured: Measured,
    one: Place,
    other: Place,
    weights: tuple[float, float] = (1.0, -1.0),
    metric: Metric | None = None,
) -> tuple[float, float]:
    """The weighted sum of the means at two points, by default their difference, as `bounded`.

    Run by run if both were run equally often; else as of independent runs.
    """
    sides = [
        weight * np.array(measured.values(*point, metric))
        for weight, point in zip(weights, (one, other), strict=True)
    ]
    if len(sides[0]) == len(sides[1]):
        return bounded([float(both) for both in sides[0] + sides[1]], measured.error)
    mean = float(sum(side.mean() for side in sides))
    if min(map(len, sides)) < 2:
        return mean, inf
    variances = [float(side.var(ddof=1)) / len(side) for side in sides]
    if not any(variances):
        return mean, 0.0
    each_one = zip(variances, sides, strict=True)
    freedom = sum(variances) ** 2 / sum(v**2 / (len(side) - 1) for v, side in each_one)
    return mean, student(int(freedom), measured.error) * sum(variances) ** 0.5


def within(low: float, high: float, least: float = -inf, most: float = inf) -> Held:
    """Whether an interval [low, high] lies inside [least, most], outside, or across an end."""
    if high < least or low > most:
        return "fails"
    return "holds" if least <= low and high <= most else "open"


def together(answers: list[Held]) -> Held:
    """One answer for several: all hold, any fails, or open; of none it fails."""
    if not answers or "fails" in answers:
        return "fails"
    return "open" if "open" in answers else "holds"


def weighed(rows: list[Row]) -> Finding:
    """All comparisons together: how many are clear, and the words of the one that is least so."""
    answers = [answer for _, _, answer in rows]
    said = min(rows)[1] if rows else "nothing to compare"
    if len(rows) > 1:
        said = f"{answers.count('holds')} of {len(rows)} clear; least: {said}"
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


def above_zero(difference: float, half: float, said: str) -> Row:
    """A difference in units of its interval: above 1 is clear, below -1 reversed.

    What is the same in every run lies above nothing.
    """
    units = difference / half if half else inf if difference > 0 else -inf
    answer: Held = "holds" if units > 1 else "fails" if units < -1 else "open"
    return units, said, answer


def _short(line: str) -> str:
    """A line's name without its panel."""
    return line.rpartition(": ")[2]


def _orders(
    measured: Measured, pairs: Iterable[tuple[str, str]], where: Where, metric: Metric | None
) -> Finding:
    """The mean difference of each pair against its interval."""
    rows = []
    for higher, lower in pairs:
        common = set(measured.places(higher)) & set(measured.places(lower))
        for _, x in measured.reached(higher, where):
            if x in common:
                found = combined(measured, (higher, x), (lower, x), metric=metric)
                at = f" at {x:g}" if len(common) > 1 else ""
                said = f"{_short(higher)} − {_short(lower)}{at}: {pm(*found)}"
                rows.append(above_zero(*found, said))
    return weighed(rows)


def _at_each_place(lines: Iterable[str], where: Where) -> Mutant:
    """These lines dealt anew at each place."""

    def places(measured: Measured) -> list[list[Place]]:
        found: dict[float, list[Place]] = {}
        for point in measured.reached(lines, where):
            found.setdefault(point[1], []).append(point)
        return list(found.values())

    return dealt(places)


@against(lambda *lines, where=None: [_at_each_place(lines, where)])
def falling(measured: Measured, *lines: str, where: Where = None) -> Finding:
    """The lines lie in this order, the first highest, wherever they have points."""
    return _orders(measured, pairwise(lines), where, None)


@against(
    lambda higher, lower, where=None, metric=None: [
        _at_each_place((*each(higher), *each(lower)), where)
    ]
)
def above(
    measured: Measured,
    higher: Lines,
    lower: Lines,
    where: Where = None,
    metric: Metric | None = None,
) -> Finding:
    """Each of `higher` lies above each of `lower`."""
    pairs = [(high, low) for high in each(higher) for low in each(lower)]
    return _orders(measured, pairs, where, metric)


@against(
    lambda lines, sign=1: [dealt(lambda measured: [measured.reached(line) for line in each(lines)])]
)
def trend(measured: Measured, lines: Lines, sign: int = 1) -> Finding:
    """Lines grow (or fall, sign -1) from their first point to their last."""
    rows = []
    for line in each(lines):
        first, last = ((line, measured.places(line)[end]) for end in (0, -1))
        found = combined(measured, first, last, (-sign, sign))
        means = (f"{number(measured.mean(*end)[0])} at {end[1]:g}" for end in (first, last))
        rows.append(above_zero(*found, f"{_short(line)}: {', '.join(means)}"))
    return weighed(rows)


def _power(measured: Measured, line: str) -> tuple[float, float]:
    """The power of x by which a line grows between its first and its last point (log-log).

    The interval adds the relative ones of both means, as of independent runs.
    """
    places = measured.places(line)
    (first, before), (last, after) = (
        bounded(measured.values(line, places[i]), measured.error) for i in (0, -1)
    )
    span = log(places[-1] / places[0])
    return log(last / first) / span, hypot(before / first, after / last) / span


def _other_powers(lines: Lines, low: float, high: float) -> Iterator[Mutant]:
    """Lines whose power of x lies a quarter beyond either end."""
    for end in (high + 0.25, low - 0.25):
        if abs(end) < inf:
            yield changed(f"growth as x^{end:.2g}", lines, partial(_bent, end))


def _bent(to: float, measured: Measured, point: Place) -> tuple[float, float]:
    """What makes a line grow by that power of x."""
    line, x = point
    return float(x ** (to - _power(measured, line)[0])), 0.0


@against(_other_powers)
def exponent(measured: Measured, lines: Lines, low: float, high: float) -> Finding:
    """The power of x by which lines grow lies in [low, high]."""
    found = {_short(line): _power(measured, line) for line in each(lines)}
    said = "; ".join(f"{line}: {power:.2f} ± {half:.2f}" for line, (power, half) in found.items())
    answers = [within(power - half, power + half, low, high) for power, half in found.values()]
    return Finding(together(answers), f"{said}; {between(low, high)}")


@against(lambda lines, than: [same("the same growth", lines, than)])
def slower(measured: Measured, lines: Lines, than: str) -> Finding:
    """Lines grow along the axis by a smaller power than another line."""
    most, width = _power(measured, than)
    rows = []
    for line in each(lines):
        found, half = _power(measured, line)
        said = f"{_short(line)} {found:.3f} ± {half:.3f}, {_short(than)} {most:.3f}"
        rows.append(above_zero(most - found, hypot(half, width), said))
    return weighed(rows)


def _off(first: str, others: Lines, share: float, metric: Metric | None = None) -> Iterator[Mutant]:
    """Each of `others` off by twice as much as is allowed."""
    yield changed(
        "twice what is allowed", others,
        lambda measured, point: (1.0, _more(measured, (first, point[1]), point, share, metric)),
    )  # fmt: skip


def _more(
    measured: Measured, first: Place, other: Place, share: float, metric: Metric | None
) -> float:
    """What makes a point's mean larger than the first line's by twice a share."""
    wanted = measured.mean(*first, metric)[0]
    return wanted + 2 * share * abs(wanted) - measured.mean(*other, metric)[0]


@against(_off)
def alike(
    measured: Measured, first: str, others: Lines, share: float, metric: Metric | None = None
) -> Finding:
    """The mean of each of `others` is within the share `share` of the first line's, everywhere.

    It holds if the interval of each difference lies inside, and fails if one lies outside.
    """
    rows = []
    for x in measured.places(first):
        room = share * abs(measured.mean(first, x, metric)[0])
        for line in each(others):
            difference, half = combined(measured, (line, x), (first, x), metric=metric)
            off = abs(difference)
            said = f"{_short(line)} − {_short(first)}: {pm(difference, half)}"
            said = f"{said} of {number(room)} allowed"
            rows.append((room - off - half, said, within(off - half, off + half, most=room)))
    return weighed(rows)


def _beyond(
    over: Place, under: Place, low: float, high: float, metric: Metric | None = None
) -> Iterator[Mutant]:
    """A ratio that lies a quarter beyond either of two ends, or twice beyond the only one."""
    both = low > 0 and high < inf
    for end, off in ((high, 1.25 if both else 2.0), (low, 0.8 if both else 0.5)):
        if 0 < end < inf:
            yield changed(
                f"a ratio of {number(off * end)}", over[0],
                partial(_scaled, over, under, off * end, metric),
            )  # fmt: skip


def _scaled(
    over: Place, under: Place, to: float, metric: Metric | None, measured: Measured, point: Place
) -> tuple[float, float]:
    """What makes a ratio of means that number."""
    if point != over:
        return 1.0, 0.0
    return to * measured.mean(*under, metric)[0] / measured.mean(*over, metric)[0], 0.0


@against(_beyond)
def ratio(
    measured: Measured,
    over: tuple[str, float],
    under: tuple[str, float],
    low: float,
    high: float,
    metric: Metric | None = None,
) -> Finding:
    """The mean of one point over that of another lies in [low, high].

    By low·under < over < high·under.
    """
    found = measured.mean(*over, metric)[0] / measured.mean(*under, metric)[0]
    ends = [(1.0, -low), (-1.0, high)] if high < inf else [(1.0, -low)]
    answers = [
        above_zero(*combined(measured, over, under, weights, metric), "")[2] for weights in ends
    ]
    return Finding(together(answers), f"ratio {number(found)}; {between(low, high)}")


def _named(measured: Measured, line: str, x: float) -> str:
    """A point by its line, and by its place where the line has several."""
    return f"{line} at {x:g}" if len(measured.places(line)) > 1 else line


def _at(limit: Limit, line: str, x: float) -> float:
    return limit(line, x) if callable(limit) else limit


@check
def at_most(
    measured: Measured,
    lines: Lines,
    limit: Limit,
    where: Where = None,
    metric: Metric | None = None,
    sign: int = 1,
    every: bool = False,
) -> Finding:
    """The means of lines, or `every` run, are at most a limit, everywhere (sign -1: at least)."""
    rows = []
    for line, x in measured.reached(lines, where):
        mean, half = measured.mean(line, x, metric)
        if every:
            mean, half = sign * max(sign * v for v in measured.values(line, x, metric)), 0.0
        wanted = _at(limit, line, x)
        excess, slack = sign * (mean - wanted), 1e-9 * abs(wanted)
        said = f"{'at most' if sign > 0 else 'at least'} {number(wanted)}"
        rows.append((
            (-excess - half) / (abs(wanted) or 1.0),
            f"{_named(measured, line, x)}: {pm(mean, half)}, {said}",
            within(excess - half, excess + half, most=slack),
        ))  # fmt: skip
    return weighed(rows)


@against(
    lambda lines, low, high: [
        multiplied(f"{times:g} times as much", lines, times) for times in (0.5, 2.0)
    ]
)
def inside(measured: Measured, lines: Lines, low: float, high: float) -> Finding:
    """The means of lines lie between two limits, at every place."""
    found = [measured.mean(*point) for point in measured.reached(lines)]
    means = [mean for mean, _ in found]
    said = f"{number(min(means))} to {number(max(means))}; {between(low, high)}"
    return Finding(together([within(m - half, m + half, low, high) for m, half in found]), said)


@against(
    lambda wanted, metric=None: [
        changed("a tenth and .1 more", dict.fromkeys(
            key[0] if isinstance(key, tuple) else key for key in wanted
        ), lambda measured, point: (1.1, 0.1))
    ]
)  # fmt: skip
def equal(measured: Measured, wanted: dict[Any, float], metric: Metric | None = None) -> Finding:
    """Every sample of a point is this number exactly, by line (and place)."""
    wrong, seen = [], 0
    for key, exact in wanted.items():
        line, x = key if isinstance(key, tuple) else (key, measured.places(key)[0])
        values = measured.values(line, x, metric)
        seen += len(values)
        if any(abs(value - exact) > 1e-6 * max(1.0, abs(exact)) for value in values):
            at = f" at {x:g}" if isinstance(key, tuple) else ""
            wrong.append(f"{line}{at}: {number(values[0])} for {number(exact)}")
    return verdict(not wrong, "; ".join(wrong[:3]) if wrong else f"exactly so in all {seen:,}")


@check
def matches(
    measured: Measured,
    line: str,
    wanted: Limit,
    widened: float = 1.0,
    slack: float = 0.0,
    metric: Metric | None = None,
) -> Finding:
    """The means of a line are what is wanted, within their intervals and this share of it.

    Several intervals together are `widened` (Bonferroni): three by 1.3, five by 1.4.
    """
    said, fits = [], True
    for x in measured.places(line):
        mean, half = bounded(measured.values(line, x, metric), measured.error)
        exact = _at(wanted, line, x)
        fits = fits and abs(mean - exact) <= widened * half + slack * abs(exact)
        said.append(f"at {x:g}: {pm(mean, half)} for {number(exact)}")
    return verdict(fits, "; ".join(said))


@against(lambda slow, fast, times: [same("no difference", fast, slow)])
def faster(measured: Measured, slow: str, fast: str, times: float) -> Finding:
    """At every place one line is more than this many times another."""
    rows = []
    for x in measured.places(slow):
        found = combined(measured, (slow, x), (fast, x), (1.0, -times))
        means = [measured.mean(line, x)[0] for line in (slow, fast)]
        said = f"{number(means[0] / means[1])} times at {x:g}"
        rows.append(above_zero(*found, said))
    return weighed(rows)


_WITHIN = (0.05, 0.1, 0.25)


def about(first: str, others: Lines, metric: Metric | None = None) -> Choices:
    """`alike`, where a paper leaves open how close: within a twentieth, a tenth, a quarter."""
    return over(lambda within: alike(first, others, within, metric), within=_WITHIN)


def about_ratio(
    high: Place, low: Place, about: float = 1.0, metric: Metric | None = None
) -> Choices:
    """The ratio of two points is about `of`, where a paper leaves open how close."""
    return over(
        lambda within: ratio(high, low, about / (1 + within), about * (1 + within), metric),
        within=_WITHIN,
    )


def computed_hits(sample: Sample) -> tuple[int, int]:
    """The numbers "hits" and "of" of a computation."""
    return int(sample.numbers["hits"]), int(sample.numbers["of"])


def _odds(
    lines: Lines,
    limit: float,
    pooled: bool = False,
    sign: int = 1,
    where: Where = None,
    happened: Any = None,
) -> Iterator[Mutant]:
    """It happens twice as often as is allowed, or fails to."""
    odds = min(2 * limit, 1.0) if sign > 0 else max(1 - 2 * (1 - limit), 0.0)
    yield at_odds(f"a probability of {odds:.3g}", odds)


@against(_odds)
def rate(
    measured: Measured,
    lines: Lines,
    limit: float,
    pooled: bool = False,
    sign: int = 1,
    where: Where = None,
    happened: Callable[[Sample], tuple[int, int]] = computed_hits,
) -> Finding:
    """What happened in some trials has at most (sign -1: at least) this probability (Wilson).

    `happened`: how often it did in a sample, of how many trials; line by line and place by place,
    or `pooled`.
    """
    counted: dict[str, tuple[int, int]] = {}
    for line, x in measured.reached(lines, where):
        name = "" if pooled else f"{_named(measured, line, x)}: "
        found = [counted.get(name, (0, 0)), *map(happened, measured.runs[line, x])]
        counted[name] = sum(hits for hits, _ in found), sum(trials for _, trials in found)
    if measured.odds is not None:
        generator = np.random.default_rng(SEED)
        counted = {
            name: (int(generator.binomial(trials, measured.odds)), trials)
            for name, (_, trials) in counted.items()
        }
    least, most = (-inf, limit) if sign > 0 else (limit, inf)
    rows = []
    for name, (hits, trials) in counted.items():
        low, high = wilson(hits, trials, measured.error)
        said = f"{name}{hits:,} of {trials:,} ({low:.2%} to {high:.2%}), wanted {limit:.3g}"
        rows.append((min(most - high, low - least), said, within(low, high, least, most)))
    return weighed(rows)


@against(lambda failure, lines=(): _odds((), 1 - failure, sign=-1))
def right(measured: Measured, failure: float, lines: Lines = ()) -> Finding:
    """Each run names the best arm, arm 0, with probability at least 1 - failure (Wilson).

    Of these lines together, or of all.
    """

    def named(sample: Sample) -> tuple[int, int]:
        return int(sample.best_arm == 0 and sample.status == "identified"), 1

    asked = rate(lines or measured.lines(), 1 - failure, pooled=True, sign=-1, happened=named)
    return asked(measured)


@check
def under_theory(
    measured: Measured,
    line: str,
    x: float = 0.0,
    bound: Callable[[FloatArray], FloatArray] | None = None,
) -> Finding:
    """The mean regret of a point's runs is at most its system's bound, or `bound`, at all times.

    It is the expectation that is bounded, so that a single run may lie above.
    """
    shares = []
    plan = plan_of(measured, line, x)
    for number_, sample in enumerate(measured.runs[line, x]):
        promised = bound or plan.bound(number_).regret
        assert promised is not None
        assert sample.curve is not None
        times, found = np.array(sample.curve[1:]).T
        shares.append(found / promised(times))
    each_time = [bounded(list(column), measured.error) for column in np.array(shares).T]
    mean, half = max(each_time)
    interval = f" ± {half:.1g}" if 0 < half < inf else ""
    said = f"over the bound in {len(shares)} runs: {mean:.2g}{interval}"
    half = 0.0 if half == inf else half
    return Finding(within(mean - half, mean + half, most=1.0), said)
