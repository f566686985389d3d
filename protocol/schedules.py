"""The schedule of rounds that parameters make, for every form of federated elimination."""

from typing import Any

from protocol.federated import (
    CdpParameters,
    FederatedParameters,
    Schedule,
    SingleParameters,
    uploaders,
)
from protocol.shared import SharedNoise, SharedSchedule


def schedule_of(parameters: SingleParameters, agents: int, arms: int) -> Schedule:
    """The schedule of M = `agents` agents; of one agent alone, M = 1."""
    p = parameters
    senders, noise, max_rounds, gap = 1, "printed", None, None
    if isinstance(p, FederatedParameters):
        senders, noise = agents, p.noise
        max_rounds, gap = p.max_rounds, p.gap
    if isinstance(p, CdpParameters):
        senders = uploaders(agents, p.participation)
    given: dict[str, Any] = {
        "arms": arms,
        "senders": senders,
        "horizon": p.horizon,
        "epsilon": p.epsilon,
        "max_rounds": max_rounds,
        "gap": gap,
    }
    if isinstance(p, CdpParameters) and noise == "shared":
        return SharedSchedule(noise_of(p, agents).total, **given)
    return Schedule(noise="per_agent" if noise == "per_agent" else "printed", **given)


def noise_of(parameters: CdpParameters, agents: int) -> SharedNoise:
    """The shares of noise of M = `agents` agents, where noise is shared."""
    p = parameters
    return SharedNoise(agents, p.epsilon, p.delta_prime, p.honest, p.precision)
