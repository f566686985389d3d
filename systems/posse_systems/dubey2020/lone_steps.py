"""All agents of a series of `dp-ucb-int` at once, equal to their machines."""

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import Release
from posse.seam.steps import ManyRuns, Queues
from posse.seam.system import Purpose
from posse_systems.dubey2020.agent import mean_release
from posse_systems.dubey2020.messages import (
    confidence_bonus,
    exploration_slots,
    noise_scale,
    pulls_per_release,
)
from posse_systems.dubey2020.steps import LoneSteps


class PrivateLoneSteps(LoneSteps):
    """`PrivateLoneUcb` of every row; `indices` has those of the print, kept between releases.

    `since` has the slot of an arm's first release after its last pull, 0 if there was none.
    `entries` has, in parts, columns of row, that slot, arm, pulls and how often it was released.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        p = self.parameters = series.parameters
        self.f, self.explored = (
            pulls_per_release(p.epsilon),
            exploration_slots(series.arms, p.epsilon),
        )
        self.scale = np.array([0.0, *(noise_scale(n + 1, p.v) for n in range(p.horizon))])
        streams = series.generators(Purpose.NOISE)
        self.noise = Queues(len(streams), lambda row, n: streams[row].laplace(0.0, 1.0, n))
        self.noisy_means, self.indices = np.zeros((2, series.rows, series.arms))
        self.since = np.zeros((series.rows, series.arms), dtype=np.int64)
        self.entries: list[IntArray] = []

    def round_robin(self, t: int) -> int | None:
        return (t - 1) % self.series.arms if t <= self.explored else None

    def index(self, t: int) -> FloatArray:
        bonus = confidence_bonus(math.log(t), self.pulls)
        if self.series.variant == "corrected":
            return self.noisy_means + bonus
        due = self.pulls % self.f == 0
        for arm in range(self.series.arms):
            rows = np.flatnonzero(due[:, arm])
            self.release(rows, np.full(len(rows), arm))
        self.since[due & (self.since == 0)] = t
        self.indices[due] = self.noisy_means[due] + bonus[due]
        return self.indices

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        rows = np.arange(len(arms))
        self.enter(rows[self.since[rows, arms] > 0], arms[self.since[rows, arms] > 0], t)
        super().learn(t, arms, rewards)
        if self.series.variant == "corrected":
            rows = rows[self.pulls[rows, arms] % self.f == 0]
            self.release(rows, arms[rows])
            self.since[rows, arms[rows]] = t
            self.enter(rows, arms[rows], t)

    def release(self, rows: IntArray, arms: IntArray) -> None:
        """Give these arms' means new noise."""
        n = self.pulls[rows, arms].astype(np.int64)
        noisy = self.sums[rows, arms] / n + self.scale[n] * self.noise.take(rows)
        self.noisy_means[rows, arms] = noisy

    def enter(self, rows: IntArray, arms: IntArray, t: int) -> None:
        """Enter the releases of these arms since their last pull, until slot t."""
        since, n = self.since[rows, arms], self.pulls[rows, arms].astype(np.int64)
        self.entries.append(np.array([rows, since, arms, n, t - since + 1]))
        self.since[rows, arms] = 0

    @cached_property
    def ledger(self) -> IntArray:
        """All entries, sorted by row, and then in order."""
        rows, arms = np.nonzero(self.since)
        self.enter(rows, arms, self.slots)
        entries: IntArray = np.concatenate(self.entries, axis=1)
        return entries[:, np.lexsort(entries[2::-1])]

    def releases(self, row: int) -> Iterable[Release]:
        first, last = self.ledger[0].searchsorted([row, row + 1])
        for _, _, arm, n, times in self.ledger[:, first:last].T.tolist():
            yield replace(mean_release(arm, n, self.parameters.v), times=times)
