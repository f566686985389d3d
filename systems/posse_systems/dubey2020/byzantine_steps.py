"""All agents of a series of `byzantine-ucb` at once, equal to their machines."""

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import Declined, ManyRuns, Queues, Sent
from posse.seam.system import Purpose
from posse_systems.dubey2020.agent import LARGEST_REWARD
from posse_systems.dubey2020.byzantine import optimistic
from posse_systems.dubey2020.corruption import Corruption, fixed_lie
from posse_systems.dubey2020.messages import DuplicatesRow, HopsRow, reward_record
from posse_systems.dubey2020.spread import Spread
from posse_systems.dubey2020.spread_costs import SpreadCosts
from posse_systems.dubey2020.steps import LoneSteps
from posse_systems.dubey2020.trimmed import ManyTrimmedMeans


class ByzantineSteps(LoneSteps):
    """`SharedRewards` of every row, some of which lie of their own rewards or of those of others.

    `sent_arms`, shape (γ, rows), has the messages of the last γ slots, and `heard` the rewards of
    the slot's `Spread.arrivals` as they came. Rewards that a machine would refuse are declined.
    """

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        p = self.parameters = series.parameters
        known = [knowledge for network in series.networks for knowledge in network.knowledge]
        self.assumed = known[0]["assumed"]
        self.liars = np.array([row for row, k in enumerate(known) if k.get("contamination")], int)
        streams = [series.generator(row, Purpose.CORRUPTION) for row in self.liars.tolist()]
        self.lies = Queues(len(streams), lambda liar, n: streams[liar].random(n))
        self.relays = len(streams) > 0 and p.contamination.form == "relay"
        self.corrupt = [Corruption(p.contamination, stream) for stream in streams]
        low, high = known[0].get("reward_range") or (-LARGEST_REWARD, LARGEST_REWARD)
        self.limits = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
        self.samples = ManyTrimmedMeans(series.arms, series.variant, p.winsor, series.rows)
        self.spread = Spread(series)
        self.costs = SpreadCosts(self.spread, reward_record().itemsize)
        self.sent_arms = np.zeros((self.spread.cycle, series.rows), dtype=np.int64)
        row, _, hops, _ = self.spread.arrivals
        self.heard = np.zeros(len(row))
        on = np.flatnonzero(hops < np.repeat(self.spread.gamma, series.agents)[row])
        ends = row[on].searchsorted([self.liars, self.liars + 1])
        parts = [on[first:last] for first, last in ends.T.tolist() if self.relays]
        # what each liar passes on of these, and over how many hops it came
        self.passed_on = [(places, hops[places]) for places in parts]

    def index(self, t: int) -> FloatArray:
        p, delta = self.parameters, [1 / t**2] * self.series.rows
        robust, counts = self.samples.estimate(self.assumed, delta, range(self.series.rows))
        return optimistic(robust, counts, delta, p.sigma, self.assumed, self.series.variant)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        super().learn(t, arms, rewards)
        self.samples.add(np.arange(len(arms)), arms, rewards)
        self.sent_arms[t % self.spread.cycle] = arms
        row, origin, hops, by = self.spread.arrivals
        self.pass_on(t)
        self.heard = np.where(hops == 1, self.said(rewards)[origin], self.heard[by])
        if t < self.slots and len(row):
            new = hops <= t if t < self.spread.cycle else slice(None)
            row, origin, hops, said = row[new], origin[new], hops[new], self.heard[new]
            if not self.limits[0] <= said.min() <= said.max() <= self.limits[1]:
                raise Declined
            self.samples.add(row, self.sent_arms[(t - hops + 1) % self.spread.cycle, origin], said)

    def pass_on(self, t: int) -> None:
        """Liars change what they pass on of what they heard in the last slot (section 4)."""
        for liar, (places, hops) in zip(self.corrupt, self.passed_on, strict=False):
            there = places[hops < t]
            struck = there[liar.generator.random(len(there)) < liar.does.rate]
            if len(struck):
                self.heard[struck] = liar.draw(self.heard[struck])

    def said(self, rewards: FloatArray) -> FloatArray:
        """What each row sends as its reward (section 4, at the source)."""
        if self.relays:
            return rewards
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
        return self.costs.sent(row)

    def notes(self, row: int) -> list[DuplicatesRow | HopsRow]:
        return self.costs.notes(row)
