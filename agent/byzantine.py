"""The learner of byzantine-proof cooperation (Dubey and Pentland 2020, Algorithm 3)."""

import math
from dataclasses import dataclass, field

import numpy as np

from agent.cooperative import best
from agent.flooding import Faults, Records
from agent.trimmed import TrimmedMeans
from protocol.cooperative import Variant, reward_record
from protocol.machine import AgentEffect, FloatArray

LARGEST_REWARD = 1e12
"""Beyond it a reward is as good as infinite: sums would lose the honest ones."""


@dataclass(slots=True)
class SharedRewards:
    """`byzantine-ucb`: every agent sends each reward as it is, and trusts a trimmed mean.

    t <= K: A = t. Then argmax_k μ_R(S_k, δ) + σ sqrt(ε) + σ sqrt(log(1/δ) / N) with δ = 1/t²,
    N = |S_k|/2 and S_k every reward of arm k seen once, the agent's own ones among them.

    The print has sqrt(σ log(1/δ) / |S_k|), whose unit is not that of a reward; `corrected` as above
    (equal for σ = 1/2).
    """

    arms: int
    ties: np.random.Generator
    contamination: float
    sigma: float
    variant: Variant
    winsor: bool = False
    reward_range: tuple[float, float] | None = None
    pulls: FloatArray = field(init=False)
    samples: TrimmedMeans = field(init=False)
    message: Records = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms)
        self.samples = TrimmedMeans(self.arms, self.variant, self.winsor)
        self.message = np.zeros(1, dtype=reward_record())

    def choose(self, t: int) -> int:
        """See `Learner.choose`."""
        if t <= self.arms:
            return t - 1
        delta = 1 / t**2
        known = self.samples.counts
        if self.variant == "corrected":
            deviation = self.sigma * np.sqrt(2 * math.log(1 / delta) / known)
        else:
            deviation = np.sqrt(self.sigma * math.log(1 / delta) / known)
        robust = self.samples.estimate(self.contamination, delta)
        return best(robust + self.sigma * math.sqrt(self.contamination) + deviation, self.ties)

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """See `Learner.learn`."""
        self.pulls[arm] += 1
        self.samples.add(np.array([arm]), np.array([reward]))
        self.message["arm"] = arm
        self.message["reward"] = reward
        return []

    def says(self) -> Records:
        """See `Learner.says`."""
        return self.message

    def hear(self, records: Records) -> None:
        """See `Learner.hear`."""
        if len(records):
            self.samples.add(records["arm"].astype(np.int64), records["reward"])

    def faults(self, records: Records) -> Faults:
        """See `Learner.faults`."""
        reward = records["reward"]
        yield "no-such-arm", records["arm"] >= self.arms
        yield "not-finite", ~(np.abs(reward) <= LARGEST_REWARD)
        if self.reward_range is not None:
            low, high = self.reward_range
            yield "out-of-range", (reward < low) | (reward > high)
