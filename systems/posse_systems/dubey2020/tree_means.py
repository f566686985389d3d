"""Private cooperation with a binary tree for each agent (Dubey and Pentland 2020, section 3.2).

The paper sets its intervals against trees, which "would create an overhead of a factor of M in the
regret", and has no algorithm for them. This one is ours.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from posse.seam.machines import AgentEffect, Disclose
from posse.seam.messages import FloatArray
from posse.seam.noise import HybridSums
from posse_systems.dubey2020.agent import PrivateMeans
from posse_systems.dubey2020.messages import confidence_bonus


@dataclass(slots=True, kw_only=True)
class TreeMeans(PrivateMeans):
    """`private-ucb` with `releases = "trees"`: after each pull the arm's noisy sum is sent.

    Each agent has a hybrid mechanism for each arm, all of whose releases cost ε. A sum of n rewards
    has noise of about the deviation 2 log2(n)^1.5 / ε. The index adds it for every agent's sum.
    """

    counter: Callable[..., HybridSums] = HybridSums
    counters: dict[int, HybridSums] = field(default_factory=dict)

    def bonus(self, log: float, N: FloatArray) -> FloatArray:
        # deviations are added, though trees err independently: so the index errs upwards alone
        n = np.concatenate([self.released_counts[None], self.counts])
        deviations = np.where(n > 0, 2 * np.log2(np.maximum(n, 2)) ** 1.5, 0) / self.epsilon
        private: FloatArray = deviations.sum(axis=0) / N
        return confidence_bonus(log, N) + private

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        if arm not in self.counters:
            self.counters[arm] = self.counter(1, self.epsilon, "half", self.noise)
        counter = self.counters[arm]
        total, n = counter.insert(0, reward).item(), counter.t
        self.pulls[arm] = self.released_counts[arm] = self.sent_counts[arm] = n
        # a tree's sum is of all rewards so far, and replaces the one before
        self.released_sums[arm], self.sent_means[arm] = total, total / n
        return [
            Disclose(msgspec.structs.replace(release, block=f"arm {arm}, {release.block}"))
            for release in counter.new_releases()
        ]
