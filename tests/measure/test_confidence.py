"""Confidence intervals against SciPy's Student law and by simulation."""

import numpy as np
import pytest
from scipy import stats

from posse.measure.confidence import interval, mean_ci, student


@pytest.mark.parametrize("freedom", [*range(1, 40), 99, 400, 401, 1000, 10**6])
def test_student_quantile(freedom: int) -> None:
    assert student(freedom) == pytest.approx(float(stats.t.ppf(0.975, freedom)), rel=1e-12)


def test_a_mean_and_its_interval_by_hand() -> None:
    # variance 1, n = 3: 4.30265272991 / sqrt(3)
    mean, half = mean_ci([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.30265272991 / 3**0.5)
    assert mean_ci([5.0]) == (5.0, None)


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


def test_below_five_values_there_is_none() -> None:
    assert np.isnan(interval([1.0, 2.0, 3.0, 4.0])).all()
