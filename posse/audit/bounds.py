"""Lower bounds on ε and δ from two counts, each too large with a stated probability.

If the view falls into a set S with probability p on one data set and p' on its neighbour, (ε,
δ)-differential privacy requires p <= e^ε p' + δ, so that

    ε >= log((p - δ) / p')                δ >= p - e^ε p'

Both probabilities are counted and replaced by the ends of their Clopper and Pearson intervals, each
wrong with half of the error rate (Jagielski, Ullman and Oprea 2020). S must not depend on what is
counted.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posse.protocol.arrays import FloatArray

ERROR = 0.01
"""The default probability that an audit finds more than was spent."""

_MOST = 1 << 40


def at_least(hits: Any, trials: int, error: float) -> FloatArray:
    """The least probability that `hits` of `trials` allow, wrong with probability `error`."""
    from scipy.special import betaincinv  # noqa: PLC0415

    k = np.asarray(hits, dtype=float)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, error), 0.0)


def at_most(hits: Any, trials: int, error: float) -> FloatArray:
    """The largest probability that `hits` of `trials` allow, wrong with probability `error`."""
    return 1.0 - at_least(trials - np.asarray(hits, dtype=float), trials, error)


def epsilon_at_least(
    hits: Any, others: Any, trials: int, delta: float = 0.0, error: float = ERROR
) -> FloatArray:
    """Lower bounds on ε, from 0, by `hits` in S on one data set and `others` on its neighbour."""
    low = at_least(hits, trials, error / 2) - delta
    high = at_most(others, trials, error / 2)
    return np.log(np.maximum(low / high, 1.0))


def delta_at_least(
    hits: int, others: int, trials: int, epsilon: float, error: float = ERROR
) -> float:
    """The lower bound on δ at this ε."""
    low = float(at_least(hits, trials, error / 2))
    high = float(at_most(others, trials, error / 2))
    return max(0.0, low - high * math.exp(min(epsilon, 700.0)))


def fewest(error: float = ERROR) -> int:
    """The fewest runs on each data set, half of them for learning, that can refute anything.

    With n runs counted, n hits against none show an ε above 0 if (error/2)^(1/n) > 1/2.
    """
    return 2 * (math.floor(math.log(error / 2) / math.log(0.5)) + 1)


def most_shown(runs: int, delta: float = 0.0, error: float = ERROR) -> float:
    """The largest ε that this many runs on each data set can show: an event always, and never."""
    half = runs // 2
    return float(epsilon_at_least(half, 0, half, delta, error)) if half else 0.0


def runs_to_refute(epsilon: float, delta: float = 0.0, error: float = ERROR) -> int | None:
    """The fewest runs on each data set, to one in 100, that could show more than `epsilon`.

    None if no number that can be counted would.
    """
    return _least(lambda runs: most_shown(runs, delta, error) > epsilon, fewest(error))


def runs_needed(share: float, epsilon: float, delta: float, error: float = ERROR) -> int | None:
    """How many runs on each data set would show that 2ε are spent instead of ε.

    It assumes an event with probability `share` on one data set and (share - δ) e^-2ε on the other,
    and that half of the runs are for learning. None if no number of runs would show it.
    """
    if epsilon <= 0 or share <= delta:
        return None
    other = (share - delta) * math.exp(-2 * epsilon)

    def shows(n: int) -> bool:
        return bool(epsilon_at_least(n * share, n * other, n, delta, error) > epsilon)

    half = _least(shows, 8)
    return None if half is None else 2 * half


def _least(shows: Callable[[int], bool], first: int) -> int | None:
    """The least number, to one in 100, for which this holds; it is doubled from the first on."""
    n = first
    while not shows(n):
        n *= 2
        if n > _MOST:
            return None
    low = n // 2
    while n - low > max(1, n // 100):
        middle = (low + n) // 2
        low, n = (low, middle) if shows(middle) else (middle, n)
    return n
