"""All that a system, arms or a topology of your own imports from posse; public and stable.

docs/your-own-algorithm.md builds a system with it, from an empty file to a report. `posse new NAME`
writes a first one.

A system is a `System`: its machines, in one of the five shapes, and what it says of itself. A
machine takes events, each with its time, and answers with effects: `handle(event, now) -> effects`.
What machines say to each other are `Message`s, `[parameters]` a `Parameters`, and what they note
for the tables of a run a `Row`.
"""

from agent.noise import Noise
from posse.arms.base import ArmsContext
from posse.claims.base import ClaimContext, unprotected
from posse.errors import SpecError
from posse.results.base import Results, Standing
from posse.results.record import Detail
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.systems.base import Field, LabOnly, Loss, System, UnitInterval
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.network import Network, along
from posse.systems.shapes import (
    AgentRole,
    Alone,
    Mesh,
    MeshWithServer,
    ServerRole,
    SharedArms,
    Star,
    Wiring,
)
from posse.theory.bounds import Bound
from protocol.errors import RemoteProtocolError
from protocol.log import Row
from protocol.machine import (
    COORDINATOR,
    Abort,
    AgentEffects,
    AgentEvent,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Note,
    Observed,
    Parameters,
    PeerFinished,
    PeerLost,
    Played,
    Pull,
    Pulled,
    Received,
    Refuse,
    Send,
    ServerEffects,
    ServerEvent,
    Started,
    Timer,
    TimerFired,
)
from protocol.message import Message
from protocol.privacy import Claim, Guarantee, Neighbours, Release
from topologies.graphs import Graph, from_edges

__all__ = [
    "COORDINATOR",
    "Abort",
    "AgentContext",
    "AgentEffects",
    "AgentEvent",
    "AgentRole",
    "Alone",
    "ArmsContext",
    "Bound",
    "Broadcast",
    "Claim",
    "ClaimContext",
    "CoordinatorContext",
    "Detail",
    "Disclose",
    "Explore",
    "Field",
    "Finish",
    "Graph",
    "Guarantee",
    "LabOnly",
    "Loss",
    "Mesh",
    "MeshWithServer",
    "Message",
    "Neighbours",
    "Network",
    "Noise",
    "Note",
    "Observed",
    "Parameters",
    "PeerFinished",
    "PeerLost",
    "Played",
    "Pull",
    "Pulled",
    "Purpose",
    "Received",
    "Refuse",
    "Release",
    "RemoteProtocolError",
    "Results",
    "Row",
    "RunSpec",
    "Send",
    "ServerEffects",
    "ServerEvent",
    "ServerRole",
    "SharedArms",
    "SpecError",
    "Standing",
    "Star",
    "Started",
    "System",
    "Timer",
    "TimerFired",
    "UnitInterval",
    "Wiring",
    "along",
    "from_edges",
    "unprotected",
]
