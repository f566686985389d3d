"""A system that sends a noisy reward twice over, and the faults that an audit must find in it."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from posse.extend import (
    COORDINATOR,
    AgentContext,
    AgentEffects,
    AgentEvent,
    AgentRole,
    Claim,
    ClaimContext,
    Disclose,
    Finish,
    Message,
    Noise,
    OneReward,
    Parameters,
    PeerFinished,
    Pull,
    Pulled,
    Release,
    Send,
    ServerEffects,
    ServerEvent,
    ServerRole,
    Star,
    System,
)

Fault = Literal["none", "half", "twice", "longer", "other", "early"]

_NOTES = {"longer": ("", "more"), "other": ("less", "more")}
"""What a note says of the reward."""


class Told(Message, frozen=True):
    """A noisy reward, and a text of no meaning."""

    value: float
    note: Annotated[str, msgspec.Meta(max_length=10)] = ""


class PlantedParameters(Parameters, frozen=True, kw_only=True):
    """ε, and what is wrong."""

    epsilon: float = 1.0
    fault: Fault = "none"


@dataclass
class Teller:
    """Pulls arm 0 twice, and tells each reward with noise of scale 1/ε."""

    noise: Noise
    parameters: PlantedParameters
    told: int = 0

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Take one event and say what is to be done."""
        if not isinstance(event, Pulled):
            return [Pull((0,), 1)]
        p, reward = self.parameters, float(event.sums[0])
        scale = (0.5 if p.fault == "half" else 1.0) / p.epsilon
        said: list[Any] = []
        for _ in range(2 if p.fault == "twice" else 1):
            value = float(self.noise.noisy(np.array([reward]), 1.0, scale)[0])
            zero, one = _NOTES.get(p.fault, ("", ""))
            note = one if reward == 1 else zero
            said.append(Send(COORDINATOR, Told(value, note)))
            release = Release("laplace", 1.0, scale, 1.0 / scale, f"reward {self.told}")
            said.append(Disclose(release))
        self.told += 1
        over = self.told == 2 or (p.fault == "early" and reward == 0)
        return [*said, Finish("horizon") if over else Pull((0,), 1)]


@dataclass
class Listener:
    """Ends when all agents have."""

    agents: int
    ended: set[int] = field(default_factory=set)

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Take one event and say what is to be done."""
        if isinstance(event, PeerFinished):
            self.ended.add(event.sender)
        return [Finish("horizon")] if len(self.ended) == self.agents else []


def claim(context: ClaimContext) -> Claim:
    """ε, whatever the fault."""
    return Claim(change=OneReward(), mechanism="laplace", epsilon=context.parameters.epsilon)


def make_agent(context: AgentContext) -> Teller:
    """An agent's machine."""
    return Teller(context.noise, context.parameters)


SYSTEM = System(
    name="planted",
    title="noisy rewards",
    paper="ours",
    parameters=PlantedParameters,
    clocks=("slots",),
    shape=Star(
        AgentRole(make_agent),
        ServerRole(lambda context: Listener(context.agents), (Told,)),
    ),
    claim=claim,
)


def planted(fault: Fault, epsilon: float = 1.0) -> dict[str, Any]:
    """A run file of it."""
    return {
        "system": "tests.support.planted:SYSTEM",
        "base": ".",
        "path": ["."],
        "agents": {"count": 1},
        "arms": {"kind": "bernoulli", "means": [0.5, 0.5]},
        "parameters": {"epsilon": epsilon, "fault": fault},
        "engine": {"kind": "memory"},
    }
