"""Where an agent's noise comes from.

The machines only know this interface. The lab gives them `SeededNoise`, whose runs repeat. Its
seed is known and its low bits give the input away (Mironov 2012), so that it is wrong in the field.
"""

from typing import Protocol

import numpy as np

from protocol.machine import FloatArray


class Noise(Protocol):
    """A source of the random numbers that protect an agent."""

    def noisy(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        """Each value with Laplace noise of scale sensitivity / epsilon.

        The value goes in and the noisy one comes out, because a source that is safe in floating
        point must round the value before it adds.
        """
        ...

    def laplace(self, scale: float, size: int) -> FloatArray:
        """`size` draws of the Laplace law with this scale (variance 2 scale²)."""
        ...

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        """`size` independent draws that are true with this probability."""
        ...


class SeededNoise:
    """Noise from a numpy generator: repeatable, for the lab."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def noisy(self, values: FloatArray, sensitivity: float, epsilon: float) -> FloatArray:
        """See `Noise.noisy`."""
        return values + self.laplace(sensitivity / epsilon, len(values))

    def laplace(self, scale: float, size: int) -> FloatArray:
        """See `Noise.laplace`."""
        return self._generator.laplace(0.0, scale, size)

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        """See `Noise.bernoulli`."""
        return [bool(u < probability) for u in self._generator.random(size)]
