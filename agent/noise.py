"""Where an agent's noise comes from.

The machines only know this interface. The lab gives them `SeededNoise`, whose runs repeat; its
low bits give the input away, so that it is wrong in the field.
"""

from typing import Protocol

import numpy as np

from protocol.machine import FloatArray


class Noise(Protocol):
    """A source of the random numbers that protect an agent."""

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

    def laplace(self, scale: float, size: int) -> FloatArray:
        """See `Noise.laplace`."""
        return self._generator.laplace(0.0, scale, size)

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        """See `Noise.bernoulli`."""
        return [bool(u < probability) for u in self._generator.random(size)]
