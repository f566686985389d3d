"""Composes releases by Rényi differential privacy and converts the total to (ε, δ).

Mironov, "Rényi differential privacy", CSF 2017, bounds a mechanism's loss at every order α > 1 by
D(α). If the noise of each mechanism is fixed in advance, their bounds add up at each α, even where
queries depend on earlier answers. A total D(α) implies (ε, δ) with

    ε = D(α) + log(1 - 1/α) - log(δ α) / (α - 1)

(Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
Proposition 12) at every α, so the least ε may be claimed. For the schedules here, numerical
accountants find at most a tenth less, but need a grid of losses.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from posse.protocol.arrays import FloatArray

RenyiCurve = Callable[[float], float]
"""D(α) as a function of the order α > 1."""

_LEAST, _MOST = 1e-6, 1e9
"""Search range of α - 1 and of σ / Δ, far wider than any release here needs."""

_STEPS = 45
"""Golden-section steps; each leaves .62 of the interval of log(α - 1)."""

_MANY = 10_000
"""Above this number of costs, each is rounded up to a geometric grid."""

_GRID = 1e-3
"""Relative step of that grid, the most by which a cost is rounded up."""

_HALVINGS = 60
"""Bisection steps in the search for σ."""

_GOLDEN = (math.sqrt(5) - 1) / 2


def epsilon_at(delta: float, curve: RenyiCurve) -> float:
    """The least ε for which a loss of at most D(α) at every α is (ε, δ)-differentially private.

    (α - 1) D(α) is always convex in α, so (α - 1) times the module's formula is convex too. The
    formula therefore has one minimum, which a golden-section search finds. Any α gives a valid ε.
    """

    def bound(x: float) -> float:
        alpha = 1 + math.exp(x)
        return curve(alpha) + math.log1p(-1 / alpha) - math.log(delta * alpha) / (alpha - 1)

    low, high = math.log(_LEAST), math.log(_MOST)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = bound(right)
    return max(0.0, min(at_left, at_right))


def laplace_curve(costs: FloatArray, times: NDArray[np.int64]) -> RenyiCurve:
    """D(α) of Laplace releases: `times[i]` of them have sensitivity / scale ε = `costs[i]`.

    Each adds log(α/(2α-1) e^{(α-1) ε} + (α-1)/(2α-1) e^{-α ε}) / (α - 1) (Mironov 2017, table II).
    """

    def curve(alpha: float) -> float:
        up = math.log(alpha / (2 * alpha - 1)) + (alpha - 1) * costs
        down = math.log((alpha - 1) / (2 * alpha - 1)) - alpha * costs
        return float((times * np.logaddexp(up, down)).sum()) / (alpha - 1)

    return curve


def gaussian_curve(sensitivity: float, deviation: float) -> RenyiCurve:
    """D(α) = α Δ² / (2 σ²) of Gaussian noise, continuous or discrete (Canonne et al. 2020)."""
    rho = sensitivity**2 / (2 * deviation**2)
    return lambda alpha: rho * alpha


@lru_cache(maxsize=32)
def gaussian_deviation(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least σ for which Gaussian noise on a value of this sensitivity is (ε, δ)-private."""
    low, high = math.log(_LEAST), math.log(_MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if epsilon_at(delta, gaussian_curve(1.0, math.exp(middle))) > epsilon:
            low = middle
        else:
            high = middle
    return sensitivity * math.exp(high)


def composed(costs: FloatArray, times: NDArray[np.int64], delta: float) -> float:
    """ε at δ of Laplace releases of the same rewards: `times[i]` of them cost `costs[i]` each.

    At most the sum of the costs, which needs no δ.
    """
    if not len(costs):
        return 0.0
    added = float((times * costs).sum())
    if len(costs) > _MANY:
        steps, which = np.unique(np.ceil(np.log(costs) / _GRID), return_inverse=True)
        costs, times = np.exp(_GRID * steps), np.bincount(which, weights=times).astype(np.int64)
    return min(added, epsilon_at(delta, laplace_curve(costs, times)))
