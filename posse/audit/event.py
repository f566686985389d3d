"""Learns an event that tells two data sets apart, from the views of runs on both.

An event is a condition, or several that hold together: a number in the view, or a weighted sum of
numbers, is above or not above a threshold. The search covers all numbers, all differences of two,
and the sum that a logistic regression finds. It takes the threshold with the largest bound on ε
among the runs learned from, then a second and a third condition within that event.

The likelihood ratio test is the best possible, and DP-Sniper uses it. A logistic regression is that
test for noise spread evenly over many numbers. Conditions on single numbers come close to it in the
tails of Laplace noise, and can be put into words.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.audit.bounds import ERROR, epsilon_at_least
from posse.errors import PosseError
from posse.measure.numbers import number
from posse.protocol.arrays import FloatArray

_THRESHOLDS = 100
"""The most thresholds tried for one number."""

_DEPTH = 3
_FIRST = 10
"""How many of the best first conditions are followed further."""

_WORTH = 1.1
"""Least factor by which a further condition must raise the bound: fewer conditions read better."""

_FINE, _DIFFERENCES = 10, 20
"""Differences are taken of numbers with more than 10 values each, unless there are more than 20."""

_NEEDED = 'audits need scikit-learn; install it with: python -m pip install "posse-bandits[audit]"'

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ViewTable:
    """The views of runs on one data set: a row per run, a column per named number.

    `values` has shape (runs, names); NaN where a run lacks the number. `spent`: the largest ε of a
    ledger. `cut`: how many further runs were cut, and have no row.
    """

    names: tuple[str, ...]
    values: FloatArray
    spent: float | None = None
    cut: int = 0

    def columns(self, names: tuple[str, ...]) -> FloatArray:
        """These columns; NaN for numbers that were never seen."""
        place = {name: i for i, name in enumerate(self.names)}
        out = np.full((len(self.values), len(names)), np.nan)
        present = [(i, place[name]) for i, name in enumerate(names) if name in place]
        if present:
            target, source = map(list, zip(*present, strict=True))
            out[:, target] = self.values[:, source]
        return out


def align(tables: Sequence[ViewTable]) -> tuple[tuple[str, ...], list[FloatArray]]:
    """All names of the tables, and each table's columns by these names."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    return names, [table.columns(names) for table in tables]


def join_tables(tables: list[ViewTable]) -> ViewTable:
    """The rows of all tables in one."""
    names, values = align(tables)
    spent = [table.spent for table in tables if table.spent is not None]
    cut = sum(table.cut for table in tables)
    return ViewTable(names, np.concatenate(values), max(spent, default=None), cut)


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of `weights[name]` times the number is above `threshold`, or is not above it.

    `missing`: what stands for a number of the sum that a run lacks.
    """

    weights: dict[str, float]
    above: bool
    threshold: float
    missing: dict[str, float] = {}

    def holds(self, table: ViewTable) -> Mask:
        """For which runs it holds; for none that lack a number without a stand-in."""
        names = tuple(self.weights)
        values = table.columns(names)
        if self.missing:
            values = np.where(np.isnan(values), [self.missing[name] for name in names], values)
        score = values @ np.array(list(self.weights.values()))
        holds: Mask = score > self.threshold if self.above else score <= self.threshold
        return holds

    @property
    def says(self) -> str:
        """The condition in words."""
        than = f"{'above' if self.above else 'not above'} {number(self.threshold)}"
        if list(self.weights.values()) == [1.0]:
            return f"{next(iter(self.weights))} {than}"
        if list(self.weights.values()) == [1.0, -1.0]:
            return " less ".join(self.weights) + f" {than}"
        first = sorted(self.weights.items(), key=lambda item: -abs(item[1]))[:3]
        terms = ", ".join(f"{number(weight)} × {name}" for name, weight in first)
        more = len(self.weights) - len(first)
        return f"a weighted sum {than}: {terms}" + (f" and {more} more" if more else "")


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """All `conditions` hold; `likelier_on` is the data set, 0 or 1, on which that is likelier."""

    conditions: tuple[Condition, ...]
    likelier_on: int

    def holds(self, table: ViewTable) -> Mask:
        """For which runs it holds."""
        holds = np.ones(len(table.values), dtype=bool)
        for condition in self.conditions:
            holds &= condition.holds(table)
        return holds

    @property
    def says(self) -> str:
        """The event in words."""
        return ", and ".join(condition.says for condition in self.conditions)


NOTHING = Event(conditions=(), likelier_on=0)
"""The event that always holds: nothing in the views tells the two data sets apart."""


@dataclass(frozen=True)
class _Column:
    """A number, or a weighted sum, on both data sets, to be searched for thresholds."""

    weights: dict[str, float]
    missing: dict[str, float]
    values: tuple[FloatArray, FloatArray]


def learn(tables: Sequence[ViewTable], delta: float = 0.0) -> tuple[Event, float]:
    """The event that best tells the two data sets apart, and its bound on ε among these runs.

    Both tables must have the same number of rows.
    """
    columns = [*_columns(tables), *_regression(tables)]
    best, bound, most = NOTHING, 0.0, 0.0
    for first, epsilon, side in _unlike(_scan(columns, tables, NOTHING, delta)):
        event, so_far = Event(conditions=(first,), likelier_on=side), epsilon
        for _ in range(_DEPTH - 1):
            further = _scan(columns, tables, event, delta, side)
            if not further or further[0][1] < so_far * _WORTH:
                break
            condition, so_far, _ = further[0]
            event = Event(conditions=(*event.conditions, condition), likelier_on=side)
        worth = min(map(_readable, event.conditions))
        if so_far * worth > most:
            best, bound, most = event, so_far, so_far * worth
    return best, bound


def _columns(tables: Sequence[ViewTable]) -> list[_Column]:
    """Every number, and every difference of two unless there are too many."""
    names, (left, right) = align(tables)
    singly = [_Column({name: 1.0}, {}, (left[:, i], right[:, i])) for i, name in enumerate(names)]
    wide = [i for i in range(len(names)) if len(np.unique(left[:, i])) > _FINE]
    if len(wide) > _DIFFERENCES:
        return singly
    return singly + [
        _Column(
            {names[i]: 1.0, names[j]: -1.0},
            {},
            (left[:, i] - left[:, j], right[:, i] - right[:, j]),
        )
        for i, j in itertools.combinations(wide, 2)
    ]


def require_scikit() -> None:
    """`PosseError` if scikit-learn is not installed; it is not loaded."""
    if find_spec("sklearn") is None:
        raise PosseError(_NEEDED)


def scikit(module: str) -> Any:
    """A module of scikit-learn; `PosseError` if it is not installed."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise PosseError(_NEEDED) from None


def _regression(tables: Sequence[ViewTable]) -> list[_Column]:
    """The weighted sum of scikit-learn's logistic regression; none for fewer than two numbers.

    A missing number is replaced by its mean.
    """
    regression = scikit("linear_model").LogisticRegression(max_iter=200)
    names, both = align(tables)
    x = np.concatenate(both)
    known = ~np.isnan(x)
    counts = known.sum(axis=0)
    mean = np.where(known, x, 0.0).sum(axis=0) / np.maximum(counts, 1)
    x = np.where(known, x, mean)
    scale = x.std(axis=0)
    use = np.isfinite(scale) & (scale > 0)
    if use.sum() < 2:
        return []
    y = np.repeat([0, 1], [len(values) for values in both])
    model = regression.fit((x[:, use] - mean[use]) / scale[use], y)
    weights = model.coef_[0] / scale[use]
    kept = [name for name, used in zip(names, use, strict=True) if used]
    score = x[:, use] @ weights
    return [
        _Column(
            dict(zip(kept, weights.tolist(), strict=True)),
            dict(zip(kept, mean[use].tolist(), strict=True)),
            (score[: len(both[0])], score[len(both[0]) :]),
        )
    ]


def _scan(
    columns: list[_Column],
    tables: Sequence[ViewTable],
    within: Event,
    delta: float,
    likelier_on: int | None = None,
) -> list[tuple[Condition, float, int]]:
    """The best condition of each column within an event: (condition, bound, likelier data set).

    The best first; conditions without a bound are left out. `likelier_on`: the likelier data set,
    if given.
    """
    inside = [within.holds(table) for table in tables]
    counts: list[NDArray[Any]] = [np.zeros((2, 0))]
    where: list[tuple[int, bool, float]] = []
    for place, column in enumerate(columns):
        values = [v[m & ~np.isnan(v)] for v, m in zip(column.values, inside, strict=True)]
        steps = _steps(np.concatenate(values))
        below = np.stack([np.searchsorted(np.sort(v), steps, side="right") for v in values])
        for above, hits in ((False, below), (True, [[len(v)] for v in values] - below)):
            counts.append(hits)
            where += [(place, above, step) for step in steps.tolist()]
    counted = np.concatenate(counts, axis=1)
    best: dict[int, tuple[Condition, float, int]] = {}
    for side in (0, 1) if likelier_on is None else (likelier_on,):
        # the luckiest of many candidates is taken, so each bound needs a smaller error
        error = ERROR / max(len(where), 1)
        bounds = epsilon_at_least(counted[side], counted[1 - side], len(inside[0]), delta, error)
        for i in np.argsort(-bounds, kind="stable"):
            place, above, threshold = where[i]
            if bounds[i] <= 0:
                break
            if place not in best or bounds[i] > best[place][1]:
                condition = Condition(
                    weights=columns[place].weights,
                    missing=columns[place].missing,
                    above=above,
                    threshold=threshold,
                )
                best[place] = (condition, float(bounds[i]), side)
    return sorted(best.values(), key=lambda hit: -hit[1] * _readable(hit[0]))


def _readable(condition: Condition) -> float:
    """The weight of a bound by this condition: less for a difference or a sum, which read worse."""
    return (1.0, 0.95, 0.9)[min(len(condition.weights), 3) - 1]


def _unlike(hits: list[tuple[Condition, float, int]]) -> list[tuple[Condition, float, int]]:
    """The first conditions with distinct bounds: equal ones are often a number with two names."""
    different: dict[float, tuple[Condition, float, int]] = {}
    for hit in hits:
        different.setdefault(round(hit[1], 6), hit)
    return list(different.values())[:_FIRST]


def _steps(values: FloatArray) -> FloatArray:
    """At most `_THRESHOLDS` thresholds between values; none if all are equal."""
    if not len(values):
        return values
    distinct = np.unique(values)
    if len(distinct) <= _THRESHOLDS:
        return distinct[:-1]
    shares = np.linspace(0, 1, _THRESHOLDS + 1)[1:-1]
    return np.unique(np.quantile(values, shares, method="lower"))
