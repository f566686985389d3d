"""The robust mean of rewards, some of them lies, at a cost that does not grow with their number.

Dubey and Pentland 2020, Algorithm 3, after Prasad, Balakrishnan and Ravikumar 2020. The samples S_k
of an arm go in turn to two halves as they arrive, X, Y, X, Y, …; N = ⌊|S_k|/2⌋. With δ the failure
probability and ε the contamination,

    α = max(ε, log(1/δ) / N),
    q = 1 - 2α - sqrt(2 α log(4/δ) / N) - log(4/δ) / N.

Z is the shortest closed interval that holds ⌈N q⌉ points of Y, and the estimate is the mean of the
points of X in Z. (Definition 4.1 sorts X but then speaks of Y*, the sorted Y; we take Y*.)

In plain Python, of the samples of one arm in the order of arrival:

    def estimate(samples, epsilon, delta, variant):
        X, Y, N = samples[0::2], samples[1::2], len(samples) // 2
        plain = sum(samples) / len(samples)
        if N == 0:
            return plain
        alpha = max(epsilon, math.log(1 / delta) / N)
        spread = math.log(4 / delta) / N
        q = 1 - 2 * alpha - math.sqrt(2 * alpha * spread) - spread
        need = math.ceil(N * q - 1e-9)
        if need < 1 or (variant == "corrected" and need < 0.75 * N):
            return plain
        intervals = []
        for low in sorted(set(Y)):
            for high in sorted(set(Y)):
                held = sum(low <= y <= high for y in Y)
                if held >= need and high >= low:
                    key = (high - low, low) if variant == "printed" else (high - low, -held, low)
                    intervals.append((key, low, high))
        _, low, high = min(intervals)
        inside = [x for x in X if low <= x <= high]
        return sum(inside) / len(inside) if inside else plain

Samples are kept as counts per value, sorted by value. Above `MOST_CELLS` values, neighbouring ones
share cells whose width is a power of two, so that a decision looks at no more than that many. Sums
stay exact, and an end of Z is off by less than a cell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posse.seam.messages import FloatArray, IntArray, Variant

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
        shape = self.rows, self.arms
        self.cells = np.zeros(0)
        self.x, self.y, self.x_sums = (np.zeros((0, *shape)) for _ in range(3))
        self.totals = np.zeros(shape)
        self.counts = np.zeros(shape, dtype=np.int64)

    def add(self, arms: IntArray, rewards: FloatArray, row: IntArray | int = 0) -> bool:
        """Add samples in order of arrival: `rewards[i]` of arm `arms[i]` for the agent of `row[i]`.

        Returns False, and adds none, if all rows together would have too many values; `split_rows`
        then gives each row its own.
        """
        cell = self._find_cells(rewards)
        if cell is None:
            return False
        shape, size = self.counts.shape, self.counts.size
        # the flat (row, arm) of each sample; small ints sort fastest
        arm = (row * self.arms + arms).astype(np.min_scalar_type(size))
        # the i-th sample of an arm goes to X if i is even: X keeps the odd one
        order = np.argsort(arm, kind="stable")
        new = np.bincount(arm, minlength=size)
        before = np.cumsum(new) - new - self.counts.ravel()
        in_y = np.empty(len(arm), dtype=np.int64)
        in_y[order] = (np.arange(len(arm)) - np.repeat(before, new)) & 1
        halves = (in_y * len(self.cells) + cell) * size + arm
        many = 2 * len(self.cells) * size
        x, y = np.bincount(halves, minlength=many).reshape(2, *self.x.shape)
        self.x += x
        self.y += y
        self.x_sums += np.bincount(halves, rewards, many)[: many // 2].reshape(self.x.shape)
        self.totals += np.bincount(arm, rewards, size).reshape(shape)
        self.counts += new.reshape(shape)
        return True

    def split_rows(self) -> list["TrimmedMeans"]:
        """A `TrimmedMeans` for each row alone, with only the values that it has."""
        by_row = []
        for r in range(self.rows):
            alone = TrimmedMeans(self.arms, self.variant, self.winsor)
            used = (self.x[:, r] + self.y[:, r]).any(axis=1)
            alone.cells = self.cells[used]
            for name in ("x", "y", "x_sums"):
                setattr(alone, name, getattr(self, name)[used, r : r + 1])
            alone.totals = self.totals[r : r + 1].copy()
            alone.counts = self.counts[r : r + 1].copy()
            by_row.append(alone)
        return by_row

    def estimate(
        self, epsilon: float, delta: Sequence[float], rows: Sequence[int] = (0,)
    ) -> FloatArray:
        """μ_R(S_k, δ) of every arm, shape (len(rows), K); `delta` has a δ for each of `rows`.

        Every arm must have a sample.
        """
        indices = list(rows)
        x, y, x_sums = (table.take(indices, axis=1) for table in (self.x, self.y, self.x_sums))
        counts = self.counts[indices]
        plain = self.totals[indices] / counts
        N = counts // 2
        safe = np.maximum(N, 1)
        log_1, log_4 = (np.array([[math.log(c / d)] for d in delta]) for c in (1, 4))
        alpha = np.maximum(epsilon, log_1 / safe)
        if self.winsor:
            clipped = self._winsorise(x, y, x_sums, N, np.minimum(alpha, 0.5))
            return np.where((N > 0) & (alpha < 0.5), clipped, plain)
        spread = log_4 / safe
        q = 1 - 2 * alpha - np.sqrt(2 * alpha * spread) - spread
        need = np.ceil(N * q - 1e-9)
        least = _ENOUGH * N if self.variant == "corrected" else 1.0
        usable = (N > 0) & (need >= np.maximum(least, 1.0))
        if not usable.any():
            return plain
        low, high = self._find_shortest(y, np.where(usable, need, 1.0))
        index = np.arange(len(self.cells))[:, None, None]
        inside = (index >= low) & (index <= high)
        points = (x * inside).sum(axis=0)
        trimmed = (x_sums * inside).sum(axis=0) / np.maximum(points, 1.0)
        return np.where(usable & (points > 0), trimmed, plain)

    def _find_shortest(self, y: FloatArray, need: FloatArray) -> tuple[IntArray, IntArray]:
        """First and last cell of Z for every arm: the shortest interval with `need` points of Y."""
        # For each cell that may begin the interval, one binary search in the cumulated counts finds
        # the first cell that ends it: D log D instead of all D² pairs.
        D = len(self.cells)
        cumulated = np.cumsum(y, axis=0)
        # each arm's counts are lifted above the arm's before, so that one search serves all arms
        arm = np.arange(need.size).reshape(need.shape)
        lift = arm * (cumulated[-1].max() + 1.0)
        target = cumulated - y + need
        ends = (cumulated + lift).reshape(D, -1).T.ravel()
        last = np.searchsorted(ends, target + (lift - 0.5)) - arm * D
        reachable = target <= cumulated[-1]
        last = np.where(reachable, last, D - 1)
        length = np.where(reachable & (y > 0), self.cells[last] - self.cells[:, None, None], _FAR)
        if self.variant == "printed":
            first = length.argmin(axis=0)
        else:
            held = np.take_along_axis(cumulated, last, axis=0) - cumulated + y
            first = np.where(length == length.min(axis=0), held, -1.0).argmax(axis=0)
        return first, np.take_along_axis(last, first[None], axis=0)[0]

    def _winsorise(
        self, x: FloatArray, y: FloatArray, x_sums: FloatArray, N: IntArray, alpha: FloatArray
    ) -> FloatArray:
        """The mean of X clipped to the α and 1 - α quantiles of Y (Lugosi and Mendelson 2021)."""
        cumulated = np.cumsum(y, axis=0)
        low = (cumulated < np.maximum(np.ceil(alpha * N - 1e-9), 1)).sum(axis=0)
        high = (cumulated < np.maximum(np.ceil((1 - alpha) * N - 1e-9), 1)).sum(axis=0)
        low, high = np.minimum(low, len(self.cells) - 1), np.minimum(high, len(self.cells) - 1)
        index = np.arange(len(self.cells))[:, None, None]
        below, above = index < low, index > high
        kept = (x_sums * ~(below | above)).sum(axis=0)
        clipped = (x * below).sum(axis=0) * self.cells[low]
        clipped += (x * above).sum(axis=0) * self.cells[high]
        mean: FloatArray = (kept + clipped) / np.maximum(x.sum(axis=0), 1.0)
        return mean

    def _find_cells(self, rewards: FloatArray) -> IntArray | None:
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
        target = np.searchsorted(cells, self._cell_of(self.cells))
        for name in ("x", "y", "x_sums"):
            new = np.zeros((len(cells), *self.counts.shape))
            np.add.at(new, target, getattr(self, name))
            setattr(self, name, new)
        self.cells = cells


class ManyTrimmedMeans:
    """The `TrimmedMeans` of `rows` agents: one table for all, while they have few different values.

    So it is with Bernoulli arms. Of continuous rewards each row's values are its own, and a common
    table would be empty in most places.
    """

    def __init__(self, arms: int, variant: Variant, winsor: bool, rows: int) -> None:
        self.tables = [TrimmedMeans(arms, variant, winsor, rows)]
        self._rows = rows

    def add(self, row: IntArray, arms: IntArray, rewards: FloatArray) -> None:
        """Add samples, which come sorted by row and within a row in order of arrival."""
        if len(self.tables) == 1:
            if self.tables[0].add(arms, rewards, row):
                return
            self.tables = self.tables[0].split_rows()
        ends = np.searchsorted(row, range(self._rows + 1)).tolist()
        for table, start, end in zip(self.tables, ends, ends[1:], strict=False):
            if start < end:
                table.add(arms[start:end], rewards[start:end])

    def estimate(
        self, epsilon: float, delta: Sequence[float], rows: Sequence[int]
    ) -> tuple[FloatArray, IntArray]:
        """μ_R(S_k, δ) and |S_k| of every arm for each of `rows`, shape (len(rows), K) both."""
        if len(self.tables) == 1:
            table = self.tables[0]
            return table.estimate(epsilon, delta, rows), table.counts[list(rows)]
        tables = [self.tables[row] for row in rows]
        robust = [t.estimate(epsilon, [d]) for t, d in zip(tables, delta, strict=True)]
        return np.concatenate(robust), np.concatenate([table.counts for table in tables])
