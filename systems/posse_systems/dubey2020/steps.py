"""All agents of a series at once, equal to their machines: `ucb1` and `cooperative-ucb`."""

import math

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import Declined, ManyRuns, Sent, Steps, Ties
from posse_systems.dubey2020.agent import LARGEST_REWARD
from posse_systems.dubey2020.messages import (
    DuplicatesRow,
    HopsRow,
    confidence_bonus,
    means_record,
)
from posse_systems.dubey2020.spread import Spread
from posse_systems.dubey2020.spread_costs import SpreadCosts


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
        self.spread = Spread(series)
        self.costs = SpreadCosts(self.spread, means_record(series.arms).itemsize)
        told_first = series.networks[0].knowledge[0]
        low, high = told_first.get("reward_range") or (-LARGEST_REWARD, LARGEST_REWARD)
        self.limits = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)

    def index(self, t: int) -> FloatArray:
        arms, others = self.series.arms, self.others(t)
        n, s = self.own()
        N, sums, log = n + others[:, :arms], s + others[:, arms : 2 * arms], math.log(t)
        unknown = np.count_nonzero(N) < N.size
        least = np.maximum(N, 1.0) if unknown else N
        index = sums / least + self.bonus(log, least, others)
        return np.where((N == 0).any(axis=1)[:, None], -N, index) if unknown else index

    def others(self, t: int) -> FloatArray:
        """The sums of what others told by which each row decides, as `told`."""
        return self.spread.others(t, self.told.shape[1])

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
        return self.costs.sent(row)

    def notes(self, row: int) -> list[DuplicatesRow | HopsRow]:
        return self.costs.notes(row)
