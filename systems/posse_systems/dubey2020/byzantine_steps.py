"""All agents of a series of `byzantine-ucb` at once, equal to their machines."""

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import Declined, ManyRuns, Queues, Sent
from posse.seam.system import Purpose
from posse_systems.dubey2020.agent import LARGEST_REWARD
from posse_systems.dubey2020.byzantine import optimistic
from posse_systems.dubey2020.corruption import fixed_lie
from posse_systems.dubey2020.messages import DuplicatesRow, HopsRow, reward_record
from posse_systems.dubey2020.spread import Spread
from posse_systems.dubey2020.steps import LoneSteps
from posse_systems.dubey2020.trimmed import ManyTrimmedMeans


class ByzantineSteps(LoneSteps):
    """`SharedRewards` of every row, some of which lie of their own rewards.

    `sent_arms` and `sent_rewards`, shape (γ, rows), have the messages of the last γ slots. Lies
    about what others sent, and rewards that a machine would refuse, are declined.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        p = self.parameters = series.parameters
        told = [knowledge for network in series.networks for knowledge in network.knowledge]
        self.assumed = told[0]["assumed"]
        self.liars = np.array([row for row, k in enumerate(told) if k.get("contamination")], int)
        if len(self.liars) and p.contamination.form == "relay":
            raise Declined
        streams = [series.generator(row, Purpose.CORRUPTION) for row in self.liars.tolist()]
        self.lies = Queues(len(streams), lambda liar, n: streams[liar].random(n))
        low, high = told[0].get("reward_range") or (-LARGEST_REWARD, LARGEST_REWARD)
        self.limits = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
        self.samples = ManyTrimmedMeans(series.arms, series.variant, p.winsor, series.rows)
        self.spread = Spread(series, reward_record().itemsize)
        shape = self.spread.cycle, series.rows
        self.sent_arms, self.sent_rewards = np.zeros(shape, dtype=np.int64), np.zeros(shape)

    def index(self, t: int) -> FloatArray:
        p, delta = self.parameters, [1 / t**2] * self.series.rows
        robust, counts = self.samples.estimate(self.assumed, delta, range(self.series.rows))
        return optimistic(robust, counts, delta, p.sigma, self.assumed, self.series.variant)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        super().learn(t, arms, rewards)
        self.samples.add(np.arange(len(arms)), arms, rewards)
        place = t % self.spread.cycle
        self.sent_arms[place], self.sent_rewards[place] = arms, self.said(rewards)
        row, origin, hops = self.spread.arrivals
        if t < self.spread.cycle:
            row, origin, hops = row[hops <= t], origin[hops <= t], hops[hops <= t]
        if t < self.slots and len(row):
            created = (t - hops + 1) % self.spread.cycle
            said = self.sent_rewards[created, origin]
            if not self.limits[0] <= said.min() <= said.max() <= self.limits[1]:
                raise Declined
            self.samples.add(row, self.sent_arms[created, origin], said)

    def said(self, rewards: FloatArray) -> FloatArray:
        """What each row sends as its reward (section 4, at the source)."""
        does = self.parameters.contamination
        said, liars = rewards.copy(), np.arange(len(self.liars))
        struck = liars[self.lies.take(liars) < does.rate]
        rows = self.liars[struck]
        if does.law == "uniform":
            said[rows] = self.lies.take(struck)
        elif len(rows):
            said[rows] = fixed_lie(does, rewards[rows])
        return said

    def sent(self, row: int) -> list[Sent]:
        return self.spread.sent(row)

    def notes(self, row: int) -> list[DuplicatesRow | HopsRow]:
        return self.spread.notes(row)
