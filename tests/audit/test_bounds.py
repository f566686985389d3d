"""What two counts prove, and how seldom that is too much."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from posse.audit import bounds
from posse.audit.bounds import ERROR, epsilon_at_least


def test_what_counts_prove_by_hand() -> None:
    # all hits: p is at least (ERROR/2)^(1/n), and of none at most one minus that
    n = 1000
    low = (ERROR / 2) ** (1 / n)
    assert epsilon_at_least(n, 0, n, 0.5) == pytest.approx(math.log((low - 0.5) / (1 - low)))
    assert bounds.delta_at_least(n, 0, n, 0.0) == pytest.approx(low - (1 - low))
    for hits, others in ((0, 0), (n, n), (500, 500)):
        assert epsilon_at_least(hits, others, n) == 0
        assert bounds.delta_at_least(hits, others, n, 0.0) == 0


def test_from_some_number_of_runs_on_something_can_be_refuted() -> None:
    assert bounds.fewest() == 16
    for error in (0.01, 0.1, 1e-6):
        half = bounds.fewest(error) // 2
        assert epsilon_at_least(half, 0, half, error=error) > 0
        assert epsilon_at_least(half - 1, 0, half - 1, error=error) == 0


def test_the_intervals_are_scipys() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (700, 1000)):
        interval = binomtest(hits, trials).proportion_ci(0.98, "exact")
        assert bounds.at_least(hits, trials, 0.01) == pytest.approx(interval.low)
        assert bounds.at_most(hits, trials, 0.01) == pytest.approx(interval.high)


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
