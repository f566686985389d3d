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
    given: dict[str, Any] = {"arms": arms, "horizon": p.horizon, "epsilon": p.epsilon}
    if not isinstance(p, FederatedParameters):
        return Schedule(senders=1, **given)
    given |= {"max_rounds": p.max_rounds, "gap": p.gap, "senders": agents}
    if isinstance(p, CdpParameters):
        given["senders"] = uploaders(agents, p.participation)
        if p.noise == "shared":
            return SharedSchedule(deviation=noise_of(p, agents).total, **given)
    return Schedule(noise="per_agent" if p.noise == "per_agent" else "printed", **given)


def noise_of(parameters: CdpParameters, agents: int) -> SharedNoise:
    """The shares of noise of M = `agents` agents, where noise is shared."""
    p = parameters
    return SharedNoise(agents, p.epsilon, p.delta_prime, p.honest, p.precision)
