"""The interface by which machines draw noise, and the lab's implementation.

The lab uses `SeededNoise`, so that runs repeat. It must not be used in the field: its seed is
known, and its low bits give the input away (Mironov 2012).
"""

import math
from typing import Protocol

import numpy as np

from posse.protocol.arrays import FloatArray, IntArray


class Noise(Protocol):
    """A source of the random numbers that protect an agent."""

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        """Each value with Laplace noise of this scale (variance 2 scale²), of the same shape.

        One reward moves a value by at most `sensitivity`, so ε = sensitivity / scale. The source
        takes values, rather than returning noise alone, because a source that is safe in floating
        point must round a value before it adds noise.
        """
        ...

    def laplace(self, scale: float, size: int) -> FloatArray:
        """`size` Laplace draws to be added later; lab only, since that is unsafe (see `noisy`)."""
        ...

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        """Each integer with discrete Gaussian noise, N_Z(0, deviation²)."""
        ...

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        """Each integer with one of `shares` parts of discrete Laplace noise of this scale.

        A part is the difference of two Pólya numbers of shape 1/shares; the sum of all parts is x
        with probability ~ e^(-|x| / scale).
        """
        ...

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        """`size` independent draws that are true with this probability."""
        ...


class SeededNoise(Noise):
    """Noise from a numpy generator: repeatable, for the lab."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return values + self.laplace(scale, len(values))

    def laplace(self, scale: float, size: int) -> FloatArray:
        return self._generator.laplace(0.0, scale, size)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        """Each integer with discrete Gaussian noise, drawn by rejection.

        Canonne, Kamath and Steinke 2020, Algorithm 3, in floating point: a discrete Laplace number
        Y of scale t = ⌊σ⌋ + 1 is kept with probability e^(-(|Y| - σ²/t)² / (2 σ²)).
        """
        variance, scale = deviation**2, math.floor(deviation) + 1
        stay = -math.expm1(-1 / scale)
        noise = np.zeros(0, dtype=np.int64)
        while len(noise) < len(values):
            size = 2 * (len(values) - len(noise)) + 8
            # the difference of two geometric numbers is a discrete Laplace number
            y = self._generator.geometric(stay, size) - self._generator.geometric(stay, size)
            keep = np.exp(-((np.abs(y) - variance / scale) ** 2) / (2 * variance))
            noise = np.concatenate([noise, y[self._generator.random(size) < keep]])
        return values + noise[: len(values)]

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        stop = -math.expm1(-1 / scale)
        draws: IntArray = self._generator.negative_binomial(1 / shares, stop, (2, len(values)))
        noisy: IntArray = values + draws[0] - draws[1]
        return noisy

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [bool(u < probability) for u in self._generator.random(size)]
