"""DP-KLUCB and DP-IMED: agents alone whose pulls tell little of any one reward.

Azize, Wu, Honda, Orabona, Ito and Basu, "Optimal regret of Bernoulli bandits under global
differential privacy" (arXiv 2505.05613). Of the paper itself only the beginning could be read; both
indices, and that batches grow by a ratio and sums are kept, are from a public summary of it. How it
rounds batches is not said there: here the first is one pull, and n grows to max(n + 1, ⌈g n⌉).
That each reward is in one noisy sum, and so ε holds, needs no paper.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import numpy as np
from msgspec import Meta

from posse.extend import (
    AgentContext,
    AgentEffects,
    AgentEvent,
    Alone,
    Claim,
    ClaimContext,
    Disclose,
    Finish,
    FloatArray,
    Neighbours,
    Noise,
    OneReward,
    Parameters,
    Pull,
    Pulled,
    Release,
    RemoteProtocolError,
    Started,
    System,
    UnitInterval,
)


class BatchedParameters(Parameters, frozen=True, kw_only=True):
    """Every agent by itself, in batches that grow."""

    horizon: Annotated[int, Meta(ge=1, description="T, slots")]
    epsilon: Annotated[float, Meta(gt=0, le=1e9, description="ε of a reward")]
    growth: Annotated[
        float, Meta(gt=1, le=10, description="g, by which an arm's pulls grow from batch to batch")
    ] = 2.0


def private_divergence(x: FloatArray, y: FloatArray, epsilon: float) -> FloatArray:
    """d_ε(x, y) = inf over z from x to y of ε |z - x| + kl(z, y), for x and y in [0, 1].

    kl(z, y) has the slope ±ε at z = y e^±ε / (1 - y + y e^±ε): the infimum is there, or at x.
    """
    x, y = np.clip(x, 1e-12, 1 - 1e-12), np.clip(y, 1e-12, 1 - 1e-12)
    logit = np.log(y / (1 - y)) + np.where(x < y, -epsilon, epsilon)
    turn = 1 / (1 + np.exp(-logit))
    z = np.where(x < y, np.maximum(x, turn), np.minimum(x, turn))
    d: FloatArray = (
        epsilon * np.abs(z - x) + z * np.log(z / y) + (1 - z) * np.log((1 - z) / (1 - y))
    )
    return d


IndexOf = Callable[[FloatArray, FloatArray, int, float], FloatArray]
"""An arm's index, by means in [0, 1], pulls n, the slot t and ε; the largest is pulled."""


def dp_klucb(means: FloatArray, pulls: FloatArray, t: int, epsilon: float) -> FloatArray:
    """The largest μ with n d_ε(μ̃, μ) <= log t."""
    low, high = means, np.ones_like(means)
    for _ in range(40):
        middle = (low + high) / 2
        fits = pulls * private_divergence(means, middle, epsilon) <= math.log(t)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def dp_imed(means: FloatArray, pulls: FloatArray, t: int, epsilon: float) -> FloatArray:
    """-(n d_ε(μ̃, max μ̃) + log n)."""
    best = np.full_like(means, means.max())
    return -(pulls * private_divergence(means, best, epsilon) + np.log(pulls))


@dataclass
class BatchedAgent:
    """Pulls each arm once, then the arm of the largest index until its next batch is whole.

    Each batch's sum is released once, with Lap(1/ε), and added to those before it.
    """

    arms: int
    parameters: BatchedParameters
    index: IndexOf
    noise: Noise
    ties: np.random.Generator
    t: int = 0
    pulls: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.pulls, self.sums = np.zeros((2, self.arms))

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event, and return the effects to carry out."""
        match event:
            case Started():
                return [self._next()]
            case Pulled((arm,), times, sums):
                return self._learn(arm, times, float(sums[0]))
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _next(self) -> Pull:
        if self.t < self.arms:
            return Pull((self.t,), 1)
        means = np.clip(self.sums / self.pulls, 0, 1)
        index = self.index(means, self.pulls, self.t + 1, self.parameters.epsilon)
        arm = int(self.ties.choice(np.flatnonzero(index == index.max())))
        return Pull((arm,), min(self._batch(arm), self.parameters.horizon - self.t))

    def _batch(self, arm: int) -> int:
        n = int(self.pulls[arm])
        return max(1, math.ceil(self.parameters.growth * n) - n)

    def _learn(self, arm: int, times: int, total: float) -> AgentEffects:
        whole, epsilon = times == self._batch(arm), self.parameters.epsilon
        self.t += times
        self.pulls[arm] += times
        if not whole:  # the horizon cuts it, so it decides nothing and is not released
            return [Finish("horizon", int(self.pulls.argmax()))]
        self.sums[arm] += self.noise.noisy(np.array([total]), 1.0, 1 / epsilon)[0]
        block = f"arm {arm}, up to reward {int(self.pulls[arm])}"
        release = Disclose(Release("laplace", 1.0, 1 / epsilon, epsilon, block))
        if self.t == self.parameters.horizon:
            return [release, Finish("horizon", int(self.pulls.argmax()))]
        return [release, self._next()]


def _make(context: AgentContext, index: IndexOf) -> BatchedAgent:
    return BatchedAgent(
        arms=context.arms,
        parameters=context.parameters,
        index=index,
        noise=context.noise,
        ties=context.ties,
    )


def _claim(context: ClaimContext) -> Claim:
    return Claim(
        change=OneReward(),
        mechanism="laplace",
        epsilon=context.parameters.epsilon,
        adversary="whoever sees the agent's pulls and its answer",
        sees="pulls",
        note="Nothing is sent before the end.",
        proof="Each reward is in the sum of one batch, which is released once with Lap(1/ε); what "
        "is pulled follows from released sums.",
        worst=(Neighbours(levels=(1.0, 0.0)),),
    )


def _system(name: str, index: IndexOf) -> System:
    return System(
        name=name,
        title=f"{name}, every agent alone, each reward in one noisy sum",
        paper="Azize et al. 2025",
        parameters=BatchedParameters,
        shape=Alone(partial(_make, index=index)),
        one_form=True,
        claim=_claim,
        clocks=("slots",),
        unit_interval=UnitInterval(),
    )


DP_KLUCB = _system("DP-KLUCB", dp_klucb)
DP_IMED = _system("DP-IMED", dp_imed)
