"""The virtual clock's law against the paper's loop, step by step (Rio et al. 2023, Algorithm 1)."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from posse.clocks.virtual import Activity
from posse.spec.activity import ActivitySpec

ERROR_RATE = 1e-4
"""With which a right program fails a test of a law on a newly chosen seed."""


def same_law(one: Any, other: Any) -> bool:
    """Two samples of counts, pooled into cells of ten or more, by a chi-square test."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 12)))
    edges[-1] += 1
    cells = np.array([np.histogram(sample, edges)[0] for sample in (one, other)])
    cells = cells[:, cells.sum(axis=0) >= 20]
    return bool(stats.chi2_contingency(cells).pvalue > ERROR_RATE)


def arrivals(generator: np.random.Generator, rate: float, until: float) -> int:
    """A Poisson process simulated gap by gap."""
    time, count = 0.0, 0
    while (time := time + generator.exponential(1 / rate)) < until:
        count += 1
    return count


@pytest.mark.parametrize("now", [0.5, 6.0, 20.0])
def test_the_bridge_has_the_law_of_a_simulation(now: float) -> None:
    rate, planned = 0.5, 5
    generator = np.random.default_rng(1)
    activity = Activity(rate, np.random.default_rng(2))
    bridged, simulated = [], []
    for _ in range(6_000):
        due = activity.due(0.0, planned)
        bridged.append(activity.elapsed(0.0, due, planned, now))
        simulated.append(min(arrivals(generator, rate, now), planned))
    assert same_law(np.array(bridged), np.array(simulated))


def test_cutting_a_plan_twice_has_the_law_of_a_simulation() -> None:
    """What is planned anew after a message keeps its due time and loses what took place."""
    rate, planned, first, second = 1.0, 40, 9.0, 21.0
    activity = Activity(rate, np.random.default_rng(3))
    generator = np.random.default_rng(4)
    pairs, wanted = [], []
    for _ in range(6_000):
        due = activity.due(0.0, planned)
        a = activity.elapsed(0.0, due, planned, first)
        b = activity.elapsed(first, due, planned - a, second)
        pairs.append((a, b))
        wanted.append((arrivals(generator, rate, first), arrivals(generator, rate, second - first)))
    for column in (0, 1):
        assert same_law(np.array(pairs)[:, column], np.array(wanted)[:, column])
    # independent increments: 40 activations are nearly never exhausted by 21 time units
    correlation = np.corrcoef(np.array(pairs).T)[0, 1]
    assert abs(correlation) < stats.norm.isf(ERROR_RATE / 2) / math.sqrt(len(pairs))


def test_due_times_are_gamma() -> None:
    activity = Activity(0.25, np.random.default_rng(5))
    dues = [activity.due(10.0, 7) - 10.0 for _ in range(4_000)]
    assert stats.kstest(dues, stats.gamma(7, scale=4.0).cdf).pvalue > ERROR_RATE


@given(st.integers(1, 10**6), st.floats(0, 1e6), st.floats(1e-9, 1e6), st.floats(0, 1.5))
def test_elapsed_is_bounded(count: int, start: float, span: float, part: float) -> None:
    activity = Activity(1.0, np.random.default_rng(6))
    due = start + span
    now = start + part * span
    elapsed = activity.elapsed(start, due, count, now)
    assert 0 <= elapsed <= count
    assert (elapsed == count) == (now >= due)
    assert activity.elapsed(start, math.inf, count, now) == 0


def by_the_paper(
    generator: np.random.Generator, rates: Any, needed: tuple[int, ...]
) -> tuple[int, ...]:
    """Line 5 of Algorithm 1: n ~ P_N restricted to agents not done, renormalised, until all are."""
    left, order = list(needed), []
    while any(left):
        weights = np.where(np.array(left) > 0, rates, 0.0)
        n = int(generator.choice(len(rates), p=weights / weights.sum()))
        left[n] -= 1
        order.append(n)
    return tuple(order)


def by_the_clock(activities: list[Activity], needed: tuple[int, ...]) -> tuple[int, ...]:
    """Who is due next, one activation at a time."""
    due = [activity.due(0.0, 1) for activity in activities]
    left, order = list(needed), []
    while any(left):
        n = int(np.argmin(due))
        left[n] -= 1
        order.append(n)
        due[n] = activities[n].due(due[n], 1) if left[n] else math.inf
    return tuple(order)


def test_the_order_of_activations_is_that_of_the_paper() -> None:
    """All orders of (2, 1, 2) activations, the finished dropping out, against the paper's loop."""
    rates = ActivitySpec(kind="weights", weights=[1.0, 2.0, 4.0]).rates(3)
    needed = (2, 1, 2)
    generator = np.random.default_rng(7)
    activities = [Activity(rate, np.random.default_rng([8, n])) for n, rate in enumerate(rates)]
    runs = 8_000
    paper = [by_the_paper(generator, rates, needed) for _ in range(runs)]
    clock = [by_the_clock(activities, needed) for _ in range(runs)]
    orders = sorted(set(paper) | set(clock))
    assert len(orders) == 30  # 5! / (2! 1! 2!)
    table = np.array([[sample.count(order) for order in orders] for sample in (paper, clock)])
    table = table[:, table.sum(axis=0) >= 20]
    assert stats.chi2_contingency(table).pvalue > ERROR_RATE
