"""Checks of measured lines against numbers: a claimed limit, a probability, a theorem's bound."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from posse.measure.confidence import wilson
from posse.measure.numbers import number
from posse.papers.checks import (
    Lines,
    Where,
    between,
    bounded,
    check,
    each,
    everywhere,
    pm,
    together,
    weighed,
    within,
)
from posse.papers.experiment import SEED
from posse.papers.sample import Metric, Sample
from posse.papers.statements import Finding, Measured, verdict
from posse.plan import prepare

Limit = float | Callable[[str, float], float]
"""A number, or one for each line and place."""


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
    where: Where = everywhere,
    metric: Metric | None = None,
    sign: int = 1,
    every: bool = False,
) -> Finding:
    """The means of lines, or `every` run, are at most a limit, everywhere (sign -1: at least)."""
    rows = []
    for line, x in measured.reached(each(lines), where):
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


@check
def inside(measured: Measured, lines: Lines, low: float, high: float) -> Finding:
    """The means of lines lie between two limits, at every place."""
    points = measured.reached(each(lines), everywhere)
    found = [measured.mean(line, x) for line, x in points]
    means = [mean for mean, _ in found]
    said = f"{number(min(means))} to {number(max(means))}; {between(low, high)}"
    return Finding(together([within(m - half, m + half, low, high) for m, half in found]), said)


@check
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
        mean, half = bounded(measured.values(line, x, metric))
        exact = _at(wanted, line, x)
        fits = fits and abs(mean - exact) <= widened * half + slack * abs(exact)
        said.append(f"at {x:g}: {pm(mean, half)} for {number(exact)}")
    return verdict(fits, "; ".join(said))


def computed_hits(sample: Sample) -> tuple[int, int]:
    """The numbers "hits" and "of" of a computation."""
    return int(sample.numbers["hits"]), int(sample.numbers["of"])


@check
def rate(
    measured: Measured,
    lines: Lines,
    limit: float,
    pooled: bool = False,
    sign: int = 1,
    where: Where = everywhere,
    of: Callable[[Sample], tuple[int, int]] = computed_hits,
) -> Finding:
    """What happened in some trials has at most (sign -1: at least) this probability (Wilson).

    `of`: how often it happened in a sample, of how many trials; line by line and place by place, or
    `pooled`.
    """
    counted: dict[str, tuple[int, int]] = {}
    for line, x in measured.reached(each(lines), where):
        name = "" if pooled else f"{_named(measured, line, x)}: "
        found = [counted.get(name, (0, 0)), *map(of, measured.runs[line, x])]
        counted[name] = sum(hits for hits, _ in found), sum(trials for _, trials in found)
    least, most = (-inf, limit) if sign > 0 else (limit, inf)
    rows = []
    for name, (hits, trials) in counted.items():
        low, high = wilson(hits, trials)
        said = f"{name}{hits:,} of {trials:,} ({low:.2%} to {high:.2%}), wanted {limit:.3g}"
        rows.append((min(most - high, low - least), said, within(low, high, least, most)))
    return weighed(rows)


@check
def right(measured: Measured, failure: float, lines: Lines = ()) -> Finding:
    """Each run names the best arm, arm 0, with probability at least 1 - failure (Wilson).

    Of these lines together, or of all.
    """

    def named(sample: Sample) -> tuple[int, int]:
        return int(sample.best_arm == 0 and sample.status == "identified"), 1

    asked = rate(each(lines) or measured.lines(), 1 - failure, pooled=True, sign=-1, of=named)
    return asked(measured)


@check
def under_theory(measured: Measured, line: str, x: float, run: dict[str, Any]) -> Finding:
    """The regret of every run of a point is at most its system's bound, at all times."""
    shares = []
    plan = prepare({**run, "seed": SEED, "variant": measured.variant})
    for number_, sample in enumerate(measured.runs[line, x]):
        promised = plan.bound(number_).regret
        assert promised is not None
        assert sample.curve is not None
        times, found = np.array(sample.curve[1:]).T
        shares.append(float((found / promised(times)).max()))
    under = sum(share <= 1 for share in shares)
    said = f"in {under} of {len(shares)} runs; at most {max(shares):.2g} of it"
    return verdict(under == len(shares), said)
