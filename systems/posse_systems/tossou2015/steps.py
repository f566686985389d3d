"""All players of a series of time-division fair sharing at once, equal to their machines."""

import math

import numpy as np

from posse.seam.messages import BoolArray, FloatArray, IntArray
from posse.seam.results import Estimate
from posse.seam.system import Purpose
from posse_systems.tossou2015.medium_steps import MediumStep
from posse_systems.tossou2015.messages import OffsetRow, first_arm, target_rank


class TdfsSteps(MediumStep):
    """`TdfsPlayer` with `Ucb` of every row; `sums`, `means`, `widths` have shape (rows, N)."""

    def begin(self) -> None:
        shape = self.series.rows, self.N
        self.first = np.arange(0, self.series.rows * self.N, self.N)
        self.sums, self.means = np.zeros((2, *shape))
        self.widths = np.full(shape, np.inf)
        self.found = self.p.offsets == "found"
        agreed = range(1, self.M + 1) if isinstance(self.p.offsets, str) else self.p.offsets
        self.offsets = np.tile(agreed, self.runs)
        if self.found:
            self.draws = self.series.generators(Purpose.PROTOCOL)
            self.collided = np.ones(self.series.rows, dtype=bool)
            self.draw_offsets()

    def draw_offsets(self) -> None:
        """Who collided in this round draws its offset, and a new round begins."""
        for row in self.collided.nonzero()[0].tolist():
            self.offsets[row] = offset = int(self.draws[row].integers(1, self.M + 1))
            self.groups.note(row, OffsetRow(offset))
        self.collided[:] = False

    def choose(self, t: int) -> IntArray:
        if t <= self.N:
            return first_arm(t, self.offsets, self.N)
        return find_all_ranked(self.index(t), target_rank(t, self.offsets, self.M))

    def index(self, t: int) -> FloatArray:
        """s_a / n_a + sqrt(2 log t / n_a) of each row, a new array."""
        return self.means + math.sqrt(2 * math.log(t)) * self.widths

    def learn(self, t: int, arms: IntArray, samples: FloatArray, collided: BoolArray) -> None:
        pulled = self.first + arms
        n = self.groups.pulls.ravel()[pulled]
        self.sums.ravel()[pulled] += samples
        self.widths.ravel()[pulled] = 1 / np.sqrt(n)
        self.observe(pulled, n)
        if self.found:
            self.collided |= collided
            if t % self.M == 0:
                self.draw_offsets()

    def observe(self, pulled: IntArray, n: IntArray) -> None:
        """Keep what the index needs, now that each row's sum of one arm has its n-th sample."""
        self.means.ravel()[pulled] = self.sums.ravel()[pulled] / n

    def end(self) -> None:
        for row in range(self.series.rows):
            for arm, n in enumerate(self.groups.pulls[row].tolist()):
                if n and (estimate := self.estimate(row, arm, n)):
                    self.groups.note(row, estimate)

    def estimate(self, row: int, arm: int, n: int) -> Estimate | None:
        """What a row may tell of an arm; nothing, as the sums are not private."""
        return None


def find_all_ranked(index: FloatArray, j: IntArray) -> IntArray:
    """`find_ranked` of each row of `index`, which this changes."""
    arms: IntArray = index.argmax(axis=1)
    for rank in range(2, j.max() + 1):
        rows = (j >= rank).nonzero()[0]
        index[rows, arms[rows]] = -np.inf
        arms[rows] = index[rows].argmax(axis=1)
    return arms
