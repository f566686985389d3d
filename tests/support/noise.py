"""Noise that a test can tell in advance, and how much of it there is."""

import math

import numpy as np
import pytest

from posse.agent.hybrid import HybridSums
from posse.agent.tree import TreeSums
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.noise import Noise
from posse.security.noise import is_here
from posse_systems.tossou2015.agent import ContinualCounter


def needs_noise() -> None:
    """Skip a test, or its module, where no library of the field's noise is installed."""
    if not is_here():
        pytest.skip("no noise of the field is installed (extra: field)", allow_module_level=True)


class NoNoise(Noise):
    """Everything stays as it is, and no coin comes up."""

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return values

    def laplace(self, scale: float, size: int) -> FloatArray:
        return np.zeros(size)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        return values

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        return values

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [False] * size


class KnownNoise(NoNoise):
    """Adds `value` to each number.

    `asked` has all values, sensitivities and scales, `deviations` those of Gaussian noise.
    """

    def __init__(self, value: float = 0) -> None:
        self.value = value
        self.asked: list[tuple[FloatArray, float, float]] = []
        self.deviations: list[float] = []

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        self.asked.append((values.copy(), sensitivity, scale))
        return values + self.value

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        self.deviations.append(deviation)
        return values + int(self.value)


def deviation(counter: ContinualCounter) -> float:
    """Of the noise in the latest release: a Laplace number of scale b has the variance 2 b²."""
    if isinstance(counter, TreeSums):
        return counter.deviation
    assert isinstance(counter, HybridSums)
    doublings, nodes = counter.T0.bit_length(), (counter.t - counter.T0).bit_count()
    squares = doublings * counter.log_scale**2
    if nodes:
        squares += nodes * counter.node_scale**2
    return math.sqrt(2 * squares)
