"""Messages, parameters and formulas of best-arm identification with private communications.

Rio, Barlier, Colin and Soare, "Multi-agent best arm identification with private communications",
ICML 2023. Symbols: K arms, N agents, G the arms left at the coordinator, L_n those left at agent n,
M the votes that eliminate an arm, δ the failure probability of the whole, β or η that of one
agent's local test, ξ the probability of withholding a vote, ε the privacy level.
"""

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from posse.seam.messages import (
    MOST_ARMS,
    MOST_PULLS,
    Arm,
    Candidates,
    FloatArray,
    Message,
    PackedBytes,
    Parameters,
    PublicRow,
    Variant,
)
from posse.seam.noise import Epsilon

LEAST_FAILURE = 1e-100
"""K t² / δ must be finite: with an infinite radius no arm ever leaves, and the run never ends."""

VoteRule = Literal["at-least", "more-than"]

ArmIndices = Annotated[tuple[Arm, ...], Meta(min_length=1, max_length=MOST_ARMS)]


class Vote(Message, frozen=True):
    """Agent to coordinator: eliminate these arms, sorted by index (an order by estimate leaks)."""

    reveals = (
        "the arms voted against: what the algorithm releases, covered by its claim (`mase`: "
        "nothing is claimed)"
    )

    arms: ArmIndices


class Eliminated(Message, frozen=True):
    """Coordinator to all agents: these arms have left G."""

    reveals = "the arms that left, a function of the votes"

    arms: ArmIndices


class Sample(Message, frozen=True):
    """Agent to coordinator, `central` only: one raw reward of each of these arms."""

    reveals = "`central` only: every reward, as it is"

    arms: ArmIndices
    rewards: PackedBytes


TO_COORDINATOR = (Vote, Sample)
TO_AGENT = (Eliminated,)


class BaselineParameters(Parameters, frozen=True, kw_only=True):
    """`central` and `independent`: one successive elimination with failure probability δ."""

    delta: Annotated[float, Meta(ge=LEAST_FAILURE, lt=1, description="δ, failure probability")] = (
        0.05
    )
    candidates: Candidates = ()


_AskedRule = Annotated[
    VoteRule | None, Meta(description="votes that eliminate; default by variant")
]


class MaseParameters(BaselineParameters, frozen=True, kw_only=True):
    """MASE: successive elimination as the local test, no privacy."""

    beta: Annotated[
        float, Meta(ge=LEAST_FAILURE, lt=1, description="β, failure of one agent's test")
    ] = 0.5
    vote_rule: _AskedRule = None


class DpMaseParameters(MaseParameters, frozen=True, kw_only=True):
    """DP-MASE: epochs with one noisy mean per arm."""

    epsilon: Annotated[Epsilon, Meta(description="ε, privacy of one reward")]


class CorruptedParameters(BaselineParameters, frozen=True, kw_only=True):
    """Corrupted Elimination: votes are withheld with probability ξ (ξ = 0 is Féraud's)."""

    eta: Annotated[float, Meta(gt=0, lt=1, description="η, the privacy level claimed")] = 0.9
    xi: Annotated[float, Meta(ge=0, lt=1, description="ξ, probability to withhold a vote")] = 0.0
    vote_rule: _AskedRule = None


def threshold(delta: float, failure: float) -> int:
    """M = ⌈log δ / log β⌉ votes, each wrong with probability β (Proposition 4.2)."""
    return max(1, math.ceil(math.log(delta) / math.log(failure) - 1e-12))


_MOST_EXPONENT = 700.0
"""A larger one has no exponential as a float."""


def corrupted_failure(eta: float, xi: float, arms: int, delta: float, variant: Variant) -> float:
    """η_ξ = 1 - (1-η)/(1-ξ)^(K-1), the failure probability left to one agent's test.

    From ξ = 1 - (1-η)^(1/(K-1)) on it is 0 or negative, and the printed test never eliminates.
    `corrected` stops at δ, where M = 1 already gives the guarantee.
    """
    # of many arms the divisor is 0 as a float, and the quotient beyond all
    eta_xi = 1.0 - math.exp(min(math.log1p(-eta) - (arms - 1) * math.log1p(-xi), _MOST_EXPONENT))
    return max(eta_xi, delta) if variant == "corrected" else eta_xi


def local_failure(
    parameters: MaseParameters | CorruptedParameters, arms: int, variant: Variant
) -> float:
    """The failure probability of one agent's local test: β, or η_ξ."""
    if isinstance(parameters, CorruptedParameters):
        p = parameters
        return corrupted_failure(p.eta, p.xi, arms, p.delta, variant)
    return parameters.beta


def votes_to_remove(
    parameters: MaseParameters | CorruptedParameters, arms: int, variant: Variant
) -> int:
    """The number of votes that removes an arm.

    The print computes M from log η, but its Proposition 5.3 and the threshold effect need log η_ξ.
    The pseudo-code prints λ_k > M, the proofs use "at least M votes"; `corrected` follows the
    proofs.
    """
    failure = local_failure(parameters, arms, variant)
    if isinstance(parameters, CorruptedParameters) and variant == "printed":
        failure = parameters.eta
    m = threshold(parameters.delta, failure)
    rule = parameters.vote_rule or ("at-least" if variant == "corrected" else "more-than")
    return m if rule == "at-least" else m + 1


def successive_elimination_radius(t: Any, arms: int, failure: float) -> Any:
    """Successive elimination's radius sqrt(log(K t² / δ) / t) after t samples of each arm.

    δ is `failure`. `t` is a number or an array; the result has its shape.
    """
    return np.sqrt(np.log(arms * np.square(t) / failure) / t)


def eliminable(arms: tuple[int, ...], means: FloatArray, width: float) -> tuple[int, ...]:
    """{ k : max_l μ̂_l - μ̂_k >= width }; `means` has μ̂ of `arms`, shape (len(arms),)."""
    best = means.max()
    return tuple(k for k, mean in zip(arms, means, strict=True) if best - mean >= width)


def epoch_length(arms: int, epoch: int, beta: float, epsilon: float) -> int:
    """R(e, k): the samples per arm of epoch e with k arms left (section 4.2; Algorithm 2, line 17).

    R = ⌈max(32 log(8ke²/β) / Δ_e², 8 log(4ke²/β) / (ε Δ_e))⌉ with Δ_e = 2^-e and e from 1, but at
    most `MOST_PULLS`.
    """
    gap = 2.0**-epoch
    statistical = 32.0 * math.log(8 * arms * epoch**2 / beta) / gap / gap
    private = 8.0 * math.log(4 * arms * epoch**2 / beta) / epsilon / gap  # ε Δ_e may round to 0
    return math.ceil(min(max(statistical, private), MOST_PULLS))


def epoch_radius(arms: int, epoch: int, beta: float, epsilon: float, pulls: int) -> float:
    """How far a noisy mean of R = `pulls` samples may lie from the truth: h + c.

    Appendix B.1, DP-MASE Local Elimination, lines 4 and 5:
    h = sqrt(log(8ke²/β) / 2R) for the samples, c = log(4ke²/β) / (εR) for the noise.
    """
    h = math.sqrt(math.log(8 * arms * epoch**2 / beta) / (2 * pulls))
    c = math.log(4 * arms * epoch**2 / beta) / (epsilon * pulls)
    return h + c


class VoteRow(PublicRow, frozen=True):
    """The coordinator counted a vote."""

    table: ClassVar[str] = "votes"
    agent: int
    arm: int


class EliminationRow(PublicRow, frozen=True):
    """The coordinator eliminated an arm for all agents."""

    table: ClassVar[str] = "eliminations"
    arm: int
