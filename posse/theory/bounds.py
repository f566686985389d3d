"""What a bound is, and what those of several families share.

Only bounds that have constants are drawn, each by its number. Symbols: Δ_k the gap of arm k to the
best, Δ the smallest that is not 0, K arms, M agents (N with Rio et al.), T the time, δ the
probability of failure.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posse.arms import GaussianArms, known_means
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec
from protocol.machine import COORDINATOR, FloatArray

Curve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a system's paper promises about one run.

    `label` is the statement's number. `regret(t)`: the regret of all agents up to times t, shape as
    t. `rounds`: by when runs end, in rounds. Neither where there is nothing to draw; `note` is a
    sentence on what it says, or why there is none.
    """

    label: str = ""
    regret: Curve | None = None
    rounds: float | None = None
    note: str


Theory = Callable[[RunSpec, Any, int], Bound]
"""What is said of run number `run` of a specification with these parameters."""


def undrawn(why: str) -> Theory:
    """Theory that has nothing to draw, and says why."""
    return lambda spec, parameters, run: Bound(note=why)


class NoBoundError(Exception):
    """Raised where theory promises nothing of a run, with why: "No bound is drawn: …"."""


class MeansUnknownError(NoBoundError):
    """Raised by what asks for true means where they are not known."""

    def __init__(self) -> None:
        super().__init__("the arms' true means are not known.")


DEVIATION = 0.5
"""Of a reward, at most: radii are for 1/2-subgaussian ones, as all in [0, 1] are."""

_ROUNDING = 1e-12
"""A gap not above it is none: means of agents that are level on average differ by so much."""


def require_law(spec: RunSpec, deviation: float = DEVIATION) -> None:
    """`NoBoundError` where rewards are not of the law that statements are about.

    Clipped to [lo, hi] and mapped onto [0, 1] a Gaussian reward's mean is another than is known.
    """
    arms = spec.arms
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
    means = means_table(spec, run)
    gaps: FloatArray = means.max(axis=1, keepdims=True) - means
    return gaps


def run_means(spec: RunSpec, run: int) -> FloatArray:
    """μ_k averaged over the agents in run `run`, shape (K,)."""
    means: FloatArray = means_table(spec, run).mean(axis=0)
    return means


def mean_gaps(spec: RunSpec, run: int) -> FloatArray:
    """Δ_k of the means averaged over the agents, shape (K,)."""
    require_law(spec)
    means = run_means(spec, run)
    gaps: FloatArray = means.max() - means
    return gaps


def shared_gaps(spec: RunSpec, run: int, deviation: float = DEVIATION) -> FloatArray:
    """Δ_k of the means that all agents have, shape (K,); `NoBoundError` where they differ.

    An agent then goes to an arm that is best for it, or for those it hears of, and its regret
    against the average means grows for ever.
    """
    require_law(spec, deviation)
    means = means_table(spec, run)
    if (means != means[0]).any():
        raise NoBoundError(
            "what is known is about agents that have the same means, and here each may take an arm "
            "for the best that is not so on average, which is what regret is against."
        )
    gaps: FloatArray = means[0].max() - means[0]
    return gaps


def means_table(spec: RunSpec, run: int) -> FloatArray:
    """The means of every agent in a run, shape (agents, arms)."""
    known = known_means(spec.arms)
    if known is None:
        raise MeansUnknownError
    instance = generator(spec.seed, run, COORDINATOR, Purpose.INSTANCE)
    return known.table(spec.agents.count, instance)


def positive(gaps: FloatArray) -> FloatArray:
    """The Δ_k > 0."""
    found: FloatArray = gaps[gaps > _ROUNDING]
    return found


def ucb1_regret(gaps: FloatArray, t: FloatArray) -> FloatArray:
    """Regret of UCB1 after t pulls: 8 Σ_k log t / Δ_k + (1 + π²/3) Σ_k Δ_k.

    Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002, Theorem 1; sums over Δ_k > 0.
    """
    found = positive(gaps)
    logs = np.log(np.maximum(t, 1.0))
    regret: FloatArray = 8 * (1 / found).sum() * logs + (1 + math.pi**2 / 3) * found.sum()
    return regret
