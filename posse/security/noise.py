"""The field's noise: Google's differential privacy library, by `python-dp`.

Its Laplace mechanism rounds the value to a power of two far below the scale, draws from a discrete
law on that grid with the operating system's cryptographic randomness, and accounts for the rounding
in the scale. So every output lies on one grid, whatever the input was. Adding a draw of numpy's to
a number does not have this property: which outputs are possible then depends on the number.
"""

import secrets

import numpy as np

from posse.errors import PosseError
from protocol.errors import LocalProtocolError
from protocol.machine import FloatArray


class FieldNoise:
    """Noise for real rewards: not repeatable, not predictable."""

    def __init__(self) -> None:
        try:
            from pydp.algorithms.numerical_mechanisms import LaplaceMechanism  # noqa: PLC0415
        except ImportError:
            raise PosseError(
                'mode = "field" needs a vetted source of noise; run: pip install "posse[field]"'
            ) from None
        self._mechanism = LaplaceMechanism
        self._uniform = secrets.SystemRandom().random

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        """See `agent.noise.Noise.noisy`."""
        mechanism = self._mechanism(sensitivity / scale, sensitivity)
        return np.array([mechanism.add_noise(float(value)) for value in values])

    def laplace(self, scale: float, size: int) -> FloatArray:
        """Refused: a bare draw that is added to a number later gives the number away."""
        raise LocalProtocolError("in the field noise is added by `noisy`, never drawn by itself")

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        """See `agent.noise.Noise.bernoulli`."""
        return [self._uniform() < probability for _ in range(size)]
