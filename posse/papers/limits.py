"""Checks of measured lines against numbers: a claimed limit, a probability, a theorem's bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from posse.measure.confidence import wilson
from posse.measure.numbers import number
from posse.papers.checks import (
    Where,
    between,
    bounded,
    decide,
    everywhere,
    pm,
    together,
    within,
    worst,
)
from posse.papers.points import SEED
from posse.papers.sample import Metric
from posse.papers.statements import Finding, Measured, verdict

Limit = float | Callable[[str, float], float]
"""A number, or one for each line and place."""


def _named(measured: Measured, line: str, x: float) -> str:
    """A point by its line, and by its place where the line has several."""
    return f"{line} at {x:g}" if len(measured.places(line)) > 1 else line


def _at(limit: Limit, line: str, x: float) -> float:
    return limit(line, x) if callable(limit) else limit


def _mean(values: list[float]) -> tuple[float, float]:
    """Mean and half-width; a single value has no interval: it is a computation's exact number."""
    return bounded(values) if len(values) > 1 else (values[0], 0.0)


@dataclass(frozen=True)
class AtMost:
    """The means of lines are at most a limit, at every place (sign -1: at least)."""

    lines: tuple[str, ...]
    limit: Limit
    where: Where = everywhere
    sign: int = 1
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        rows, clear, over = [], 0, 0
        for line, x in measured.reached(self.lines, self.where):
            mean, half = _mean(measured.values(line, x, self.metric))
            limit = _at(self.limit, line, x)
            room = self.sign * (limit - mean)
            slack = 1e-9 * abs(limit)
            clear += room >= half - slack
            over += -room > half + slack
            wanted = f"{'at most' if self.sign > 0 else 'at least'} {number(limit)}"
            said = f"{_named(measured, line, x)}: {pm(mean, half)}, {wanted}"
            rows.append(((room - half) / (abs(limit) or 1.0), said))
        return Finding(answer=decide(len(rows), clear, over), said=worst(rows, clear))


def at_least(lines: tuple[str, ...], limit: Limit, where: Where = everywhere) -> AtMost:
    """The means of lines are at least a limit."""
    return AtMost(lines, limit, where, sign=-1)


@dataclass(frozen=True)
class Inside:
    """The means of lines lie between two limits, at every place."""

    lines: tuple[str, ...]
    low: float
    high: float

    def __call__(self, measured: Measured) -> Finding:
        points = measured.reached(self.lines, everywhere)
        found = [_mean(measured.values(line, x)) for line, x in points]
        means = [mean for mean, _ in found]
        return Finding(
            answer=together([within(m - half, m + half, self.low, self.high) for m, half in found]),
            said=f"{number(min(means))} to {number(max(means))}; {between(self.low, self.high)}",
        )


@dataclass(frozen=True)
class Equal:
    """Every sample of a point is this number exactly, by line (and place)."""

    wanted: dict[Any, float]
    metric: Metric | None = None

    def __call__(self, measured: Measured) -> Finding:
        wrong, seen = [], 0
        for key, number_ in self.wanted.items():
            line, x = key if isinstance(key, tuple) else (key, measured.places(key)[0])
            values = measured.values(line, x, self.metric)
            seen += len(values)
            if any(abs(value - number_) > 1e-6 * max(1.0, abs(number_)) for value in values):
                wrong.append(f"{line}{f' at {x:g}' if isinstance(key, tuple) else ''}: "
                             f"{number(values[0])} for {number(number_)}")  # fmt: skip
        return verdict(not wrong, "; ".join(wrong[:3]) if wrong else f"exactly so in all {seen:,}")


@dataclass(frozen=True)
class Rate:
    """What happened in `hits` of `of` trials has at most (sign -1: at least) this probability.

    Of a computation's numbers "hits" and "of", line by line and place by place, or `pooled`;
    by Wilson's 95 % interval.
    """

    lines: tuple[str, ...]
    limit: Limit
    pooled: bool = False
    where: Where = everywhere
    sign: int = 1

    def __call__(self, measured: Measured) -> Finding:
        counted: dict[tuple[str, float], tuple[int, int]] = {}
        for line, x in measured.reached(self.lines, self.where):
            numbers = [sample.numbers for sample in measured.runs[line, x]]
            key = (self.lines[0], 0.0) if self.pooled else (line, x)
            hits, of = counted.get(key, (0, 0))
            counted[key] = (
                hits + sum(int(found["hits"]) for found in numbers),
                of + sum(int(found["of"]) for found in numbers),
            )
        rows, answers = [], []
        for (line, x), (hits, of) in counted.items():
            low, high = wilson(hits, of)
            limit = _at(self.limit, line, x)
            least, most = (-inf, limit) if self.sign > 0 else (limit, inf)
            answers.append(within(low, high, least, most))
            at = "" if self.pooled else f"{_named(measured, line, x)}: "
            said = f"{at}{hits:,} of {of:,} ({low:.2%} to {high:.2%}), wanted {limit:.3g}"
            rows.append((min(most - high, low - least), said))
        return Finding(answer=together(answers), said=worst(rows, answers.count("borne out")))


@dataclass(frozen=True)
class Right:
    """Each run names the best arm, arm 0, with probability at least 1 - failure (Wilson)."""

    failure: float
    lines: str = ""

    def __call__(self, measured: Measured) -> Finding:
        samples = measured.samples(measured.lines(self.lines))
        hits = sum(sample.best_arm == 0 and sample.status == "identified" for sample in samples)
        low, high = wilson(hits, len(samples))
        return Finding(
            answer=within(low, high, least=1 - self.failure),
            said=f"{hits} of {len(samples)} runs right: probability {low:.1%} to {high:.1%}",
        )


@dataclass(frozen=True)
class UnderTheory:
    """The regret of every run of a point is at most its system's bound, at all times."""

    line: str
    x: float
    run: dict[str, Any]

    def __call__(self, measured: Measured) -> Finding:
        from posse.plan import prepare  # noqa: PLC0415

        worst_, over = 0.0, 0
        samples = measured.runs[self.line, self.x]
        plan = prepare({**self.run, "seed": SEED, "variant": measured.variant})
        for number_, sample in enumerate(samples):
            promised = plan.bound(number_).regret
            assert promised is not None
            assert sample.curve is not None
            times, found = np.array(sample.curve[1:]).T
            share = float((found / promised(times)).max())
            over += share > 1
            worst_ = max(worst_, share)
        return verdict(
            not over, f"in {len(samples) - over} of {len(samples)} runs; at most {worst_:.2g} of it"
        )
