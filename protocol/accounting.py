"""What noisy releases cost together: exactly, as far as arithmetic allows, and never too little.

The loss of a mechanism is the logarithm by which an output is likelier with one data set than with
its neighbour. Where the noise of each is fixed in advance, losses of releases add up, even if what
is released depends on earlier answers (Zhu, Dong and Wang, "Optimal accounting of differential
privacy via characteristic function", AISTATS 2022). With K(z) = log E e^{zL} of their sum L,

    δ(ε) = 1/(2πi) ∫ e^{K(z) - zε} / (z (z + 1)) dz

along any line Re z = λ > 0 (Alghamdi et al., "The saddle-point method in differential privacy",
ICML 2023). The trapezoidal rule of step s adds to δ(ε) the values e^{2πkλ/s} δ(ε + 2πk/s), all
k ≠ 0, which are positive (Poisson's sum), and what is cut off is bounded. So the result is an upper
bound, tight at a small step. Where Rényi differential privacy (Mironov 2017) read by Canonne,
Kamath and Steinke 2020, Proposition 12, or the sum of all costs gives less, that is taken.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.protocol.arrays import FloatArray

ComplexArray = NDArray[np.complex128]

RenyiCurve = Callable[[float], float]
"""D(α) as a function of the order α > 1."""

_LEAST, _MOST = 1e-6, 1e9
"""Search range of α - 1 and of σ / Δ, far wider than any release here needs."""

_STEPS = 45
"""Golden-section steps; each leaves .62 of the interval of log(α - 1)."""

_MANY = 200
"""Above this number of different costs, each is rounded up to a geometric grid."""

_GRID = 1e-2
"""Relative step of that grid, the most by which a cost is rounded up."""

_HALVINGS = 60
"""Bisection steps in the search for σ."""

_TRIALS = 30
"""Steps at most in the search for ε."""

_CLOSE = 1e-9
"""Relative width of an interval of ε that is searched no further."""

_POINTS = 1 << 8
"""Points of the integral at first; they are doubled while what is cut off counts."""

_MOST_POINTS = 1 << 11
"""Most points of the integral: for few releases it falls slowly, and further ones add little."""

_LEAST_LINE, _MOST_LINE = 1e-4, 1e4
"""Limits of the integral's λ, between which its exponents keep nine digits and more."""

_FAR = 700.0
"""The largest number whose exponential is a float, about."""

_MOST_VALUES = 1 << 19
"""Numbers at most in an array of that integral: points times costs."""

_DIGITS, _STEP = 40.0, 0.25
"""Where the integral of `polya_loss` is cut off, at e^-40, and the step of its rule."""

_NEGLIGIBLE = 1e-4
"""The part of δ that may be cut off."""

_GOLDEN = (math.sqrt(5) - 1) / 2

Costs = tuple[tuple[float, int], ...]
"""Costs, and how many releases have each."""


class Losses(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """All that may be released of one reward, by the law of its noise.

    - `laplace`: sensitivity / scale of Laplace noise
    - `pure`: ε of mechanisms of which nothing else is known; randomized response is the worst
    - `gaussian`: the sum of (Δ / σ)² of Gaussian noise
    - `delta`: δ that adds to what noise leaves
    """

    laplace: Costs = ()
    pure: Costs = ()
    gaussian: float = 0.0
    delta: float = 0.0

    def of_rewards(self, count: int) -> "Losses":
        """The losses where one person is behind `count` rewards, at most.

        All of them may be in the same releases, which move by `count` times as much. A δ that does
        not come from noise of a known law grows with ε (group privacy; Vadhan 2017, Lemma 2.2).
        """
        return Losses(
            laplace=tuple((count * cost, times) for cost, times in self.laplace),
            pure=tuple((count * cost, times) for cost, times in self.pure),
            gaussian=count**2 * self.gaussian,
            delta=self._group_delta(count),
        )

    def _group_delta(self, count: int) -> float:
        """Σ_{i < m} e^{iε} δ, which is at most m e^{(m-1)ε} δ, for m rewards."""
        if not self.delta:
            return 0.0
        each = math.fsum(cost * times for cost, times in self.pure)
        exponents = each * np.arange(count)
        return float(min(1.0, self.delta * np.exp(np.minimum(exponents, _FAR)).sum()))

    def epsilon(self, delta: float | None) -> float:
        """The least ε that this module finds at `delta`; infinite if there is none."""
        return self.searched(delta)[0]

    @lru_cache(maxsize=256)  # noqa: B019  (frozen, and equal ones are many)
    def searched(self, delta: float | None) -> tuple[float, float]:
        """That ε, and the order at which Rényi divergences come next to it; infinite if none do."""
        rest = (delta or 0.0) - self.delta
        added = math.inf if self.gaussian else math.fsum(c * n for c, n in self.laplace + self.pure)
        if rest <= 0 or not added:
            return added if rest >= 0 else math.inf, math.inf
        total = _Total(self)
        epsilon, order = _renyi(rest, total.renyi)
        return _exact(rest, total, order - 1, min(epsilon, added)), order

    def at_most(self, delta: float, order: float) -> float:
        """A bound on `epsilon` by the Rényi divergence at one order, in a fraction of its time."""
        return _bound(_Total(self).renyi, delta - self.delta, order)


class _Total:
    """The losses as arrays, for arithmetic; Re z = λ > 0 everywhere."""

    def __init__(self, losses: Losses) -> None:
        self.gaussian = losses.gaussian
        self.laplace, self.laplaces = np.array(losses.laplace or [(0.0, 0)]).T
        self.pure, self.pures = np.array(losses.pure or [(0.0, 0)]).T
        self.kinds = len(self.laplace) + len(self.pure)
        self.sum = float(self.laplace @ self.laplaces + self.pure @ self.pures)
        self.at_most = -float(np.log1p(np.exp(-self.pure)) @ self.pures)

    def moments(self, z: ComplexArray) -> ComplexArray:
        """K(z) = log E e^{zL}, of the shape of `z`."""
        w, column = 2 * z + 1, np.newaxis
        laplace = ((z + 1)[:, column] + z[:, column] * np.exp(-np.outer(w, self.laplace))) / w[
            :, column
        ]
        pure = 1 + np.exp(-np.outer(w, self.pure))
        noise: ComplexArray = np.log(laplace) @ self.laplaces + np.log(pure) @ self.pures
        return noise + self.at_most + z * self.sum + z * (z + 1) * (self.gaussian / 2)

    def renyi(self, alpha: float) -> float:
        """D(α) of all releases (Mironov 2017, table II; Canonne et al. 2020, Proposition 5)."""
        return float(self.moments(np.array([alpha - 1 + 0j]))[0].real) / (alpha - 1)

    def beyond(self, line: float, height: float, epsilon: float) -> float:
        """A bound on what the integral along Re z = `line` has beyond |Im z| = `height`.

        There |K(z)| is bounded, factor by factor, and 1 / |z (z + 1)| is at most 1 / Im(z)².
        """
        z, far = complex(line, height), np.exp(-(2 * line + 1) * self.laplace)
        laplace = np.minimum(
            abs(z + 1) / abs(2 * z + 1) + far / 2, (line + 1 + line * far) / (2 * line + 1)
        )
        pure = 1 + np.exp(-(2 * line + 1) * self.pure)
        most = np.log(laplace) @ self.laplaces + np.log(pure) @ self.pures + self.at_most
        most += line * (self.sum - epsilon) + (line * (line + 1) - height**2) * self.gaussian / 2
        return math.exp(min(_FAR, float(most))) / (math.pi * height)


NO_LOSSES = Losses()


def together(losses: "list[Losses]") -> Losses:
    """What several runs cost the same reward."""
    return Losses(
        laplace=_merged([costs for run in losses for costs in run.laplace]),
        pure=_merged([costs for run in losses for costs in run.pure]),
        gaussian=math.fsum(run.gaussian for run in losses),
        delta=math.fsum(run.delta for run in losses),
    )


def admits(losses: "list[Losses]", slack: float, budget: float, delta: float) -> bool:
    """Whether all these may be spent within (budget, delta), at a total δ of `slack` at most.

    Also if each was chosen after those before were seen, for which a total that was computed
    exactly is no bound. Sums of ε are one (Rogers et al. 2016). So is the sum of (Δ / σ)² where all
    noise is Gaussian, whose curve is then exact (Smith and Thakurta 2022), and the sum of Rényi
    divergences at one order that follows from budget and delta alone (Feldman and Zrnic 2021).
    """
    total, most = together(losses), budget * (1 + 1e-12)
    others = total.laplace + total.pure
    if not total.gaussian and math.fsum(cost * times for cost, times in others) <= most:
        return total.delta <= delta * (1 + 1e-12)
    rest = slack - total.delta
    if rest <= 0 or slack > delta * (1 + 1e-12):
        return False
    if not others:
        return total.epsilon(slack) <= most
    order = _order_of(budget, delta)
    return _Total(total).renyi(order) <= _room(most, rest, order)


def _room(epsilon: float, delta: float, order: float) -> float:
    """The largest Rényi divergence that costs (ε, δ) (Canonne et al. 2020, Proposition 12)."""
    return epsilon - math.log1p(-1 / order) + math.log(delta * order) / (order - 1)


@lru_cache(maxsize=64)
def _order_of(epsilon: float, delta: float) -> float:
    """The order at which most Gaussian noise has room within (ε, δ)."""
    orders = 1 + np.logspace(-2, 5, 2_000)
    return float(max(orders, key=lambda order: _room(epsilon, delta, order) / order))


def _merged(costs: list[tuple[float, int]]) -> Costs:
    counts: dict[float, int] = {}
    for cost, times in costs:
        counts[cost] = counts.get(cost, 0) + times
    return tuple(sorted(counts.items()))


def epsilon_at(delta: float, curve: RenyiCurve) -> float:
    """The least ε for which a loss of at most D(α) at every α is (ε, δ)-differentially private."""
    return _renyi(delta, curve)[0]


def _bound(curve: RenyiCurve, delta: float, alpha: float) -> float:
    return curve(alpha) + math.log1p(-1 / alpha) - math.log(delta * alpha) / (alpha - 1)


def _renyi(delta: float, curve: RenyiCurve) -> tuple[float, float]:
    """ε = D(α) + log(1 - 1/α) - log(δ α) / (α - 1) at the best α, and that α.

    (α - 1) D(α) is always convex in α, so (α - 1) times this formula is convex too. The formula
    therefore has one minimum, which a golden-section search finds. Any α gives a valid ε.
    """

    def bound(x: float) -> float:
        return _bound(curve, delta, 1 + math.exp(x))

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
    best = left if at_left < at_right else right
    return max(0.0, min(at_left, at_right)), 1 + math.exp(best)


def _exact(delta: float, total: _Total, line: float, most: float) -> float:
    """ε at `delta` by the integral along Re z = `line`, at most `most`."""
    line = min(max(line, _LEAST_LINE), _MOST_LINE)
    step = 1e-3 * line
    low, middle, high = total.moments(np.array([line - step, line, line + step]) + 0j).real
    spread = math.sqrt(max(0.0, low - 2 * middle + high)) / step
    width = 2 * math.pi / max((10 - math.log(delta)) / line, 8 * spread)
    points = _POINTS
    while (
        2 * points * total.kinds <= _MOST_VALUES
        and points < _MOST_POINTS
        and (total.beyond(line, width * points, most) > _NEGLIGIBLE * delta)
    ):
        points *= 2
    z: ComplexArray = np.asarray(line + 1j * width * np.arange(points + 1), dtype=np.complex128)
    moments = total.moments(z)
    weights = np.full(points + 1, width / math.pi) / (z * (z + 1))
    weights[0] /= 2

    def excess(epsilon: float) -> float:
        """The logarithm of δ(ε) / δ, with all that was cut off."""
        exponents = moments.real - line * epsilon
        if exponents[0] > _FAR:
            return float(exponents[0])
        turns = moments.imag - z.imag * epsilon
        mass = float((weights * np.exp(exponents + 1j * turns)).real.sum())
        return math.log(max(mass, 0.0) + total.beyond(line, width * points, epsilon)) - math.log(
            delta
        )

    return _root(excess, most)


def _root(falling: Callable[[float], float], most: float) -> float:
    """A number next above where a falling function is 0, at most `most`.

    The secant between two ends; an end that stays weighs half as much (the Illinois method).
    """
    low, high = 0.0, most
    at_low, at_high = falling(low), falling(high)
    if at_high > 0:
        return most
    if at_low <= 0:
        return low
    weight_low, weight_high = at_low, at_high
    for _ in range(_TRIALS):
        if high - low <= _CLOSE * high:
            break
        middle = (low * weight_high - high * weight_low) / (weight_high - weight_low)
        middle = min(max(middle, low + _CLOSE * (high - low)), high - _CLOSE * (high - low))
        value = falling(middle)
        if value > 0:
            low, weight_low, weight_high = middle, value, weight_high / 2
        else:
            high, weight_high, weight_low = middle, value, weight_low / 2
    return high


def gaussian_curve(sensitivity: float, deviation: float) -> RenyiCurve:
    """D(α) = α Δ² / (2 σ²) of Gaussian noise, continuous or discrete (Canonne et al. 2020)."""
    rho = sensitivity**2 / (2 * deviation**2)
    return lambda alpha: rho * alpha


@lru_cache(maxsize=32)
def gaussian_deviation(sensitivity: float, epsilon: float, delta: float) -> float:
    """The σ for which Gaussian noise on a value of this sensitivity is (ε, δ)-private, by Rényi.

    What it costs exactly is less, by 7 to 11 % (`Losses.epsilon`).
    """
    low, high = math.log(_LEAST), math.log(_MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if epsilon_at(delta, gaussian_curve(1.0, math.exp(middle))) > epsilon:
            low = middle
        else:
            high = middle
    return sensitivity * math.exp(high)


@lru_cache(maxsize=32)
def polya_loss(scale: float, shape: float, moved: float) -> float:
    """The most that a whole number with this noise costs, log(p(0) / p(`moved`)); 0 < shape <= 1.

    The noise is the difference of two Pólya numbers of this shape and q = e^(-1/scale); of shape 1
    it is discrete Laplace. A Pólya law of shape r <= 1 is a mixture of geometric ones, as C(k+r-1,
    k) is the k-th moment of Beta(r, 1-r). So p is one, too, in |x|:

        p(x) ~ q^|x| ∫ u^(|x|+r-1) (1-u)^-r (1-q² u)^-r du,    0 < u < 1,

    and log p is convex in |x|. Then p(x) / p(x + moved) is largest at x = 0. The integral is taken
    over log(u / (1-u)), where the trapezoidal rule is exact to e^-39.
    """
    if shape == 1.0 or not moved:
        return moved / scale
    y = np.arange(-_DIGITS / shape, _DIGITS / (1 - shape), _STEP)
    log_u, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    near = np.log(np.exp(log_rest) - math.expm1(-2 / scale) * np.exp(log_u))
    logs = shape * log_u + (1 - shape) * log_rest - shape * near
    nothing, shifted = (np.logaddexp.reduce(logs + x * log_u) for x in (0.0, moved))
    return float(moved / scale + nothing - shifted)


def laplace_losses(costs: FloatArray, times: NDArray[np.int64]) -> Losses:
    """The losses of Laplace releases: `times[i]` of them have sensitivity / scale `costs[i]`."""
    if len(costs) > _MANY:
        steps, which = np.unique(np.ceil(np.log(costs) / _GRID), return_inverse=True)
        costs, times = np.exp(_GRID * steps), np.bincount(which, weights=times).astype(np.int64)
    return Losses(laplace=tuple(zip(costs.tolist(), times.tolist(), strict=True)))


def composed(costs: FloatArray, times: NDArray[np.int64], delta: float) -> float:
    """ε at δ of Laplace releases of the same rewards: `times[i]` of them cost `costs[i]` each.

    At most the sum of the costs, which needs no δ.
    """
    exact = float((times * costs).sum())
    return min(exact, laplace_losses(costs, times).epsilon(delta))
