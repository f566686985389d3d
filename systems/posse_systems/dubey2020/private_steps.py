"""All agents of a series of `private-ucb` at once, equal to their machines."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import Release
from posse.seam.steps import Declined, ManyRuns, Queues
from posse.seam.system import Purpose
from posse_systems.dubey2020.agent import batch_release, mean_release
from posse_systems.dubey2020.messages import (
    OPTIMISM,
    confidence_bonus,
    doubling_counts,
    exploration_slots,
    release_counts,
)
from posse_systems.dubey2020.steps import CooperativeSteps, LoneSteps


def make_private_steps(series: ManyRuns) -> "PrivateSteps":
    """The steps for where the noise is; trees are declined."""
    p = series.parameters
    if p.releases == "trees":
        raise Declined
    return (DestinationSteps if p.noise_at == "destination" else PrivateSteps)(series)


class PrivateSteps(CooperativeSteps):
    """`PrivateMeans` and `DoublingMeans` of every row; `released` has the n_k and s_k released.

    `means` are the last ones released, and 0 before. A third part of `told` counts, for batches
    that double, the origins that have released an arm.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        p = self.parameters = series.parameters
        self.doubling = getattr(p, "releases", "doubling") == "doubling"
        counts = (
            doubling_counts(p.horizon)
            if self.doubling
            else release_counts(p.epsilon, p.v, p.horizon)
        )
        self.due, self.scale = np.zeros(p.horizon + 1, dtype=bool), np.zeros(p.horizon + 1)
        self.due[list(counts)] = True
        self.scale[list(counts)] = [self.entry(0, n).scale for n in counts]
        self.told = np.zeros((series.rows, (2 + self.doubling) * series.arms))
        self.released = np.zeros((2, series.rows, series.arms))
        self.means = np.zeros((series.rows, series.arms))
        streams = series.generators(Purpose.NOISE)
        self.noise = Queues(len(streams), lambda row, n: streams[row].laplace(0.0, 1.0, n))
        self.entries: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def entry(self, arm: int, n: int) -> Release:
        """The account's entry for the release after n pulls."""
        p = self.parameters
        if self.doubling:
            return batch_release(arm, n, max(1, n // 2), p.epsilon)
        return mean_release(arm, n, p.v)

    def round_robin(self, t: int) -> int | None:
        if t > exploration_slots(self.series.arms, self.parameters.epsilon):
            return None
        return (t - (self.series.variant == "corrected")) % self.series.arms

    def own(self) -> tuple[FloatArray, FloatArray]:
        if self.series.variant == "printed":
            return self.pulls, self.sums
        return self.released[0], self.released[1]

    def bonus(self, log: float, N: FloatArray, others: FloatArray) -> FloatArray:
        bonus = confidence_bonus(log, N)
        if self.doubling:
            m = (self.released[0] > 0) + others[:, 2 * self.series.arms :]
            bonus = bonus + OPTIMISM * log * np.sqrt(m) / (self.parameters.epsilon * N)
        return bonus

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        LoneSteps.learn(self, t, arms, rewards)
        n = self.pulls.ravel()[self.first + arms].astype(np.int64)
        rows = np.flatnonzero(self.due[n])
        at, size = (rows, arms[rows]), n[rows]
        for row, arm, pulls in zip(rows.tolist(), at[1].tolist(), size.tolist(), strict=True):
            self.entries[row].append((arm, pulls))
        if self.doubling:
            size = np.maximum(1, size // 2)
        noisy = self.noisy(rows, self.sums[at] / size, n[rows])
        self.released[0][at], self.released[1][at], self.means[at] = size, size * noisy, noisy
        if self.doubling:
            self.sums[at] = 0.0
            self.told[rows, 2 * self.series.arms + at[1]] = 1.0
        self.tell(*at, size, noisy)
        if self.series.variant == "printed":  # the present count, with the mean last released
            every = np.arange(len(arms))
            known = every[self.released[0][every, arms] > 0]
            self.tell(known, arms[known], n[known], self.means[known, arms[known]])
        self.spread.tell(t, self.told)

    def noisy(self, rows: IntArray, means: FloatArray, n: IntArray) -> FloatArray:
        """What these rows send as their means after n pulls."""
        return means + self.scale[n] * self.noise.take(rows)

    def releases(self, row: int) -> Iterable[Release]:
        return [self.entry(arm, n) for arm, n in self.entries[row]]


class DestinationSteps(PrivateSteps):
    """`NoiseAtDestination` of every row; `noised` has the counts and noisy sums of others."""

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        self.noised = np.zeros((series.rows, 2 * series.arms))
        # one by one: a power of an array may differ in its last bit
        counts = np.arange(series.parameters.horizon + 1.0)
        self.powers = np.array([n ** (series.parameters.v / 2) for n in counts])

    def own(self) -> tuple[FloatArray, FloatArray]:
        return self.pulls, self.sums

    def noisy(self, rows: IntArray, means: FloatArray, n: IntArray) -> FloatArray:
        return means

    def choose(self, t: int) -> IntArray:
        heard, K = super().others(t), self.series.arms
        most = self.spread.others(t, self.told.shape[1], np.maximum)
        for arm in range(K):
            rows = np.flatnonzero(heard[:, arm] != self.noised[:, arm])
            n, sums = heard[rows, arm], heard[rows, K + arm]
            scale = self.powers[most[rows, arm].astype(np.int64)] / n
            self.noised[rows, arm] = n
            self.noised[rows, K + arm] = n * (sums / n + scale * self.noise.take(rows))
        return super().choose(t)

    def others(self, t: int) -> FloatArray:
        return self.noised

    def releases(self, row: int) -> Iterable[Release]:
        return ()
