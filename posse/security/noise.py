"""The field's noise: from OpenDP, or from Google's library, `python-dp`, where that is installed.

OpenDP adds exact Laplace noise, as a fraction of whole numbers, and then takes the nearest float:
its law is that of the paper, and what is said depends on the value by it alone.

Google's Laplace mechanism rounds the value to a grid whose step is a power of two far below the
scale. It draws from a discrete law on that grid, with the operating system's cryptographic
randomness, and accounts for the rounding in the scale. So every output lies on one grid, whatever
the input was. With a draw of numpy's the possible outputs depend on the number it is added to.

OpenDP adds discrete Gaussian noise to the whole numbers of masked sums. Its sampler is exact
(Canonne, Kamath and Steinke 2020) and also draws from the operating system, as does that of shares
of discrete Laplace noise (posse/security/polya.py).
"""

import importlib.util
import os
import secrets
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from posse.errors import PosseError
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.errors import LocalProtocolError
from posse.protocol.noise import Noise
from posse.security.polya import draw_share

AddNoise = Callable[[FloatArray, float, float], FloatArray]
"""Adds Laplace noise to values: the values, their sensitivity, and the noise's scale b."""

NEEDED = '"field" needs a vetted source of noise; run: pip install "posse-bandits[field]"'


class _Draws:
    """Whether this process, or the one that it was forked from, drew from Google's library.

    Its generator fills a buffer at the first draw, which a fork copies: all children would then
    draw the same numbers, and the difference of two releases would be free of noise.
    """

    begun = False
    inherited = False


def _forked() -> None:
    _Draws.inherited = _Draws.begun


os.register_at_fork(after_in_child=_forked)


def is_here() -> bool:
    """Whether a vetted source of noise is installed."""
    return bool(names())


def require() -> None:
    """`PosseError` if there is no vetted source of noise."""
    if not is_here():
        raise PosseError(f"mode = {NEEDED}")


def names() -> str:
    """The libraries of the field's noise that are installed, with their versions."""
    return " and ".join(
        f"{name} {version(name)}"
        for name, module in (("python-dp", "pydp"), ("opendp", "opendp"))
        if importlib.util.find_spec(module)
    )


def _google() -> AddNoise | None:
    """Google's Laplace mechanism; None where `python-dp` is not installed."""
    try:
        from pydp.algorithms.numerical_mechanisms import LaplaceMechanism  # noqa: PLC0415
    except ImportError:
        return None

    def add(values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        if _Draws.inherited:
            raise PosseError(
                "this process was forked from one that drew noise, so both would draw the same; "
                "start each agent of the field in a process of its own, before any noise is drawn"
            )
        _Draws.begun = True
        mechanism = LaplaceMechanism(sensitivity / scale, sensitivity)
        return np.array([mechanism.add_noise(float(value)) for value in values])

    return add


def _opendp() -> AddNoise | None:
    """OpenDP's Laplace mechanism; None where it is not installed."""
    try:
        import opendp.prelude as dp  # noqa: PLC0415
    except ImportError:
        return None
    dp.enable_features("contrib")

    @lru_cache(maxsize=64)
    def mechanism(scale: float) -> Any:
        domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
        return dp.m.make_laplace(domain, dp.l1_distance(T="f64"), scale=scale)

    def add(values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return np.array(mechanism(float(scale))(values.tolist()), dtype=float)

    return add


class FieldNoise(Noise):
    """Noise for real rewards: not repeatable, not predictable."""

    def __init__(self) -> None:
        add = _google() or _opendp()
        if add is None:
            raise PosseError(f"mode = {NEEDED}")
        self._add = add
        self._uniform = secrets.SystemRandom().random

    def __getstate__(self) -> tuple[()]:
        return ()

    def __setstate__(self, state: tuple[()]) -> None:
        self.__init__()  # type: ignore[misc]

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        """See `Noise`; `PosseError` in a process that was forked after Google's first draw."""
        return self._add(values, sensitivity, scale)

    def laplace(self, scale: float, size: int) -> FloatArray:
        """Refused: a bare draw, added to a number later, gives the number away."""
        raise LocalProtocolError("in the field noise is added by `noisy`, never drawn by itself")

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        try:
            import opendp.prelude as dp  # noqa: PLC0415
        except ImportError:
            raise PosseError(
                'noise = "shared" in the field needs OpenDP; run: '
                'pip install "posse-bandits[field]"'
            ) from None
        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=deviation)
        return np.array(mechanism(values.tolist()), dtype=np.int64)

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        noise = [draw_share(secrets.randbelow, scale, shares) for _ in values]
        return values + np.array(noise, dtype=np.int64)

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return [self._uniform() < probability for _ in range(size)]


class AuditedNoise(FieldNoise):
    """The field's noise for runs that are audited, also of forms that the field refuses."""

    def laplace(self, scale: float, size: int) -> FloatArray:
        """Noise as the field adds it to 0."""
        return self.noisy(np.zeros(size), scale, scale)
