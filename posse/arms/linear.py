"""Arms with features: rewards are linear in what is seen of an arm before the pull."""

from collections.abc import Callable
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.arms.changing import ChangingMeans, MeansAt
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import MOST_ARMS

Contexts = Callable[[NDArray[np.int64]], FloatArray]
"""The features of all arms in slots: slots of shape (n,) give features of shape (n, K, d)."""

_BLOCK = 64
"""Slots whose contexts are drawn at once."""

_ROUNDING = 1e-9


class LinearArms(ChangingMeans, frozen=True, kw_only=True, tag_field="kind", tag="linear"):
    """Bernoulli arms of mean θ·x, where x are the features of an arm.

    `features`: one row per arm, the same in every slot. Or `count` arms of `dimensions` features,
    which each agent sees drawn anew in each slot: directions of R^d without negative entries, of
    length 1. `theta`: θ; drawn likewise if it is missing, once for all agents of a run.
    """

    features: Annotated[list[list[float]], Meta(description="a row of numbers per arm")] = (
        msgspec.field(default_factory=list)
    )
    count: Annotated[int, Meta(ge=0, le=MOST_ARMS, description="K, arms drawn anew")] = 0
    dimensions: Annotated[int, Meta(ge=0, le=100, description="d, features of an arm")] = 0
    theta: Annotated[list[float], Meta(description="θ, what a feature is worth")] = msgspec.field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        if bool(self.features) == bool(self.count or self.dimensions):
            raise ValueError("kind 'linear' needs either features, or count and dimensions")
        if len({len(row) for row in self.features}) > 1:
            raise ValueError("features must have rows of the same length")
        if self.arm_count() < 2 or self.feature_count() < 1:
            raise ValueError("kind 'linear' needs at least 2 arms and 1 feature")
        if self.theta and len(self.theta) != self.feature_count():
            raise ValueError(
                f"theta has {len(self.theta)} numbers for {self.feature_count()} features"
            )
        rows, theta = np.array(self.features), np.array(self.theta)
        lengths = [np.linalg.norm(table, axis=-1).max(initial=0) for table in (rows, theta)]
        if max(lengths) > 1 + _ROUNDING:
            raise ValueError("rows of features, and theta, must have a length of at most 1")
        if self.theta and (theta.min() < 0 if self.count else _outside(rows @ theta)):
            raise ValueError("theta·x must lie in [0, 1] for each arm")
        if not self.theta and self.features and rows.min() < 0:
            raise ValueError("features below 0 need a theta, because the drawn one is not below 0")

    def arm_count(self) -> int:
        """K."""
        return self.count or len(self.features)

    def feature_count(self) -> int:
        """D."""
        return self.dimensions or len(self.features[0])

    def contexts(self, instance: np.random.Generator, rank: int) -> Contexts:
        """What agent `rank` sees; `instance` is at the start of its stream."""
        seed = int(instance.integers(2**62))
        if self.features:
            rows = np.array(self.features)
            return lambda slots: np.broadcast_to(rows, (len(slots), *rows.shape))
        shape = (_BLOCK, self.count, self.dimensions)
        blocks: dict[int, FloatArray] = {}

        def contexts(slots: NDArray[np.int64]) -> FloatArray:
            for block in np.unique(slots // _BLOCK).tolist():
                if block not in blocks:
                    if len(blocks) > 1:
                        blocks.pop(min(blocks))
                    blocks[block] = _directions(np.random.default_rng([seed, rank, block]), shape)
                slots_of = slots[slots // _BLOCK == block]
                parts.append(blocks[block][slots_of % _BLOCK])
            joined: FloatArray = np.concatenate(parts)
            parts.clear()
            return joined

        parts: list[FloatArray] = []
        return contexts

    def means_at(self, instance: np.random.Generator, rank: int) -> MeansAt:
        contexts = self.contexts(instance, rank)
        drawn = _directions(instance, (self.feature_count(),))
        theta = np.array(self.theta) if self.theta else drawn
        return lambda slots: contexts(slots) @ theta


def _outside(means: FloatArray) -> bool:
    return bool(means.min() < -_ROUNDING or means.max() > 1 + _ROUNDING)


def _directions(generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Directions without negative entries, of length 1; the last axis has the entries."""
    drawn = np.abs(generator.standard_normal(shape))
    directions: FloatArray = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    return directions
