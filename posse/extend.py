"""The public, stable interface for systems, arms and topologies of your own.

docs/your-own-algorithm.md builds a system with it. `posse new NAME` writes a first one.

A `System` consists of machines in one of five shapes, and of what it states about itself. A machine
takes events, each with its time, and answers with effects: `handle(event, now) -> effects`.
Machines exchange `Message`s, read `[parameters]` as a `Parameters`, and note `Row`s for tables.
"""

from posse.agent.masking import SumMasker
from posse.arms.base import ArmsContext
from posse.coordinator.masked_sum import MaskedSum
from posse.errors import SpecError
from posse.protocol import masking
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.log import PublicRow, Row
from posse.protocol.machine import (
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
    Variant,
)
from posse.protocol.message import Message
from posse.protocol.noise import Noise
from posse.protocol.privacy import Claim, Guarantee, Neighbours, OneRecord, OneReward, Release
from posse.results.base import Results, Standing
from posse.results.figures import Figure
from posse.results.record import Detail
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.system.bounds import Bound
from posse.system.claims import ClaimContext, unprotected
from posse.system.context import AgentContext, CoordinatorContext
from posse.system.network import Network, along
from posse.system.reading import Group, MessageReader, Statistic
from posse.system.record import Field, LabOnly, Loss, System, UnitInterval
from posse.system.shapes import (
    AgentRole,
    Alone,
    Mesh,
    MeshWithServer,
    ServerRole,
    SharedArms,
    Star,
    Wiring,
)
from posse.topologies.graphs import Graph, from_edges

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
    "Figure",
    "Finish",
    "FloatArray",
    "Graph",
    "Group",
    "Guarantee",
    "LabOnly",
    "Loss",
    "MaskedSum",
    "Mesh",
    "MeshWithServer",
    "Message",
    "MessageReader",
    "Neighbours",
    "Network",
    "Noise",
    "Note",
    "Observed",
    "OneRecord",
    "OneReward",
    "Parameters",
    "PeerFinished",
    "PeerLost",
    "Played",
    "PublicRow",
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
    "Statistic",
    "SumMasker",
    "System",
    "Timer",
    "TimerFired",
    "UnitInterval",
    "Variant",
    "Wiring",
    "along",
    "from_edges",
    "masking",
    "unprotected",
]
