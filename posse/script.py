"""An algorithm as a script: a generator for the agents, and one for the server if there is one.

`posse new NAME` writes a first one; docs/your-own-algorithm.md explains it. What a script yields is
told in `posse.protocol.script`. `system` makes the `System` that a run file names.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from posse.errors import SpecError
from posse.protocol.bounds import Arm
from posse.protocol.estimates import Estimate, released
from posse.protocol.machine import COORDINATOR, Broadcast, Finish, Note, Parameters, Pull, Send
from posse.protocol.message import Message
from posse.protocol.privacy import Claim, Epsilon, OneReward
from posse.protocol.script import (
    Ended,
    FromAll,
    FromSome,
    Heard,
    NobodyLeft,
    Noisy,
    One,
    Pending,
    PerArm,
    PullUntil,
    Script,
    scripted,
)
from posse.results.base import Results
from posse.spec.runfile import RunSpec
from posse.system.claims import Claiming, unprotected
from posse.system.network import Network, along
from posse.system.record import Field, LabOnly, Loss, System, UnitInterval
from posse.system.shapes import (
    AgentRole,
    Alone,
    Mesh,
    MeshWithServer,
    ServerRole,
    Shape,
    Star,
    Wiring,
)

__all__ = [
    "COORDINATOR",
    "Arm",
    "Broadcast",
    "Claim",
    "Epsilon",
    "Estimate",
    "Field",
    "Finish",
    "FromAll",
    "FromSome",
    "Heard",
    "LabOnly",
    "Loss",
    "Message",
    "NobodyLeft",
    "Noisy",
    "Note",
    "One",
    "OneReward",
    "Parameters",
    "Pending",
    "PerArm",
    "Positive",
    "Pull",
    "PullUntil",
    "Script",
    "Send",
    "SpecError",
    "UnitInterval",
    "released",
    "scripted",
    "system",
]

Positive = Annotated[int, msgspec.Meta(ge=1)]
"""In `[parameters]`: a whole number of at least 1."""


def system(
    name: str,
    agent: Callable[[Any], Script],
    server: Callable[[Any], Script] | None = None,
    parameters: type[Parameters] = Parameters,
    *,
    to_agents: tuple[type[Message], ...] = (),
    to_server: tuple[type[Message], ...] = (),
    neighbours: bool = False,
    claim: str | Claiming,
    **more: Any,
) -> System:
    """The system of these scripts.

    - `to_agents`, `to_server`: the kinds of messages that each may be sent
    - `neighbours`: agents hear their neighbours in `[topology]`
    - `claim`: who learns what, in a sentence, if nothing is protected; else the function that
      makes the `Claim`
    - `more`: whatever else a `System` has, as `field=Field()`
    """
    machine = scripted(agent, tells=neighbours, served=server is not None)
    role = AgentRole(machine, (*to_agents, *(Ended,) * neighbours))
    shape: Shape
    if server is None:
        shape = Mesh(role, Wiring(_along)) if neighbours else Alone(role.make)
    else:
        serves = ServerRole(scripted(server, tells=neighbours), to_server)
        shape = MeshWithServer(role, Wiring(_along), serves) if neighbours else Star(role, serves)
    page = agent.__doc__ or sys.modules[agent.__module__].__doc__ or name
    about: dict[str, Any] = {
        "title": page.partition("\n")[0].rstrip("."),
        "paper": "yours",
        "clocks": ("slots",),
        "results": Results(log=(Estimate,)),
    } | more
    claims = unprotected(claim) if isinstance(claim, str) else claim
    return System(name=name, parameters=parameters, shape=shape, claim=claims, **about)


def _along(spec: RunSpec, parameters: Any, run: int) -> Network:
    return along(spec.graph(run))
