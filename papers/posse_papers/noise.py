"""The noise itself: what the low bits of a noisy number give away (Mironov 2012)."""

import math
from typing import Any

import numpy as np

from posse import PosseError
from posse_papers.audit import (
    AUDITED,
    audits,
    counted,
    half_the_noise,
    mechanisms,
    own_noise,
    spends,
)
from posse_papers.checks import against
from posse_papers.statements import Finding, Measured, ours
from posse_papers.worlds import world
from posse_systems.algorithms import FieldNoise


def numpy_adds(value: float, released: float, scale: float) -> bool:
    """Whether numpy's generator can make `released` of `value`: some uniform number leads there.

    numpy's Laplace law is scale log(2U) below 0 and -scale log(2 - 2U) above, with U a multiple of
    2^-53. U is read back from the noise, and its neighbours are tried.
    """
    noise = released - value
    grid = 2.0**53
    if noise < 0:
        near = round(math.exp(noise / scale) / 2 * grid)
    else:
        near = round((1 - math.exp(-noise / scale) / 2) * grid)
    for k in range(near - 4, near + 5):
        u = k / grid
        if 0.5 <= u < 1:
            drawn = -scale * math.log(2.0 - u - u)
        elif 0 < u < 0.5:
            drawn = scale * math.log(u + u)
        else:
            continue
        if value + drawn == released:
            return True
    return False


def numpy_noise(trials: int, epsilon: float, *, generator: np.random.Generator) -> dict[str, Any]:
    """Numpy's Laplace noise on 1 and on 0. S: no draw of numpy's makes the release from 0."""
    return _looked_at(own_noise(generator), trials, epsilon)


def field_noise(trials: int, epsilon: float) -> dict[str, Any]:
    """The field's noise, looked at in the same way."""
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


@against(lambda: [world("half the noise", half_the_noise)])
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
        ours("the field's noise (Google's library) is", field_spends()),
        lines=mechanisms({"numpy": (numpy_noise, 1.0), "python-dp": (field_noise, 1.0)}),
        assumed=f"{AUDITED} ε = 1, Laplace noise on 1 and on 0.",
    ),
)  # fmt: skip
