"""The length of runs of best-arm identification (Rio et al. 2023)."""

import math
from bisect import bisect_left

from posse.protocol.mase import (
    BaselineParameters,
    CorruptedParameters,
    DpMaseParameters,
    MaseParameters,
    epoch_length,
    local_failure,
    successive_elimination_radius,
    votes_to_remove,
)
from posse.spec.runfile import RunSpec
from posse.theory.bounds import Bound, NoBoundError, positive, shared_gaps


def samples_of_elimination(gap: float, arms: int, failure: float) -> int:
    """T_η: samples of each arm after which successive elimination has dropped an arm of gap Δ.

    The least t from which on 4 sqrt(log(K t²/η) / t) <= Δ. If every estimate is within one radius
    of its mean, estimates of arms whose means differ by Δ then differ by at least two radii.
    """

    def wide(t: int) -> bool:
        return 4 * float(successive_elimination_radius(float(t), arms, failure)) > gap

    # the radius grows only below t = e sqrt(η/K), before any arm can leave
    high = 4
    while wide(high):
        high *= 2
    first = high // 2 + 1
    return first + bisect_left(range(first, high), True, key=lambda t: not wide(t))


def samples_of_epochs(gap: float, arms: int, beta: float, epsilon: float) -> int:
    """T_β: activations after which an agent of DP-MASE has dropped an arm of gap Δ.

    Σ_e R(e, K) up to e = ⌊log2(1/Δ)⌋ + 1. R makes both radii at most Δ_e / 8, so an arm leaves in
    the first epoch with Δ_e = 2^-e < Δ (a gap above 1 in epoch 1). Rio et al. 2023, Proposition 4.3
    before its O(.).
    """
    last = max(1, math.floor(math.log2(1 / gap) + 1e-9) + 1)
    return sum(epoch_length(arms, epoch, beta, epsilon) for epoch in range(1, last + 1))


def rounds_of_votes(samples: int, agents: int, votes: int, confidence: float) -> float:
    """Rounds after which M given agents of N have each been active T_η times, with probability a.

    N P^-1(T_η, a^(1/M)), with P the regularised lower incomplete gamma function, because the
    activations of equally active agents are Poisson processes of rate 1/N. Rio et al. 2023,
    Proposition 5.3.
    """
    from scipy.special import gammaincinv  # noqa: PLC0415

    return agents * float(gammaincinv(samples, confidence ** (1 / votes)))


_PROOF = (
    "The constants are those of the proof; {name} itself is an O(.). It takes every agent's test "
    "to be right, and the votes of {votes} given agents, where any {votes} would do."
)


def _smallest_gap(spec: RunSpec, run: int) -> float:
    gaps = shared_gaps(spec, run)
    worse = positive(gaps)
    if ties := gaps.size - worse.size - 1:
        raise NoBoundError(
            f"{ties + 1} arms share the best mean, so that none need ever be found to be the best."
        )
    return float(worse.min())


def votes(spec: RunSpec, parameters: MaseParameters | CorruptedParameters, run: int) -> Bound:
    """Rounds of all agents (Proposition 5.3) for one agent's activations (4.3's or Féraud's)."""
    p, arms = parameters, spec.arms.arm_count()
    gap = _smallest_gap(spec, run)
    if len(set(spec.agents.activity.rates(spec.agents.count))) > 1:
        raise NoBoundError("Proposition 5.3 is about equally active agents.")
    if isinstance(p, CorruptedParameters) and p.xi:
        raise NoBoundError(
            "the proof of Proposition 5.3 does not account for the votes that are withheld."
        )
    failure, votes = local_failure(p, arms, spec.variant), votes_to_remove(p, arms, spec.variant)
    if isinstance(p, DpMaseParameters):
        samples, name = samples_of_epochs(gap, arms, p.beta, p.epsilon), "Proposition 4.3"
    else:
        samples, name = samples_of_elimination(gap, arms, failure), "Proposition 5.3"
    return Bound(
        label=f"{name}: {1 - p.delta:.0%} of runs have ended",
        rounds=rounds_of_votes(samples, spec.agents.count, votes, 1 - p.delta),
        note=_PROOF.format(name=name, votes=votes),
    )


def central(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    """Rounds of successive elimination on the rewards of all agents."""
    gap = _smallest_gap(spec, run)
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label=f"successive elimination: {1 - parameters.delta:.0%} of runs have ended",
        rounds=float(samples),
        note="Even-Dar, Mannor and Mansour 2006: 4 sqrt(log(K t²/δ) / t) is below the gap.",
    )


def independent(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    """Rounds of successive elimination by every agent alone."""
    gap = _smallest_gap(spec, run)
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label="successive elimination, all agents",
        rounds=float(spec.agents.count * samples),
        note=f"Each of {spec.agents.count} agents ends by {samples:,} activations with probability "
        f"{1 - parameters.delta:.0%} (Even-Dar, Mannor and Mansour 2006).",
    )
