"""Best-arm machines for tests."""

import math
from typing import Any

from tests.support.noise import NoNoise


class Told(NoNoise):
    """Votes are withheld as told."""

    def __init__(self, kept: list[bool] | None = None) -> None:
        self.kept = kept or []

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [self.kept.pop(0) for _ in range(size)]


def of(kind: type, effects: Any) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


def slow_elimination(rewards: Any, failure: float) -> tuple[int, list[int]]:
    """Successive elimination one reward at a time: when it first eliminates, and whom."""
    arms, width = rewards.shape
    for t in range(1, width + 1):
        means = [sum(rewards[k, :t]) / t for k in range(arms)]
        radius = math.sqrt(math.log(arms * t * t / failure) / t)
        losers = [k for k in range(arms) if max(means) - means[k] >= 2 * radius]
        if losers:
            return t, losers
    return width + 1, []
