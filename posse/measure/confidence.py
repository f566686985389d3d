"""Confidence intervals of means and of probabilities."""

import math
from collections.abc import Sequence

_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, 97.5 % quantile, for 1 to 9 degrees of freedom."""

_Z_95 = 1.959964


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t law.

    From 10 degrees of freedom on it uses the expansion in 1/freedom of Abramowitz and Stegun,
    26.7.5, whose error is then below 0.001.
    """
    if freedom <= len(_T_95):
        return _T_95[freedom - 1]
    z = _Z_95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def mean_ci(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and half-width of its 95 % interval by Student's t; no half-width for a single value."""
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student(count - 1) * float(variance / count) ** 0.5


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """95% interval of a probability (Wilson 1927)."""
    z2 = 1.96**2
    centre = (hits + z2 / 2) / (trials + z2)
    half = 1.96 / (trials + z2) * math.sqrt(hits * (trials - hits) / trials + z2 / 4)
    return max(0.0, centre - half), min(1.0, centre + half)
