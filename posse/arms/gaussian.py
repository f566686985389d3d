"""Gaussian arms: rewards drawn from N(μ_k, sd²)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from posse.arms.base import Arms, ArmsContext, Clip, LabMeans, check_clip, rescale
from posse.protocol.arrays import FloatArray


class GaussianArms(LabMeans, frozen=True, kw_only=True, tag_field="kind", tag="gaussian"):
    """`means`: any numbers. `sd`: standard deviation (0.5: the radii assume 1/2-subgaussian).

    `clip = [lo, hi]` clips every reward and maps [lo, hi] onto [0, 1]. Differentially private
    systems require it, because no noise covers a reward without a bound.
    """

    sd: Annotated[float, Meta(gt=0, description="standard deviation")] = 0.5
    clip: Clip = None
    bounds = (-np.inf, np.inf)
    """Means are any numbers."""

    def __post_init__(self) -> None:
        LabMeans.__post_init__(self)
        check_clip(self.clip)

    @property
    def unit_interval(self) -> bool:
        """Whether every reward lies in [0, 1]."""
        return self.clip is not None

    @property
    def scale(self) -> tuple[float, float]:
        """`clip`, because means are given for rewards before clipping."""
        return self.clip or (0.0, 1.0)

    def build(self, context: ArmsContext) -> "Gaussian":
        """The arms of one agent."""
        return self.with_means(self.own(context), context.rewards)

    def with_means(self, means: FloatArray, rewards: np.random.Generator) -> "Gaussian":
        """Arms of these means, shape (K,), whose rewards this generator draws."""
        return Gaussian(means, self.sd, self.clip, rewards)


@dataclass(frozen=True, eq=False)
class Gaussian(Arms):
    """One agent's Gaussian arms."""

    means: FloatArray
    sd: float
    clip: tuple[float, float] | None
    generator: np.random.Generator

    def draw(self, arm: int, count: int) -> FloatArray:
        return rescale(self.generator.normal(self.means[arm], self.sd, count), self.clip)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """One draw per arm; with `clip`, one draw per reward, because each must be clipped."""
        if self.clip is not None:
            return super().totals(arms, times)
        means = times * self.means[list(arms)]
        return self.generator.normal(means, self.sd * np.sqrt(times))
