"""What two counts prove, and how seldom that is too much."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from posse.audit import bounds
from posse.audit.bounds import ERROR, epsilon_at_least


@given(st.integers(1, 5_000), st.data())
@example(1000, None)
def test_what_counts_prove_by_hand(n: int, data: st.DataObject | None) -> None:
    # all hits: p is at least (ERROR/2)^(1/n), and of none at most one minus that
    low = (ERROR / 2) ** (1 / n)
    shown = max(0.0, math.log(max(low - 0.25, 1e-9) / (1 - low)))
    assert epsilon_at_least(n, 0, n, 0.25) == pytest.approx(shown)
    assert bounds.delta_at_least(n, 0, n, 0.0) == pytest.approx(max(0.0, low - (1 - low)))
    hits = data.draw(st.integers(0, n)) if data else 500
    others = data.draw(st.integers(hits, n)) if data else 500
    assert epsilon_at_least(hits, others, n) == 0
    assert bounds.delta_at_least(hits, others, n, 0.0) == 0


@given(st.floats(1e-9, 0.5))
@example(ERROR)
def test_from_some_number_of_runs_on_something_can_be_refuted(error: float) -> None:
    assert bounds.fewest() == 16
    half = bounds.fewest(error) // 2
    assert epsilon_at_least(half, 0, half, error=error) > 0
    assert epsilon_at_least(half - 1, 0, half - 1, error=error) == 0


@given(st.integers(1, 2_000), st.floats(0, 1), st.floats(1e-4, 0.3))
@example(10, 0.0, 0.01)
@example(10, 1.0, 0.01)
def test_the_intervals_are_scipys(trials: int, share: float, error: float) -> None:
    hits = round(share * trials)
    interval = binomtest(hits, trials).proportion_ci(1 - 2 * error, "exact")
    assert bounds.at_least(hits, trials, error) == pytest.approx(interval.low)
    assert bounds.at_most(hits, trials, error) == pytest.approx(interval.high)


def test_more_than_is_spent_is_seldom_found() -> None:
    # randomised response with ε = 1; of 400 audits 4 may find more, 12 with probability 1e-3
    generator, yes = np.random.default_rng(1), math.e / (1 + math.e)
    hits, others = generator.binomial(2000, [[yes], [1 - yes]], (2, 400))
    found = epsilon_at_least(hits, others, 2000)
    assert (found > 1).sum() <= 12
    assert found.mean() > 0.8


def test_the_runs_that_twice_the_epsilon_would_need() -> None:
    needed = bounds.runs_needed(0.5, 1.0, 0.0)
    assert needed is not None
    half = needed // 2
    shows = [epsilon_at_least(n // 2, round(n * 0.5 * math.exp(-2)), n) for n in (half // 2, half)]
    assert shows[0] < 1 < shows[1] * 1.1
    assert bounds.runs_needed(0.5, 0.0, 0.0) is None
    assert bounds.runs_needed(1e-6, 1.0, 1e-5) is None


def test_so_many_runs_show_at_most_so_much():
    """2,000 runs, half of them for learning, show at most ε = 5.2; 7.0 takes some 12,000."""
    assert bounds.most_shown(2_000) == pytest.approx(5.24, abs=0.01)
    enough = bounds.runs_to_refute(7.0)
    assert enough is not None
    assert bounds.most_shown(enough) > 7.0 >= bounds.most_shown(enough * 97 // 100)
    assert bounds.runs_to_refute(60.0) is None
