"""The record of a bound, and what bounds of several families share.

Only bounds with constants are drawn, labelled with the theorem's number. Symbols: Δ_k the gap of
arm k to the best, Δ the smallest gap that is not 0, K arms, M agents (N in Rio et al.), T the time,
δ the probability of failure.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posse.arms import ChangingMeans, DelayedArms, GaussianArms, known_means
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import COORDINATOR
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec

Curve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a system's paper promises about one run.

    `label` is the statement's number. `regret(t)` bounds the regret of all agents up to times t,
    with the shape of t; `rounds` bounds the end of runs. Both are None if there is nothing to draw.
    `note` says what the bound is, or why there is none.
    """

    label: str = ""
    regret: Curve | None = None
    rounds: float | None = None
    note: str


Theory = Callable[[RunSpec, Any, int], Bound]
"""The bound of run number `run` of a specification with these parameters."""


def undrawn(why: str) -> Theory:
    """A theory with nothing to draw, and the reason."""
    return lambda spec, parameters, run: Bound(note=why)


class NoBoundError(Exception):
    """Raised if theory promises nothing; its text completes "No bound is drawn: …"."""


class MeansUnknownError(NoBoundError):
    """Raised if a bound needs true means that are not known."""

    def __init__(self) -> None:
        super().__init__("the arms' true means are not known.")


DEVIATION = 0.5
"""The largest deviation of a reward that radii allow: rewards in [0, 1] are 1/2-subgaussian."""

_ROUNDING = 1e-12
"""A gap up to this counts as 0: averages of equal means may differ by rounding."""


def require_law(spec: RunSpec, deviation: float = DEVIATION) -> None:
    """Raise `NoBoundError` if rewards do not have the law that the theorems assume.

    Clipping to [lo, hi] and mapping onto [0, 1] change the known mean of a Gaussian reward.
    """
    arms = spec.arms
    if arms.closes:
        raise NoBoundError("what is known is about arms that are always open.")
    if isinstance(arms, ChangingMeans | DelayedArms):
        raise NoBoundError("what is known is about means that stay, and rewards that come at once.")
    if not isinstance(arms, GaussianArms):
        return
    if arms.clip is not None:
        raise NoBoundError(
            "the means that are known are those before arms.clip, which moves and rescales them."
        )
    if arms.sd > deviation:
        raise NoBoundError(
            f"what is known is about rewards whose deviation is at most {deviation:g}, and arms.sd "
            f"is {arms.sd:g}."
        )


def run_gaps(spec: RunSpec, run: int) -> FloatArray:
    """Each agent's Δ_k in run `run`, shape (M, K)."""
    require_law(spec)
    return gaps_of(means_table(spec, run))


def run_means(spec: RunSpec, run: int) -> FloatArray:
    """μ_k averaged over the agents in run `run`, shape (K,)."""
    means: FloatArray = means_table(spec, run).mean(axis=0)
    return means


def mean_gaps(spec: RunSpec, run: int) -> FloatArray:
    """Δ_k of the means averaged over the agents in run `run`, shape (K,)."""
    require_law(spec)
    return gaps_of(run_means(spec, run))


def shared_gaps(spec: RunSpec, run: int, deviation: float = DEVIATION) -> FloatArray:
    """Δ_k of the means that all agents share, shape (K,); `NoBoundError` if agents' means differ.

    An agent may then settle on an arm that is best only for itself or for those it hears from, and
    its regret against the average means grows for ever.
    """
    require_law(spec, deviation)
    means = means_table(spec, run)
    if (means != means[0]).any():
        raise NoBoundError(
            "what is known is about agents that have the same means, and here each may take an arm "
            "for the best that is not so on average, which is what regret is against."
        )
    return gaps_of(means[0])


def gaps_of(means: FloatArray) -> FloatArray:
    """Δ_k of means μ_k, shape (…, K)."""
    gaps: FloatArray = means.max(axis=-1, keepdims=True) - means
    return gaps


def means_table(spec: RunSpec, run: int) -> FloatArray:
    """The means of every agent in a run, shape (M, K); `MeansUnknownError` if unknown."""
    known = known_means(spec.arms)
    if known is None:
        raise MeansUnknownError
    instance = generator(spec.seed, run, COORDINATOR, Purpose.INSTANCE)
    return known.table(spec.agents.count, instance)


def positive(gaps: FloatArray) -> FloatArray:
    """The gaps Δ_k > 0, up to rounding."""
    return gaps[gaps > _ROUNDING]


def logarithmic(slope: float, once: float) -> Curve:
    """`slope` log t + `once`; log t is 0 up to t = 1."""
    return lambda t: slope * np.log(np.maximum(t, 1.0)) + once


def ucb1_regret(gaps: FloatArray) -> Curve:
    """Regret of UCB1 after t pulls: 8 Σ_k log t / Δ_k + (1 + π²/3) Σ_k Δ_k.

    Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002, Theorem 1; sums over Δ_k > 0.
    """
    positive_gaps = positive(gaps)
    return logarithmic(8 * (1 / positive_gaps).sum(), (1 + math.pi**2 / 3) * positive_gaps.sum())
