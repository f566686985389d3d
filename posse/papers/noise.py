"""The noise itself: what the low bits of a noisy number give away (Mironov 2012)."""

from typing import Any

import numpy as np

from posse.errors import PosseError
from posse.papers.audit import ASSUMED, audits, counted, numpy_adds, own_noise, releases, spends
from posse.papers.statements import Finding, Measured, ours


def numpy_noise(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
) -> dict[str, Any]:
    """Numpy's Laplace noise on 1 and on 0. S: no draw of numpy's makes the release from 0."""
    return _looked_at(own_noise(generator), trials, epsilon)


def field_noise(
    variant: Any, generator: np.random.Generator, trials: int, epsilon: float
) -> dict[str, Any]:
    """The field's noise, looked at in the same way."""
    from posse.security.noise import FieldNoise  # noqa: PLC0415

    try:
        noise = FieldNoise()
    except PosseError as error:
        return {"missing": str(error), "value": None}
    return _looked_at(noise, trials, epsilon)


def _looked_at(noise: Any, trials: int, epsilon: float) -> dict[str, Any]:
    def hits(true: float) -> int:
        released = noise.noisy(np.full(trials, true), 1.0, 1 / epsilon)
        return sum(not numpy_adds(0.0, float(y), 1 / epsilon) for y in released)

    return counted(hits(1.0), hits(0.0), trials, epsilon)


def field_spends(measured: Measured) -> Finding:
    """The field's noise spends no more than ε, where it is installed."""
    numbers = measured.runs["python-dp", 0.0][0].numbers
    if "missing" in numbers:
        return Finding("not run", numbers["missing"])
    return spends("python-dp")(measured)


EXPERIMENTS = (
    audits(
        "noise-bits", "", "What the low bits of a noisy number give away",
        ours("numpy's Laplace noise is ε-differentially private in floating point",
             spends("numpy")),
        ours("the field's noise (Google's library) is", field_spends),
        lines=releases({"numpy": (numpy_noise, 1.0), "python-dp": (field_noise, 1.0)}),
        variants=("corrected",),
        assumed=f"{ASSUMED} ε = 1, Laplace noise on 1 and on 0.",
    ),
)  # fmt: skip
