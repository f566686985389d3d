"""The learner of byzantine-proof cooperation (Dubey and Pentland 2020, Algorithm 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import AgentEffect
from posse.seam.messages import FloatArray, IntArray, Variant
from posse_systems.dubey2020.agent import LARGEST_REWARD
from posse_systems.dubey2020.flooding import CooperativeLearner, Faults
from posse_systems.dubey2020.messages import Records, reward_record
from posse_systems.dubey2020.trimmed import TrimmedMeans


@dataclass(slots=True)
class SharedRewards(CooperativeLearner):
    """`byzantine-ucb`: agents send their raw rewards and decide by trimmed means.

    In slots t <= K, A_t = t. Then A_t = argmax_k μ_R(S_k, δ) + σ sqrt(ε) + σ sqrt(log(1/δ) / N)
    with δ = 1/t² and N = |S_k|/2. S_k has every known reward of arm k once, also the agent's own.

    The print has sqrt(σ log(1/δ) / |S_k|) for the last term, which does not have the unit of a
    reward. `corrected` is as above; both are equal for σ = 1/2.
    """

    contamination: float
    sigma: float
    variant: Variant
    winsor: bool = False
    reward_range: tuple[float, float] | None = None
    samples: TrimmedMeans = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms)
        self.samples = TrimmedMeans(self.arms, self.variant, self.winsor)
        self.message = np.zeros(1, dtype=reward_record())

    def index(self, t: int) -> FloatArray:
        delta, samples = [1 / t**2], self.samples
        robust = samples.estimate(self.contamination, delta)
        index: FloatArray = optimistic(
            robust, samples.counts, delta, self.sigma, self.contamination, self.variant
        )[0]
        return index

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        self.pulls[arm] += 1
        self.samples.add(np.array([arm]), np.array([reward]))
        self.message[0] = (0, 0, 0, arm, reward)
        return []

    def hear(self, records: Records) -> None:
        self.samples.add(records["arm"].astype(np.int64), records["reward"].copy())

    def find_faults(self, records: Records) -> Faults:
        reward = records["reward"]
        yield "no-such-arm", records["arm"] >= self.arms
        yield "not-finite", ~(np.abs(reward) <= LARGEST_REWARD)
        if self.reward_range is not None:
            low, high = self.reward_range
            yield "out-of-range", (reward < low) | (reward > high)


def optimistic(
    robust: FloatArray,
    counts: IntArray,
    delta: Sequence[float],
    sigma: float,
    contamination: float,
    variant: Variant,
) -> FloatArray:
    """The index of every arm, from μ_R and |S_k|, shape (rows, K); a δ for each row, or for all."""
    log = np.array([[math.log(1 / d)] for d in delta])
    if variant == "corrected":
        deviation = sigma * np.sqrt(2 * log / counts)
    else:
        deviation = np.sqrt(sigma * log / counts)
    return robust + sigma * math.sqrt(contamination) + deviation
