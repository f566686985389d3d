"""What agents that learn alone claim, against whoever sees their pulls."""

from __future__ import annotations

from typing import Any

from protocol.cooperative import (
    AdapParameters,
    PrivateAloneParameters,
    Variant,
    privacy_bound,
)
from protocol.privacy import Claim


def nothing(parameters: Any, variant: Variant) -> Claim:
    """Of UCB1: its pulls follow its rewards."""
    return Claim(
        mechanism="none", adversary="nobody", note="Whoever sees its pulls learns rewards."
    )


def private_means(parameters: PrivateAloneParameters, variant: Variant) -> Claim:
    """Of DP-UCB-INT: its pulls follow means released at intervals."""
    p = parameters
    return Claim(
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime),
        delta=p.delta_prime,
        unit="one reward of one agent",
        adversary="whoever sees the agent's pulls",
        holds=variant == "corrected",
        note=(
            "Nothing is sent; the pulls follow the released means."
            if variant == "corrected"
            else "Not satisfied as printed: the noise of an arm that is not pulled is drawn again "
            "in every slot, without bound; see the ledger."
        ),
    )


def batched_means(parameters: AdapParameters, variant: Variant) -> Claim:
    """Of AdaP-UCB: its pulls follow means that no two share a reward."""
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        unit="one reward of one agent",
        adversary="whoever sees the agent's pulls",
        note="Nothing is sent; every reward is in one noisy mean, which the pulls follow.",
    )
