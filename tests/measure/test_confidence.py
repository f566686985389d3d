"""Confidence intervals against SciPy's Student law and by simulation."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from posse.measure.confidence import (
    count_apart,
    interval,
    mean_ci,
    mean_interval,
    mean_of,
    student,
    wilson,
)


@given(st.integers(1, 10**7))
@example(1)
@example(400)
@example(401)
def test_student_quantile(freedom: int) -> None:
    assert student(freedom) == pytest.approx(float(stats.t.ppf(0.975, freedom)), rel=1e-12)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12))
@example([1.0, 2.0, 3.0])
@example([5.0])
def test_a_mean_and_its_interval_are_scipys_and_below_five_values_there_is_none(
    values: list[float],
) -> None:
    mean, half = mean_ci(values)
    assert mean == pytest.approx(float(np.mean(values)), abs=1e-9)
    if len(values) == 1:
        assert half is None
    else:
        t = stats.t.ppf(0.975, len(values) - 1)
        assert half == pytest.approx(t * stats.sem(values), abs=1e-9)
    assert np.isnan(interval(values)).all() == (len(values) < 5)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    """5 % of 4,000 intervals miss; 4.2 % to 5.8 % is 2.3 standard errors, seed fixed."""
    draws = np.random.default_rng(0).normal(size=(4_000, 4))
    missed = 0
    for values in draws:
        mean, half = mean_ci(values.tolist())
        assert half is not None
        missed += abs(mean) > half
    assert 0.042 < missed / len(draws) < 0.058


def test_what_is_never_negative_has_an_interval_above_zero_that_covers_more_often() -> None:
    """Of log-normal values, seed fixed, Student's interval misses the mean of 10 runs too often."""
    draws = np.random.default_rng(0).lognormal(size=(4_000, 10))
    low, high = interval(draws.T)
    mean = float(np.exp(0.5))
    missed = np.mean((mean < low) | (mean > high))
    half = student(9) * draws.std(axis=1, ddof=1) / 10**0.5
    student_missed = np.mean(abs(draws.mean(axis=1) - mean) > half)
    assert low.min() > 0
    assert missed < student_missed
    assert missed < 0.12


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([1, 2, 3, 2, 100], 1),
        ([1, 2, 3, 2, 5.9], 0),  # 2.9 above the others, which are 2 apart
        ([1, 2, 3, 2, 9.1], 1),
        ([5, 5, 5, 5, 5], 0),
        ([100, 100.001, 100, 100, 100.1], 0),  # far for them, but a thousandth of the median
        ([1, 1, 1, 1, 50, 60], 2),
        ([1, 1, 50, 60, 70], 0),  # more than a third
        ([1, 2, 2, 90], 0),  # too few for an interval
        ([-3, -3, -3, -3, 0], 1),
    ],
)
def test_runs_far_above_the_others_are_counted(values: list[float], apart: int) -> None:
    assert count_apart(values) == apart


def test_how_often_that_is_a_false_alarm_and_how_often_it_finds_failures() -> None:
    """10,000 samples each; a share of .016 has a standard error of .0013, one of .115 .0032."""
    random = np.random.default_rng(66)

    def share(samples: np.ndarray) -> float:
        return float(np.mean([count_apart(sample) > 0 for sample in samples]))

    size = 10_000
    for mean in (1, 10):
        assert share(random.normal(mean, 1, (size, 5))) < 0.02
        assert share(random.normal(mean, 1, (size, 10))) < 0.002
    assert share(random.exponential(size=(size, 5))) == pytest.approx(0.115, abs=0.013)
    assert share(random.exponential(size=(size, 20))) < 0.008
    for runs, found in ((5, 0.33), (10, 0.64), (20, 0.87)):  # one run in ten fails badly
        fails = random.random((size, runs)) < 0.1
        assert share(np.where(fails, 10, random.normal(1, 0.1, (size, runs)))) == pytest.approx(
            found, abs=0.02
        )


def test_what_could_be_negative_is_not_taken_for_what_never_is() -> None:
    values = [0.1, 3.0, 1.0, 0.2, 5.0]
    plain, signed = mean_of(values).low, mean_of(values, signed=True).low
    assert plain is not None
    assert signed is not None
    assert signed < 0 < plain


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_probabilitys_interval_is_around_its_share_and_mirrors_that_of_the_misses(
    counted: tuple[int, int],
) -> None:
    hits, trials = counted
    low, high = wilson(hits, trials)
    assert 0.0 <= low <= hits / trials + 1e-12
    assert hits / trials - 1e-12 <= high <= 1.0
    assert wilson(trials - hits, trials) == pytest.approx((1 - high, 1 - low), abs=1e-12)


values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(values, st.floats(-1e3, 1e3), st.floats(0.01, 100.0))
def test_a_means_interval_moves_and_grows_with_its_values(
    sample: list[float], shift: float, scale: float
) -> None:
    mean, half = mean_ci(sample)
    other, wide = mean_ci([scale * value + shift for value in sample])
    assert half is not None
    assert (other, wide) == pytest.approx((scale * mean + shift, scale * half), abs=1e-6)


@given(st.lists(st.floats(0.001, 1e3), min_size=5, max_size=12), st.floats(0.01, 100.0))
def test_the_interval_of_what_is_never_negative_stays_above_0_and_holds_its_mean(
    sample: list[float], scale: float
) -> None:
    mean, low, high = mean_interval(sample)
    assert 0.0 < low <= mean * (1 + 1e-12)
    assert high >= mean * (1 - 1e-12)
    scaled = mean_interval([scale * value for value in sample])
    assert scaled == pytest.approx((scale * mean, scale * low, scale * high))


@given(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=12), st.integers(1, 3), st.randoms())
def test_values_far_above_all_others_are_counted_whatever_their_order(
    sample: list[float], far: int, chance: random.Random
) -> None:
    apart = min(far, (len(sample) + far) // 3)
    mixed = [*sample, *(1_000.0 + n / 10 for n in range(apart))]
    chance.shuffle(mixed)
    assert count_apart(mixed) == (apart if len(mixed) >= 5 else 0)
