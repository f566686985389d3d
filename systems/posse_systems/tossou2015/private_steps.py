"""All players of a series with noisy sums at once, equal to their machines (Algorithms 1 and 2)."""

import math

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import HybridSums, SeededNoise
from posse.seam.results import Estimate
from posse.seam.steps import Declined, ManyRuns, Queues
from posse.seam.system import Purpose
from posse_systems.tossou2015.agent import noisy_estimate, releases_of
from posse_systems.tossou2015.messages import privacy_factor, privacy_weight
from posse_systems.tossou2015.steps import TdfsSteps


class UcbPrivateBoundSteps(TdfsSteps):
    """`TdfsPlayer` with `UcbPrivateBound` of every row."""

    def begin(self) -> None:
        super().begin()
        self.counters = hybrid_sums(self.series, 1)
        self.noise = Queues(len(self.counters), self.look_ahead, self.counters[0].at_once)
        # one by one: a power of an array may differ in its last bit
        of_pulls = [privacy_factor(n, self.variant) for n in range(1, self.p.horizon + 1)]
        self.factor_of, self.factors = np.array([0.0, *of_pulls]), np.zeros(self.sums.shape)

    def look_ahead(self, queue: int, _: int) -> FloatArray:
        """The noise of the next sums of an arm of a row; what begins with it is disclosed."""
        (row, arm), counter = divmod(queue, self.N), self.counters[queue]
        noise: FloatArray = counter.look_ahead()[:, 0]
        for release in releases_of(arm, counter):
            self.groups.disclose(row, release)
        return noise

    def index(self, t: int) -> FloatArray:
        """s_a / n_a + sqrt(2 log t / n_a) + (4 log t / ε) f(n_a)."""
        return super().index(t) + privacy_weight(t, self.p.epsilon) * self.factors

    def observe(self, pulled: IntArray, n: IntArray) -> None:
        noisy = self.sums.ravel()[pulled] + self.noise.take(pulled)
        self.means.ravel()[pulled] = noisy / n
        self.factors.ravel()[pulled] = self.factor_of[n]

    def estimate(self, row: int, arm: int, n: int) -> Estimate:
        counter = self.counters[row * self.N + arm]
        counter.t = n
        return noisy_estimate(arm, self.means[row, arm].item(), n, self.N, counter)


class UcbPrivateSteps(TdfsSteps):
    """The same with `UcbPrivate`: `noisy` are all sums, all of which each slot moves."""

    def begin(self) -> None:
        super().begin()
        self.counters, self.shares = hybrid_sums(self.series, self.N), np.zeros(self.sums.shape)
        self.ahead, self.used = np.zeros((0, *self.sums.shape)), 0

    def look_ahead(self) -> None:
        """Draw the noise of the next slots, as many for each row."""
        self.ahead, self.used = np.stack([each.look_ahead() for each in self.counters], axis=1), 0
        for row, counter in enumerate(self.counters):
            for release in counter.new_releases():
                self.groups.disclose(row, release)

    def index(self, t: int) -> FloatArray:
        """s_a / n_a + sqrt(2 log t / n_a)."""
        means: FloatArray = self.noisy * self.shares
        return means + math.sqrt(2 * math.log(t)) * self.widths

    def observe(self, pulled: IntArray, n: IntArray) -> None:
        if self.used == len(self.ahead):
            self.look_ahead()
        self.noisy = self.sums + self.ahead[self.used]
        self.used += 1
        self.shares.ravel()[pulled] = 1 / n

    def estimate(self, row: int, arm: int, n: int) -> Estimate:
        counter = self.counters[row]
        counter.t = self.p.horizon
        return noisy_estimate(arm, self.noisy[row, arm].item() / n, n, self.N, counter)


def hybrid_sums(series: ManyRuns, streams: int) -> list[HybridSums]:
    """Counters, each of this number of streams, for the arms of all rows; others are declined."""
    p = series.parameters
    if p.counter != "hybrid":
        raise Declined
    return [
        HybridSums(streams, p.epsilon, p.split, noise)
        for noise in map(SeededNoise, series.generators(Purpose.NOISE))
        for _ in range(series.arms // streams)
    ]
