"""All agents of a series at once, equal to their machines: `ucb1` and the cooperative family."""

import math
from collections import defaultdict

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import Release
from posse.seam.steps import Declined, ManyRuns, Queues, Sent, Steps, Ties
from posse.seam.system import Purpose
from posse_systems.dubey2020.agent import LARGEST_REWARD, batch_release, mean_release
from posse_systems.dubey2020.messages import (
    OPTIMISM,
    DuplicatesRow,
    HopsRow,
    confidence_bonus,
    doubling_counts,
    exploration_slots,
    means_record,
    release_counts,
)
from posse_systems.dubey2020.spread import Spread


class LoneSteps(Steps):
    """`LoneUcb` of every row: its n_k and s_k are in `pulls` and `sums`, shape (rows, K)."""

    def __init__(self, series: ManyRuns) -> None:
        self.slots = series.parameters.horizon
        self.series, self.ties = series, Ties(series)
        self.pulls, self.sums = np.zeros((2, series.rows, series.arms))
        self.first = np.arange(series.rows) * series.arms

    def choose(self, t: int) -> IntArray:
        arm = self.round_robin(t)
        return self.ties.argmax(self.index(t)) if arm is None else np.full(self.series.rows, arm)

    def round_robin(self, t: int) -> int | None:
        """The arm that all pull in slot t <= K; None afterwards."""
        return t - 1 if t <= self.series.arms else None

    def index(self, t: int) -> FloatArray:
        """Each arm's index in slot t, shape (rows, K)."""
        return self.sums / self.pulls + confidence_bonus(math.log(t), self.pulls)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        pulled = self.first + arms
        self.pulls.ravel()[pulled] += 1
        self.sums.ravel()[pulled] += rewards

    def answers(self) -> list[int]:
        most: list[int] = self.pulls.argmax(axis=1).tolist()
        return most


class CooperativeSteps(LoneSteps):
    """`SharedMeans` of every row; `told` has the n' and n' v' of its message, shape (rows, 2K).

    Means that a machine would refuse are declined.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        self.told = np.zeros((series.rows, 2 * series.arms))
        self.spread = Spread(series, means_record(series.arms).itemsize)
        told_first = series.networks[0].knowledge[0]
        low, high = told_first.get("reward_range") or (-LARGEST_REWARD, LARGEST_REWARD)
        self.limits = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)

    def index(self, t: int) -> FloatArray:
        arms, others = self.series.arms, self.spread.others(t, self.told.shape[1])
        n, s = self.own()
        N, sums, log = n + others[:, :arms], s + others[:, arms : 2 * arms], math.log(t)
        unknown = np.count_nonzero(N) < N.size
        least = np.maximum(N, 1.0) if unknown else N
        index = sums / least + self.bonus(log, least, others)
        return np.where((N == 0).any(axis=1)[:, None], -N, index) if unknown else index

    def own(self) -> tuple[FloatArray, FloatArray]:
        """The n_k and s_k of its own by which each row decides."""
        return self.pulls, self.sums

    def bonus(self, log: float, N: FloatArray, others: FloatArray) -> FloatArray:
        """What is added to the means."""
        return confidence_bonus(log, N)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        super().learn(t, arms, rewards)
        rows = np.arange(len(arms))
        n = self.pulls[rows, arms]
        self.tell(rows, arms, n, self.sums[rows, arms] / n)
        self.spread.tell(t, self.told)

    def tell(self, rows: IntArray, arms: IntArray, n: FloatArray, means: FloatArray) -> None:
        """Put counts and means of these rows' arms into their messages."""
        if len(rows) and not self.limits[0] <= means.min() <= means.max() <= self.limits[1]:
            raise Declined
        self.told[rows, arms] = n
        self.told[rows, self.series.arms + arms] = n * means

    def sent(self, row: int) -> list[Sent]:
        return self.spread.sent(row)

    def notes(self, row: int) -> list[DuplicatesRow | HopsRow]:
        return self.spread.notes(row)


class PrivateSteps(CooperativeSteps):
    """`PrivateMeans` and `DoublingMeans` of every row; `released` has the n_k and s_k released.

    `means` are the last ones released, and 0 before. A third part of `told` counts, for batches
    that double, the origins that have released an arm.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        p = self.parameters = series.parameters
        releases = getattr(p, "releases", "doubling")
        self.doubling = releases == "doubling"
        if releases == "trees" or getattr(p, "noise_at", "source") != "source":
            raise Declined
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
        noisy = self.sums[at] / size + self.scale[n[rows]] * self.noise.take(rows)
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

    def releases(self, row: int) -> list[Release]:
        return [self.entry(arm, n) for arm, n in self.entries[row]]
