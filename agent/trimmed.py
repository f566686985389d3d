"""The robust mean of rewards, some of them lies, at a cost that does not grow with their number.

Dubey and Pentland 2020, Algorithm 3, after Prasad, Balakrishnan and Ravikumar 2020. The samples S_k
of an arm go in turn to two halves as they arrive, X, Y, X, Y, …; N = ⌊|S_k|/2⌋. With δ the failure
probability and ε the contamination,

    α = max(ε, log(1/δ) / N),
    q = 1 - 2α - sqrt(2 α log(4/δ) / N) - log(4/δ) / N.

Z is the shortest closed interval that holds ⌈N q⌉ points of Y, and the estimate is the mean of the
points of X in Z. (Definition 4.1 sorts X but then speaks of Y*, the sorted Y; we take Y*.)

Samples are kept as counts per value, sorted by value. Above `MOST_CELLS` values, neighbouring ones
share cells whose width is a power of two, so that a decision looks at no more than that many. Sums
stay exact, and an end of Z is off by less than a cell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import Variant

MOST_CELLS = 1_024

_ENOUGH = 0.75
"""The share of the points of Y that Z must hold in `corrected`."""

TRIMS_BELOW = (1 - _ENOUGH) / 2
"""From this contamination on Z never holds enough, since q < 1 - 2ε."""

_FAR = np.finfo(float).max


@dataclass(slots=True)
class TrimmedMeans:
    """The samples of K arms and their robust means, for `rows` agents.

    `cells`, shape (D,), has the sorted values, or the lower ends of cells, common to all agents.
    `x` and `y`, shape (D, rows, K), count the samples of each half in each cell; `x_sums` adds up
    those of X. Sums go along D, the slow axis, so that a cell that is empty for an agent changes
    no bit of its results.

    `corrected` takes the plain mean of all samples if no point of X is in Z, or if there are too
    few for Z to mean anything: ⌈N q⌉ < 0.75 N, hence always if ε >= 1/8. `printed` takes it only if
    ⌈N q⌉ < 1 or no point of X is in Z. Of intervals of equal length `corrected` takes the one with
    most points, `printed` the leftmost.
    """

    arms: int
    variant: Variant = "corrected"
    winsor: bool = False
    rows: int = 1
    cells: FloatArray = field(init=False)
    width: float = 0.0
    x: FloatArray = field(init=False)
    y: FloatArray = field(init=False)
    x_sums: FloatArray = field(init=False)
    totals: FloatArray = field(init=False)
    counts: IntArray = field(init=False)

    def __post_init__(self) -> None:
        each = self.rows, self.arms
        self.cells = np.zeros(0)
        self.x, self.y, self.x_sums = (np.zeros((0, *each)) for _ in range(3))
        self.totals = np.zeros(each)
        self.counts = np.zeros(each, dtype=np.int64)

    def add(self, arms: IntArray, rewards: FloatArray, row: IntArray | int = 0) -> bool:
        """Add samples in order of arrival: `rewards[i]` of arm `arms[i]` for the agent of `row[i]`.

        Returns False, and adds none, if all rows together would have too many values: see `apart`.
        """
        place = self._places(rewards)
        if place is None:
            return False
        each, size = self.counts.shape, self.counts.size
        of = (row * self.arms + arms).astype(np.min_scalar_type(size))  # small ints sort fastest
        # the i-th sample of an arm goes to X if i is even: X keeps the odd one
        order = np.argsort(of, kind="stable")
        new = np.bincount(of, minlength=size)
        rank = np.empty(len(of), dtype=np.int64)
        rank[order] = np.arange(len(of)) - np.repeat(np.cumsum(new) - new, new)
        in_y = (self.counts.ravel()[of] + rank) % 2 == 1
        in_x = ~in_y
        at, shape = place * size + of, self.x.shape
        self.y += np.bincount(at[in_y], minlength=self.y.size).reshape(shape)
        self.x += np.bincount(at[in_x], minlength=self.x.size).reshape(shape)
        self.x_sums += np.bincount(at[in_x], rewards[in_x], self.x.size).reshape(shape)
        self.totals += np.bincount(of, rewards, size).reshape(each)
        self.counts += new.reshape(each)
        return True

    def apart(self) -> list["TrimmedMeans"]:
        """A `TrimmedMeans` for each row alone, with only the values that it has."""
        out = []
        for r in range(self.rows):
            one = TrimmedMeans(self.arms, self.variant, self.winsor)
            seen = (self.x[:, r] + self.y[:, r]).any(axis=1)
            one.cells = self.cells[seen]
            for name in ("x", "y", "x_sums"):
                setattr(one, name, getattr(self, name)[seen, r : r + 1])
            one.totals, one.counts = self.totals[r : r + 1].copy(), self.counts[r : r + 1].copy()
            out.append(one)
        return out

    def estimate(
        self, epsilon: float, delta: Sequence[float], rows: Sequence[int] = (0,)
    ) -> FloatArray:
        """μ_R(S_k, δ) of every arm, shape (len(rows), K); `delta` has a δ for each of `rows`.

        Every arm must have a sample.
        """
        of = list(rows)
        x, y, x_sums = (kept.take(of, axis=1) for kept in (self.x, self.y, self.x_sums))
        counts = self.counts[of]
        plain = self.totals[of] / counts
        N = counts // 2
        safe = np.maximum(N, 1)
        log_1, log_4 = (np.array([[math.log(c / d)] for d in delta]) for c in (1, 4))
        alpha = np.maximum(epsilon, log_1 / safe)
        if self.winsor:
            clipped = self._winsorised(x, y, x_sums, N, np.minimum(alpha, 0.5))
            return np.where((N > 0) & (alpha < 0.5), clipped, plain)
        spread = log_4 / safe
        q = 1 - 2 * alpha - np.sqrt(2 * alpha * spread) - spread
        need = np.ceil(N * q - 1e-9)
        least = _ENOUGH * N if self.variant == "corrected" else 1.0
        usable = (N > 0) & (need >= np.maximum(least, 1.0))
        if not usable.any():
            return plain
        low, high = self._shortest(y, np.where(usable, need, 1.0))
        index = np.arange(len(self.cells))[:, None, None]
        inside = (index >= low) & (index <= high)
        points = (x * inside).sum(axis=0)
        trimmed = (x_sums * inside).sum(axis=0) / np.maximum(points, 1.0)
        return np.where(usable & (points > 0), trimmed, plain)

    def _shortest(self, y: FloatArray, need: FloatArray) -> tuple[IntArray, IntArray]:
        """First and last cell of Z for every arm: the shortest interval with `need` points of Y."""
        D, each = len(self.cells), need.shape
        upto = np.cumsum(y, axis=0)
        # each arm's counts are lifted above the arm's before, so that one search serves all arms
        arm = np.arange(need.size).reshape(each)
        lift = arm * (upto[-1].max() + 1.0)
        target = upto - y + need
        sorted_ = (upto + lift).reshape(D, -1).T.ravel()
        last = np.searchsorted(sorted_, target + (lift - 0.5)) - arm * D
        reachable = target <= upto[-1]
        last = np.where(reachable, last, D - 1)
        length = np.where(reachable & (y > 0), self.cells[last] - self.cells[:, None, None], _FAR)
        if self.variant == "printed":
            first = length.argmin(axis=0)
        else:
            held = np.take_along_axis(upto, last, axis=0) - upto + y
            first = np.where(length == length.min(axis=0), held, -1.0).argmax(axis=0)
        return first, np.take_along_axis(last, first[None], axis=0)[0]

    def _winsorised(
        self, x: FloatArray, y: FloatArray, x_sums: FloatArray, N: IntArray, alpha: FloatArray
    ) -> FloatArray:
        """The mean of X clipped to the α and 1 - α quantiles of Y (Lugosi and Mendelson 2021)."""
        upto = np.cumsum(y, axis=0)
        low = (upto < np.maximum(np.ceil(alpha * N - 1e-9), 1)).sum(axis=0)
        high = (upto < np.maximum(np.ceil((1 - alpha) * N - 1e-9), 1)).sum(axis=0)
        low, high = np.minimum(low, len(self.cells) - 1), np.minimum(high, len(self.cells) - 1)
        index = np.arange(len(self.cells))[:, None, None]
        below, above = index < low, index > high
        kept = (x_sums * ~(below | above)).sum(axis=0)
        clipped = (x * below).sum(axis=0) * self.cells[low]
        clipped += (x * above).sum(axis=0) * self.cells[high]
        mean: FloatArray = (kept + clipped) / np.maximum(x.sum(axis=0), 1.0)
        return mean

    def _places(self, rewards: FloatArray) -> IntArray | None:
        """The cell of each reward, added if missing; None if the rows together have no room."""
        values = self._cell_of(rewards)
        place = np.searchsorted(self.cells, values)
        D = len(self.cells)
        known = np.zeros(len(values), dtype=bool)
        inner = place < D
        known[inner] = self.cells[place[inner]] == values[inner]
        if known.all():
            return place
        cells = np.union1d(self.cells, values[~known])
        if self.rows > 1 and len(cells) > MOST_CELLS:
            return None
        self._spread_over(cells)
        while len(self.cells) > MOST_CELLS:
            self._merge()
        return np.searchsorted(self.cells, self._cell_of(rewards))

    def _cell_of(self, values: FloatArray) -> FloatArray:
        return np.floor(values / self.width) * self.width if self.width else values

    def _merge(self) -> None:
        """Make cells wider until at most half of `MOST_CELLS` are used."""
        if not self.width:
            # from the middle half of the values: outliers must not put all others into one cell
            D = len(self.cells)
            middle = float(self.cells[3 * D // 4] - self.cells[D // 4])
            self.width = 2.0 ** math.floor(math.log2(middle / D) - 4)
        while len(np.unique(self._cell_of(self.cells))) > MOST_CELLS // 2:
            self.width *= 2
        self._spread_over(np.unique(self._cell_of(self.cells)))

    def _spread_over(self, cells: FloatArray) -> None:
        """Move the counts to these cells."""
        to = np.searchsorted(cells, self._cell_of(self.cells))
        for name in ("x", "y", "x_sums"):
            new = np.zeros((len(cells), *self.counts.shape))
            np.add.at(new, to, getattr(self, name))
            setattr(self, name, new)
        self.cells = cells
