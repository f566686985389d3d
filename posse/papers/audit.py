"""Audits: how much ε a mechanism spends at least, shown by releases on two neighbouring inputs.

Neighbours differ in one reward. If a release falls into a set S with probability p on one input and
p' on the other, (ε, δ)-differential privacy asks for p <= e^ε p' + δ, so that

    ε >= log((p - δ) / p').

Both probabilities are counted and replaced by the ends of their Clopper and Pearson intervals, so
that the bound is too large with probability at most `ERROR` (Jagielski, Ullman and Oprea 2020). S
is fixed before anything is drawn. An audit can refute a claim; it cannot prove one.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from agent.noise import SeededNoise
from posse.measure.numbers import number
from posse.papers.checks import check
from posse.papers.experiment import Computation, Experiment, Lines, bars
from posse.papers.sample import value
from posse.papers.statements import Finding, Measured, verdict

ERROR = 0.001
"""The probability that an audit finds more than is spent."""

QUICK, FULL = 20_000, 200_000
"""Releases on each of the two inputs."""

ASSUMED = (
    f"Error rate of an audit {ERROR:g}; {QUICK:,} releases on each input (quick) or {FULL:,}. The "
    "machines are the real ones."
)

AXES = bars("share of the claimed ε that was found", "mechanism")
audits = partial(Experiment, axes=AXES, limit=1.0, metric=value)
"""An experiment whose lines are audits."""


def epsilon_at_least(hits: int, others: int, trials: int, delta: float = 0.0) -> float:
    """ε's lower bound from `hits` in S on one input and `others` on its neighbour; 0 if none."""
    from scipy.stats import beta  # noqa: PLC0415

    low = float(beta.ppf(ERROR / 2, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - ERROR / 2, others + 1, trials - others)) if others < trials else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def audit(
    trials: int, release: Callable[[bool], bool], claimed: float, delta: float = 0.0
) -> dict[str, Any]:
    """Count `release(changed)`, whether a release on one of the inputs falls into S."""
    hits = sum(release(True) for _ in range(trials))
    others = sum(release(False) for _ in range(trials))
    return counted(hits, others, trials, claimed, delta)


def counted(
    hits: int, others: int, trials: int, claimed: float, delta: float = 0.0
) -> dict[str, Any]:
    """The numbers of one audit; "value" is the share of the claimed ε that was found."""
    found = epsilon_at_least(hits, others, trials, delta)
    return {
        "found": found,
        "claimed": claimed,
        "value": found / claimed,
        "hits": [int(hits), int(others), trials],
    }


def releases(of: dict[str, tuple[Any, ...]]) -> Callable[[bool], Lines]:
    """One line per audit: its name -> (function, arguments after the number of trials)."""

    def lines(quick: bool) -> Lines:
        trials = QUICK if quick else FULL
        return {line: Computation(f, trials, *given) for line, (f, *given) in of.items()}

    return lines


@check
def spends(measured: Measured, line: str) -> Finding:
    """A mechanism, a line of audits, spends no more than was claimed."""
    numbers = measured.runs[line, 0.0][0].numbers
    hits, others, trials = numbers["hits"]
    found, claimed = float(numbers["found"]), float(numbers["claimed"])
    said = f"{hits:,} of {trials:,} releases against {others:,}: ε is at least {number(found)}"
    said += f", claimed {number(claimed)}"
    return verdict(found <= claimed, said + ("; not refuted" if found <= claimed else ""))


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


def seed(generator: np.random.Generator) -> np.random.Generator:
    """A generator of its own, so that a mechanism's draws do not depend on who else draws."""
    return np.random.default_rng(generator.integers(2**63))


def own_noise(generator: np.random.Generator) -> SeededNoise:
    """The noise of the real machines, with a generator of its own."""
    return SeededNoise(seed(generator))
