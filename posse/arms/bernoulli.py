"""Bernoulli arms: reward 1 with probability μ_k, else 0."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posse.arms.base import Arms, ArmsContext, LabMeans
from posse.protocol.arrays import FloatArray

_FEW = 16
"""Up to this many sums are drawn one by one, which gives the same ones in less time."""


class BernoulliArms(LabMeans, frozen=True, kw_only=True, tag_field="kind", tag="bernoulli"):
    """`means`: numbers in [0, 1], or one list of them per agent, or { random = … }."""

    unit_interval = True

    def build(self, context: ArmsContext) -> "Bernoulli":
        """The arms of one agent."""
        return self.with_means(self.own(context), context.rewards)

    def with_means(self, means: FloatArray, rewards: np.random.Generator) -> "Bernoulli":
        """Arms of these means, shape (K,), whose rewards this generator draws."""
        return Bernoulli(means, rewards)


@dataclass(frozen=True, eq=False)
class Bernoulli(Arms):
    """One agent's Bernoulli arms."""

    binary: ClassVar[bool] = True
    """Every reward is 0 or 1, so that a buffer keeps it in a byte."""
    means: FloatArray
    generator: np.random.Generator

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards: FloatArray = (self.generator.random(count) < self.means[arm]).astype(float)
        return rewards

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Draw each sum from its binomial law."""
        if len(arms) > _FEW:
            return self.generator.binomial(times, self.means[list(arms)]).astype(float)
        draw, means = self.generator.binomial, self.means
        return np.array([draw(times, means[k]) for k in arms], dtype=float)
