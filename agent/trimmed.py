"""The robust mean of rewards some of which are lies, at a cost that does not grow with them.

Dubey and Pentland 2020, Algorithm 3, after Prasad, Balakrishnan and Ravikumar 2020. The samples S_k
of an arm are split as they arrive, X, Y, X, Y, …; N = ⌊|S_k|/2⌋. With δ the failure probability and
ε the contamination,

    α = max(ε, log(1/δ) / N),
    q = 1 - 2α - sqrt(2 α log(4/δ) / N) - log(4/δ) / N,

Z is the shortest closed interval that holds ⌈N q⌉ points of Y, and the estimate is the mean of the
points of X in Z. (The print takes the ends of Z from X*; the proof needs Y*.)

Samples are kept as counts per value, the values in order. Beyond `MOST_CELLS` values neighbouring
ones are put into a cell whose width is a power of two, so that a decision looks at no more than
that many; sums stay exact, and an end of Z is off by less than a cell.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from protocol.cooperative import Variant
from protocol.machine import FloatArray

MOST_CELLS = 1_024

_FAR = np.finfo(float).max


@dataclass(slots=True)
class TrimmedMeans:
    """The samples of K arms, and their robust means.

    `cells`, shape (D,), are values (or the lower ends of cells) in order, shared by all arms;
    `x`, `y`, shape (K, D), how many samples of each half lie in each; `x_sums` what they sum to.

    `corrected`: below the sample size at which the interval means something (⌈N q⌉ < 0.75 N), or
    when no point of X is in it, the plain mean of all samples; of intervals of equal length the one
    with most points. `printed`: the plain mean only where ⌈N q⌉ < 1 or X has no point in Z; of
    intervals of equal length the leftmost.
    """

    arms: int
    variant: Variant = "corrected"
    winsor: bool = False
    cells: FloatArray = field(init=False)
    width: float = 0.0
    x: FloatArray = field(init=False)
    y: FloatArray = field(init=False)
    x_sums: FloatArray = field(init=False)
    totals: FloatArray = field(init=False)
    counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.cells = np.zeros(0)
        self.x = np.zeros((self.arms, 0))
        self.y = np.zeros((self.arms, 0))
        self.x_sums = np.zeros((self.arms, 0))
        self.totals = np.zeros(self.arms)
        self.counts = np.zeros(self.arms, dtype=np.int64)

    def add(self, arms: NDArray[np.int64], rewards: FloatArray) -> None:
        """Samples in the order in which they arrived: `rewards[i]` of arm `arms[i]`."""
        place = self._places(rewards)
        D = len(self.cells)
        # the i-th sample of an arm goes to X if i is even: X keeps the odd one
        order = np.argsort(arms, kind="stable")
        per_arm = np.bincount(arms, minlength=self.arms)
        rank = np.empty(len(arms), dtype=np.int64)
        rank[order] = np.arange(len(arms)) - np.repeat(np.cumsum(per_arm) - per_arm, per_arm)
        in_y = (self.counts[arms] + rank) % 2 == 1
        flat = arms * D + place
        size = self.arms * D
        in_x = ~in_y
        self.y += np.bincount(flat[in_y], minlength=size).reshape(self.arms, D)
        self.x += np.bincount(flat[in_x], minlength=size).reshape(self.arms, D)
        self.x_sums += np.bincount(flat[in_x], rewards[in_x], size).reshape(self.arms, D)
        self.totals += np.bincount(arms, rewards, self.arms)
        self.counts += per_arm

    def estimate(self, epsilon: float, delta: float) -> FloatArray:
        """μ_R(S_k, δ) of every arm, shape (K,); every arm must have a sample."""
        plain = self.totals / self.counts
        N = self.counts // 2
        safe = np.maximum(N, 1)
        alpha = np.maximum(epsilon, math.log(1 / delta) / safe)
        if self.winsor:
            clipped = self._winsorised(N, np.minimum(alpha, 0.5))
            return np.where((N > 0) & (alpha < 0.5), clipped, plain)
        spread = math.log(4 / delta) / safe
        q = 1 - 2 * alpha - np.sqrt(2 * alpha * spread) - spread
        need = np.ceil(N * q - 1e-9)
        least = 0.75 * N if self.variant == "corrected" else 1.0
        usable = (N > 0) & (need >= np.maximum(least, 1.0))
        if not usable.any():
            return plain
        low, high = self._shortest(np.where(usable, need, 1.0))
        index = np.arange(len(self.cells))
        inside = (index >= low[:, None]) & (index <= high[:, None])
        points = (self.x * inside).sum(axis=1)
        trimmed = (self.x_sums * inside).sum(axis=1) / np.maximum(points, 1.0)
        return np.where(usable & (points > 0), trimmed, plain)

    def _shortest(self, need: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last cell of Z for every arm: the shortest interval with `need` points of Y."""
        D = len(self.cells)
        upto = np.cumsum(self.y, axis=1)
        # row k is lifted by k (N + 1), so that one search serves all rows
        lift = np.arange(self.arms)[:, None] * (upto[:, -1].max() + 1.0)
        target = upto - self.y + need[:, None]
        last = np.searchsorted((upto + lift).ravel(), (target + lift).ravel() - 0.5)
        last = last.reshape(self.arms, D) - np.arange(self.arms)[:, None] * D
        reachable = target <= upto[:, -1:]
        last = np.where(reachable, last, D - 1)
        length = np.where(reachable & (self.y > 0), self.cells[last] - self.cells, _FAR)
        if self.variant == "printed":
            first = length.argmin(axis=1)
        else:
            held = np.take_along_axis(upto, last, axis=1) - upto + self.y
            shortest = length.min(axis=1, keepdims=True)
            first = np.where(length == shortest, held, -1.0).argmax(axis=1)
        return first, np.take_along_axis(last, first[:, None], axis=1)[:, 0]

    def _winsorised(self, N: NDArray[np.int64], alpha: FloatArray) -> FloatArray:
        """The mean of X clipped to the α and 1 - α quantiles of Y (Lugosi and Mendelson 2021)."""
        upto = np.cumsum(self.y, axis=1)
        low = (upto < np.maximum(np.ceil(alpha * N - 1e-9), 1)[:, None]).sum(axis=1)
        high = (upto < np.maximum(np.ceil((1 - alpha) * N - 1e-9), 1)[:, None]).sum(axis=1)
        low, high = np.minimum(low, len(self.cells) - 1), np.minimum(high, len(self.cells) - 1)
        index = np.arange(len(self.cells))
        below, above = index < low[:, None], index > high[:, None]
        kept = (self.x_sums * ~(below | above)).sum(axis=1)
        clipped = (self.x * below).sum(axis=1) * self.cells[low]
        clipped += (self.x * above).sum(axis=1) * self.cells[high]
        mean: FloatArray = (kept + clipped) / np.maximum(self.x.sum(axis=1), 1.0)
        return mean

    def _places(self, rewards: FloatArray) -> NDArray[np.int64]:
        """The cell of each reward, made where it is missing."""
        values = self._cell_of(rewards)
        place = np.searchsorted(self.cells, values)
        D = len(self.cells)
        known = np.zeros(len(values), dtype=bool)
        inner = place < D
        known[inner] = self.cells[place[inner]] == values[inner]
        if known.all():
            return place
        self._spread_over(np.union1d(self.cells, values[~known]))
        while len(self.cells) > MOST_CELLS:
            self._merge()
        return np.searchsorted(self.cells, self._cell_of(rewards))

    def _cell_of(self, values: FloatArray) -> FloatArray:
        return np.floor(values / self.width) * self.width if self.width else values

    def _merge(self) -> None:
        """Make cells wider, until half of the places are free."""
        if not self.width:
            # the middle half of the values: far outliers must not make all others one cell
            D = len(self.cells)
            middle = float(self.cells[3 * D // 4] - self.cells[D // 4])
            self.width = 2.0 ** math.floor(math.log2(middle / D) - 4)
        while len(np.unique(self._cell_of(self.cells))) > MOST_CELLS // 2:
            self.width *= 2
        self._spread_over(np.unique(self._cell_of(self.cells)))

    def _spread_over(self, cells: FloatArray) -> None:
        """Carry the counts over to these cells."""
        to = np.searchsorted(cells, self._cell_of(self.cells))
        for name in ("x", "y", "x_sums"):
            old = getattr(self, name)
            new = np.zeros((len(cells), self.arms))
            np.add.at(new, to, old.T)
            setattr(self, name, np.ascontiguousarray(new.T))
        self.cells = cells
