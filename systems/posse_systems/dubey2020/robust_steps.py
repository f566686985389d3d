"""All agents of a series of `robust-private-ucb` at once, equal to their machines."""

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import Declined, ManyRuns
from posse.seam.system import Purpose
from posse_systems.dubey2020.corruption import Corruption
from posse_systems.dubey2020.messages import means_record, most_liars
from posse_systems.dubey2020.private_steps import PrivateSteps
from posse_systems.dubey2020.robust import upper_bounds

_TOGETHER = 1 << 19
"""Numbers of others that are sorted at once."""


class RobustSteps(PrivateSteps):
    """`RobustMeans` of every row, or `DoublingMeans`, some of which lie of their own means.

    Lies about what others sent, and means that a machine would refuse, are declined.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        known = [knowledge for network in series.networks for knowledge in network.knowledge]
        self.most = most_liars(known[0]["assumed"], series.agents)
        does = self.parameters.contamination
        rows = [row for row, knowledge in enumerate(known) if knowledge.get("contamination")]
        if rows and does.form == "relay":
            raise Declined
        self.liars = {
            row: Corruption(does, series.generator(row, Purpose.CORRUPTION)) for row in rows
        }

    def index(self, t: int) -> FloatArray:
        if self.parameters.estimator == "mean":
            return super().index(t)
        where = self.spread.where[(t - 1) % self.spread.cycle]
        step = max(1, _TOGETHER // ((len(where) + 1) * self.told.shape[1]))
        rows = range(0, where.shape[1], step)
        return np.concatenate([self.bounds(t, slice(first, first + step)) for first in rows])

    def bounds(self, t: int, rows: slice) -> FloatArray:
        """`RobustMeans.index` of these rows."""
        K = self.series.arms
        heard = self.spread.kept[self.spread.where[(t - 1) % self.spread.cycle][:, rows]]
        counts = np.concatenate([heard[..., :K], self.released[:1, rows]])
        sums = np.concatenate([heard[..., K : 2 * K], self.released[1:, rows]])
        epsilon = self.parameters.epsilon
        return upper_bounds(t, counts, sums, self.series.agents, self.most, epsilon)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        super().learn(t, arms, rewards)
        if not self.liars:
            return
        said = self.told.copy()
        for row, liar in self.liars.items():
            message = np.zeros(1, dtype=means_record(self.series.arms))
            counts = self.released[0, row]
            message["counts"], message["means"] = counts, np.where(counts, self.means[row], np.nan)
            liar.corrupt(message, message[:0], t)
            counts, means = message["counts"][0].astype(float), message["means"][0]
            if (means < self.limits[0]).any() or (means > self.limits[1]).any():
                raise Declined
            counts[np.isnan(means)] = 0.0
            said[row] = np.concatenate([counts, counts * np.nan_to_num(means), counts > 0])
        self.spread.tell(t, said)
