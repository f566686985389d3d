"""What two counts prove: lower bounds on ε and δ, too large with a stated probability.

If what is seen falls into a set S with probability p on one data set and p' on its neighbour,
(ε, δ)-differential privacy asks for p <= e^ε p' + δ, so that

    ε >= log((p - δ) / p')        δ >= p - e^ε p'

Both probabilities are counted and replaced by the ends of their Clopper and Pearson intervals, each
wrong with half of the error rate (Jagielski, Ullman and Oprea 2020). S must not depend on what is
counted.
"""

import math
from typing import Any

import numpy as np

from protocol.machine import FloatArray

ERROR = 0.01
"""The probability that an audit finds more than is spent, unless it is told another."""

_MOST = 1 << 40


def at_least(hits: Any, trials: int, error: float) -> FloatArray:
    """The least probability that `hits` of `trials` allow, wrong with probability `error`."""
    from scipy.special import betaincinv  # noqa: PLC0415

    k = np.asarray(hits, dtype=float)
    found: FloatArray = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, error), 0.0)
    return found


def at_most(hits: Any, trials: int, error: float) -> FloatArray:
    """The largest probability that they allow."""
    return 1.0 - at_least(trials - np.asarray(hits, dtype=float), trials, error)


def epsilon_at_least(
    hits: Any, others: Any, trials: int, delta: float = 0.0, error: float = ERROR
) -> FloatArray:
    """ε's lower bounds from `hits` in S on one data set, `others` on its neighbour; else 0."""
    low = at_least(hits, trials, error / 2) - delta
    high = at_most(others, trials, error / 2)
    return np.log(np.maximum(low / high, 1.0))


def delta_at_least(
    hits: int, others: int, trials: int, epsilon: float, error: float = ERROR
) -> float:
    """δ's lower bound at this ε."""
    low = float(at_least(hits, trials, error / 2))
    high = float(at_most(others, trials, error / 2))
    return max(0.0, low - high * math.exp(min(epsilon, 700.0)))


def fewest(error: float = ERROR) -> int:
    """The runs on each data set, half of them to learn, with which anything can be refuted at all.

    With n counted, n hits against none show an ε above 0 if (error/2)^(1/n) > 1/2.
    """
    return 2 * (math.floor(math.log(error / 2) / math.log(0.5)) + 1)


def runs_needed(share: float, epsilon: float, delta: float, error: float = ERROR) -> int | None:
    """How many runs on each data set would show that 2ε are spent, not ε.

    By an event that has the probability `share` on one data set and (share - δ) e^-2ε on the
    other, half of the runs learning it. None where no number would.
    """
    if epsilon <= 0 or share <= delta:
        return None
    other = (share - delta) * math.exp(-2 * epsilon)

    def shows(n: int) -> bool:
        return bool(epsilon_at_least(n * share, n * other, n, delta, error) > epsilon)

    n = 8
    while not shows(n):
        n *= 2
        if n > _MOST:
            return None
    low = n // 2
    while n - low > max(1, n // 100):
        middle = (low + n) // 2
        low, n = (low, middle) if shows(middle) else (middle, n)
    return 2 * n
