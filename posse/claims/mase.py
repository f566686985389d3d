"""What best-arm identification claims (Rio et al. 2023)."""

from __future__ import annotations

from protocol.mase import (
    BaselineParameters,
    CorruptedParameters,
    DpMaseParameters,
    MaseParameters,
    Variant,
)
from protocol.privacy import Claim


def nothing(parameters: MaseParameters, variant: Variant) -> Claim:
    """Of votes that follow rewards."""
    return Claim(mechanism="none", holds=True, note="Nothing is claimed.")


def raw_rewards(parameters: BaselineParameters, variant: Variant) -> Claim:
    """Of rewards that are sent as they are."""
    return Claim(mechanism="none", note="Every raw reward is sent.", adversary="nobody")


def silence(parameters: BaselineParameters, variant: Variant) -> Claim:
    """Nobody sends anything."""
    return Claim(mechanism="silence", epsilon=0.0, note="No agent sends anything.")


def private_votes(parameters: DpMaseParameters, variant: Variant) -> Claim:
    """Of votes that follow noisy means."""
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        unit="one reward of one agent",
        adversary="whoever reads all messages of all agents",
        note="Not covered: the pulls themselves, and which agent is active.",
    )


def withheld_votes(parameters: CorruptedParameters, variant: Variant) -> Claim:
    """Of votes withheld at random; the claim does not hold."""
    return Claim(
        mechanism="randomized-response",
        unit="the best arm",
        adversary="whoever reads one agent's votes",
        holds=False,
        note=(
            f"Claimed: such an adversary names the best arm with probability at most "
            f"{1 - parameters.eta:.3g}. The proof bounds the adversary by a guarantee made for "
            "the agent and ignores guessing among the arms without a vote."
        ),
    )
