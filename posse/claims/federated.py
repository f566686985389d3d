"""What federated elimination claims (Li and Song 2022)."""

from __future__ import annotations

from protocol.federated import (
    CdpParameters,
    FederatedParameters,
    SingleParameters,
    Variant,
)
from protocol.privacy import Claim

_WHO = "whoever reads all messages of all agents"


def messages(parameters: FederatedParameters, variant: Variant) -> Claim:
    """Of what agents send, by where its noise comes from."""
    p = parameters
    if isinstance(p, CdpParameters) and p.noise == "shared":
        return Claim(
            mechanism="discrete-gaussian",
            epsilon=p.epsilon,
            delta=p.delta_prime,
            unit="one reward of one agent",
            adversary="the server, which follows the protocol, together with all agents but a "
            f"share of {p.honest:g}",
            note="It reads sums over all agents alone. An agent that drops out leaves the round "
            "without a sum, never with less noise. The server passes on the public keys, and is "
            "trusted not to replace them.",
        )
    if parameters.noise == "per_agent":
        note = "Of one agent's messages; rewards of different agents are disjoint."
        return Claim(mechanism="laplace", epsilon=parameters.epsilon, adversary=_WHO, note=note)
    note = (
        "M ε for one agent's messages (M agents that upload in a round; the number is in "
        "spent_per_agent), not ε: the printed noise is Lap(1/(M ε d))."
    )
    return Claim(mechanism="laplace", epsilon=None, adversary=_WHO, note=note)


def pulls(parameters: SingleParameters, variant: Variant) -> Claim:
    """Of an agent alone: what it sends is nothing, what it pulls follows noisy means."""
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        adversary="whoever sees the agent's pulls; it sends nothing",
    )
