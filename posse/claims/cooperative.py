"""What cooperation on a graph claims (Dubey and Pentland 2020)."""

from __future__ import annotations

from protocol.cooperative import (
    ByzantineParameters,
    CooperativeParameters,
    PrivateParameters,
    Variant,
    privacy_bound,
)
from protocol.privacy import Claim


def means(parameters: CooperativeParameters, variant: Variant) -> Claim:
    """Of means that are sent as they are."""
    return Claim(
        mechanism="none",
        adversary="nobody",
        note=(
            "In every slot each agent's mean reward and number of pulls of every arm are sent as "
            "they are. Two messages of an agent that follow each other give away its reward."
        ),
    )


def rewards(parameters: ByzantineParameters, variant: Variant) -> Claim:
    """Of single rewards that are sent as they are."""
    return Claim(
        mechanism="none",
        adversary="nobody",
        note="Every single reward of every agent is sent as it is, with its arm.",
    )


def private(parameters: PrivateParameters, variant: Variant) -> Claim:
    """Of noisy means, released at intervals or by doubling batches."""
    p = parameters
    if p.noise_at == "destination":
        return Claim(
            mechanism="none",
            adversary="nobody",
            note="Means are sent as they are; who receives them is trusted to add the noise.",
        )
    if p.releases == "doubling":
        return Claim(
            mechanism="laplace",
            epsilon=p.epsilon,
            unit="one reward of one agent",
            adversary="whoever reads all messages that carry the agent's means and counts",
            note="Every reward is in one noisy mean, over the whole horizon.",
        )
    return Claim(
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime),
        delta=p.delta_prime,
        unit="one reward of one agent",
        adversary="whoever reads all messages that carry the agent's means and counts",
        holds=variant == "corrected",
        note=(
            "By Lemma 3.6, over the whole horizon; epsilon alone is only the rate of the releases "
            "(eps = 1 is not 'no privacy'). What the ledger adds up to is in spent_per_agent, and "
            "composed up to delta in detail.epsilon_prime_per_agent."
            if variant == "corrected"
            else "Not satisfied as printed: the agent's own raw sums decide its pulls, and their "
            "counts are sent without noise, so that one reward can change a count for certain."
        ),
    )
