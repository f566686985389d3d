"""The learner of byzantine-proof cooperation (Dubey and Pentland 2020, Algorithm 3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from posse.seam.machines import AgentEffect
from posse.seam.messages import FloatArray, IntArray, Variant
from posse_systems.dubey2020.agent import LARGEST_REWARD, argmax_rows
from posse_systems.dubey2020.arrivals import NewMessages, Records
from posse_systems.dubey2020.flooding import CooperativeLearner, Faults
from posse_systems.dubey2020.messages import reward_record
from posse_systems.dubey2020.trimmed import ManyTrimmedMeans


@dataclass(slots=True)
class SharedRewards(CooperativeLearner):
    """`byzantine-ucb`: agents send their raw rewards and decide by trimmed means.

    In slots t <= K, A_t = t. Then A_t = argmax_k μ_R(S_k, δ) + σ sqrt(ε) + σ sqrt(log(1/δ) / N)
    with δ = 1/t² and N = |S_k|/2. S_k has every known reward of arm k once, also the agent's own.

    The print has sqrt(σ log(1/δ) / |S_k|) for the last term, which does not have the unit of a
    reward. `corrected` is as above; both are equal for σ = 1/2.

    `own` has the agents' own rewards that `samples` lacks, as (row, arm, reward).
    """

    contamination: float
    sigma: float
    variant: Variant
    winsor: bool = False
    reward_range: tuple[float, float] | None = None
    rows: int = 1
    samples: ManyTrimmedMeans = field(init=False)
    own: list[tuple[int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pulls = np.zeros((self.rows, self.arms))
        self.samples = ManyTrimmedMeans(self.arms, self.variant, self.winsor, self.rows)
        self.message = np.zeros(self.rows, dtype=reward_record())

    def choose(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        self._keep_own()
        return CooperativeLearner.choose(self, slots, rows)

    def choose_by_index(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        delta = [1 / t**2 for t in slots]
        robust, counts = self.samples.estimate(self.contamination, delta, rows)
        index = optimistic(robust, counts, delta, self.sigma, self.contamination, self.variant)
        return argmax_rows(index, [self.ties[row] for row in rows])

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        self.pulls[row, arm] += 1
        self.own.append((row, arm, reward))
        self.message[row] = (0, 0, 0, arm, reward)
        return []

    def hear(self, new: NewMessages) -> None:
        self._keep_own()
        arms = new.records["arm"].astype(np.int64).take(new.index)
        self.samples.add(new.row, arms, new.records["reward"].take(new.index))

    def _keep_own(self) -> None:
        """Put the agents' own new rewards among the samples."""
        if self.own:
            row, arm, reward = zip(*sorted(self.own, key=itemgetter(0)), strict=True)
            self.own.clear()
            self.samples.add(np.array(row), np.array(arm), np.array(reward))

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
