"""What two counts prove, and how seldom that is too much."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from posse.audit import bounds
from posse.audit.bounds import ERROR, epsilon_at_least
from tests.support.conversations import examples


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


@examples(Path(__file__).with_name("bounds.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
