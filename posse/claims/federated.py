"""Claims of federated elimination (Li and Song 2022)."""

from posse.claims.base import ALL_MESSAGES, TIMING, ClaimContext, released
from posse.protocol.federated import CdpParameters, FederatedParameters, SingleParameters, uploaders
from posse.protocol.privacy import Claim
from posse.protocol.shared import noise_of

_PROOF = (
    "A reward is in one ŷ of one round, the mean of d new rewards, which it moves by at most 1/d "
    "and which is noised once, by {noise}. Rounds, arms and agents are disjoint. ȳ, what the "
    "network does with it, the arms left, every pull and the answer are functions of the ŷ (Li and "
    "Song "
    "2022, Theorem 1)."
)


def messages(context: ClaimContext) -> Claim:
    """CDP-MAB, DDP-MAB and HDP-MAB."""
    p: FederatedParameters = context.parameters
    senders, symbol = context.agents, "M"
    if isinstance(p, CdpParameters):
        if p.noise == "shared":
            return _shared(context, p)
        if p.participation < 1:
            senders, symbol = uploaders(context.agents, p.participation), "⌈pM⌉"
    if p.noise == "per_agent":
        number, formula, noise = p.epsilon, "", "Lap(1/(ε d))"
    else:
        number, formula = senders * p.epsilon, f"{symbol} ε, not ε"
        noise = f"Lap(1/({symbol} ε d))"
    return released(
        epsilon=number,
        formula=formula,
        adversary=ALL_MESSAGES,
        proof=_PROOF.format(noise=noise),
    )


def pulls(context: ClaimContext) -> Claim:
    """The baseline of one agent."""
    p: SingleParameters = context.parameters
    return released(
        epsilon=p.epsilon,
        adversary="whoever sees the agent's pulls and its answer",
        sees="pulls",
        note="Nothing is sent before the end.",
        proof=_PROOF.format(noise="Lap(1/(ε d))"),
    )


def _shared(context: ClaimContext, p: CdpParameters) -> Claim:
    shared = noise_of(p, context.agents)
    return Claim(
        mechanism="discrete-gaussian",
        epsilon=p.epsilon,
        delta=p.delta_prime,
        adversary="the server, which follows the protocol, together with all agents but "
        f"{shared.honest_agents} honest ones of {context.agents}",
        sees="coordinator",
        note="It reads sums over all agents alone. An agent that drops out leaves the round "
        "without a sum, never with less noise. The server passes on the public keys: agents "
        "with keys sign theirs; without, it is trusted not to replace them.",
        proof="A reward is in one sum of one round, which it moves by at most Δ words. The honest "
        "agents' shares alone have the deviation with which Δ costs (ε, δ') (Kairouz, Liu and "
        "Steinke 2021, Theorem 1; Canonne, Kamath and Steinke 2020); masks cancel in the sum over "
        "all agents alone (Bonawitz et al. 2017). All else is a function of the sums.",
        uncovered=f"agents that send wrong sums, which spoil the answer; {TIMING}",
    )
