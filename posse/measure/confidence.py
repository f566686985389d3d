"""Confidence intervals of means and of probabilities."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from posse.protocol.arrays import FloatArray

FEWEST = 5
"""Of fewer runs no interval is shown: their spread is not known well enough."""

ERROR = 0.05
"""How often an interval misses what it is of, unless another error is asked."""

_FEW = 400
"""Degrees of freedom up to which Student's law is summed, and not expanded."""


@cache
def student(freedom: int, error: float = ERROR) -> float:
    """The 1 - `error`/2 quantile of Student's t law, to 12 digits.

    Up to 400 degrees of freedom the law's finite sum is inverted (Abramowitz and Stegun, 26.7.3 and
    26.7.4); then its expansion in 1/freedom (26.7.5) is exact to as many digits.
    """
    if freedom <= _FEW:
        low, high = 0.0, 16.0
        while _inside(high, freedom) < 1 - error:
            high *= 2
        while high - low > 1e-14 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if _inside(middle, freedom) < 1 - error else (low, middle)
        return high
    z = _normal(error)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / freedom**power for power, term in enumerate(terms, start=1))


@cache
def _normal(error: float) -> float:
    """The 1 - `error`/2 quantile of the normal law."""
    return NormalDist().inv_cdf(1 - error / 2)


def _inside(t: float, freedom: int) -> float:
    """The probability that Student's t lies between -t and t."""
    angle = math.atan2(t, math.sqrt(freedom))
    square, odd = math.cos(angle) ** 2, freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for n in range(freedom // 2):
        total += term
        term *= square * ((2 * n + 2) / (2 * n + 3) if odd else (2 * n + 1) / (2 * n + 2))
    inside = math.sin(angle) * total
    return 2 / math.pi * (angle + inside) if odd else inside


def mean_ci(values: Sequence[float], error: float = ERROR) -> tuple[float, float | None]:
    """Mean and half-width of its interval by Student's t; no half-width for a single value.

    The interval misses the mean with probability `error`.
    """
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student(count - 1, error) * float(variance / count) ** 0.5


def interval(values: ArrayLike, *, signed: bool = False) -> tuple[FloatArray, FloatArray]:
    """The 95 % interval of the mean of `values`, shape (n, …), over their first axis.

    Student's t, of the mean itself if a value is below 0 or, `signed`, could be. Else of the mean's
    logarithm, whose standard error is that of the mean divided by it (delta method): what is never
    negative is often skewed, and this interval is longer above the mean and cannot go below 0. NaN
    for fewer than `FEWEST` values.
    """
    sample = np.asarray(values, dtype=float)
    count, mean = len(sample), sample.mean(axis=0)
    if count < FEWEST:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = student(count - 1) * sample.std(axis=0, ddof=1) / count**0.5
    factor = np.exp(np.divide(half, mean, out=np.zeros_like(mean), where=mean > 0))
    plain = (sample < 0).any(axis=0) | signed
    return np.where(plain, mean - half, mean / factor), np.where(plain, mean + half, mean * factor)


def count_apart(values: Sequence[float]) -> int:
    """How many of the largest values are so far above the others that the interval rests on them.

    They are a third of all at most, and the gap below them is above three times the range of the
    others and above half the median. Of five values from a normal law that is so in 1.6 % of all
    cases at most, of ten in .02 %, and of five from an exponential law in 11.5 %.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    if count < FEWEST:
        return 0
    for apart in range(1, count // 3 + 1):
        others = ordered[: count - apart]
        gap = ordered[count - apart] - others[-1]
        if gap > 3 * (others[-1] - others[0]) and gap > abs(np.median(ordered)) / 2:
            return apart
    return 0


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean, and the ends of its `interval`."""
    low, high = interval(values)
    return float(np.mean(values)), float(low), float(high)


class Mean(msgspec.Struct):
    """A mean over `n` runs, their median, and the 95 % interval of the mean from `low` to `high`.

    `low` and `high` are those of `interval`; of a share they are Wilson's, and it has no median.
    `ci95` is half the width of Student's interval; None for a share. All are None for fewer than
    `FEWEST` runs.
    """

    mean: float
    ci95: float | None
    n: int
    median: float | None = None
    low: float | None = None
    high: float | None = None


def mean_of(values: Sequence[float], *, share: bool = False, signed: bool = False) -> Mean:
    """The mean of at least one value; a `share` is of values that are 0 or 1.

    `signed` are values that could be below 0, as differences.
    """
    mean, half = mean_ci(values)
    count = len(values)
    summary = Mean(mean, None, count, None if share else float(np.median(values)))
    if count >= FEWEST:
        summary.ci95 = None if share else half
        hits = round(sum(values))
        low, high = wilson(hits, count) if share else interval(values, signed=signed)
        summary.low, summary.high = float(low), float(high)
    return summary


def wilson(hits: int, trials: int, error: float = ERROR) -> tuple[float, float]:
    """The interval of a probability that misses it with probability `error` (Wilson 1927)."""
    z = _normal(error)
    z2 = z**2
    centre = (hits + z2 / 2) / (trials + z2)
    half = z / (trials + z2) * math.sqrt(hits * (trials - hits) / trials + z2 / 4)
    return max(0.0, centre - half), min(1.0, centre + half)
