"""Noise that a test can tell in advance."""

import numpy as np

from agent.noise import Integers, Noise
from protocol.machine import FloatArray


class NoNoise(Noise):
    """Everything stays as it is, and no coin comes up."""

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return values

    def laplace(self, scale: float, size: int) -> FloatArray:
        return np.zeros(size)

    def discrete_gaussian(self, values: Integers, deviation: float) -> Integers:
        return values

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [False] * size
