"""The learner of byzantine-proof cooperation (Dubey and Pentland 2020, Algorithm 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.cooperative import best
from agent.flooding import Faults
from agent.trimmed import TrimmedMeans
from agent.ways import Mask, News, Records
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
    ties: list[np.random.Generator]
    contamination: float
    sigma: float
    variant: Variant
    winsor: bool = False
    reward_range: tuple[float, float] | None = None
    rows: int = 1
    pulls: FloatArray = field(init=False)
    samples: list[TrimmedMeans] = field(init=False)
    message: Records = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros((self.rows, self.arms))
        self.samples = [
            TrimmedMeans(self.arms, self.variant, self.winsor) for _ in range(self.rows)
        ]
        self.message = np.zeros(self.rows, dtype=reward_record())

    def choose(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        """See `Learner.choose`."""
        return [
            t - 1 if t <= self.arms else self.by_index(t, row)
            for t, row in zip(slots, rows, strict=True)
        ]

    def by_index(self, t: int, row: int) -> int:
        """The arm of a slot t > K."""
        delta = 1 / t**2
        samples = self.samples[row]
        known = samples.counts
        if self.variant == "corrected":
            deviation = self.sigma * np.sqrt(2 * math.log(1 / delta) / known)
        else:
            deviation = np.sqrt(self.sigma * math.log(1 / delta) / known)
        robust = samples.estimate(self.contamination, delta)
        index = robust + self.sigma * math.sqrt(self.contamination) + deviation
        return best(index[None], [self.ties[row]])[0]

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        """See `Learner.learn`."""
        self.pulls[row, arm] += 1
        self.samples[row].add(np.array([arm]), np.array([reward]))
        self.message[row] = (0, 0, 0, arm, reward)
        return []

    def says(self, row: int = 0) -> Records:
        """See `Learner.says`."""
        return self.message[row : row + 1]

    def hear(self, news: News) -> None:
        """See `Learner.hear`."""
        arms = news.records["arm"].astype(np.int64).take(news.pick)
        rewards = news.records["reward"].take(news.pick)
        ends = np.searchsorted(news.row, range(self.rows + 1)).tolist()
        for samples, start, end in zip(self.samples, ends, ends[1:], strict=False):
            if start < end:
                samples.add(arms[start:end], rewards[start:end])

    def faults(self, records: Records) -> Faults:
        """See `agent.flooding.Contents`."""
        reward = records["reward"]
        yield "no-such-arm", records["arm"] >= self.arms
        yield "not-finite", ~(np.abs(reward) <= LARGEST_REWARD)
        if self.reward_range is not None:
            low, high = self.reward_range
            yield "out-of-range", (reward < low) | (reward > high)

    def contradictions(self, news: News) -> Mask | None:
        """See `agent.flooding.Contents`: a reward says nothing of another."""
        return None
