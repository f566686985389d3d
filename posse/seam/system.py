"""The record of a system: who takes part, how its machines are made, what audits read."""

from posse.errors import SpecError
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec
from posse.system.context import AgentContext, CoordinatorContext, making
from posse.system.network import Network, along
from posse.system.reading import (
    ITEMS,
    Frames,
    Group,
    MessageReader,
    Named,
    Statistic,
    are_floats,
    read_fields,
    unpack,
)
from posse.system.record import ALONE, Field, LabOnly, Loss, System, UnitInterval, advise_deviation
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

__all__ = [
    "ALONE",
    "ITEMS",
    "AgentContext",
    "AgentRole",
    "Alone",
    "CoordinatorContext",
    "Field",
    "Frames",
    "Group",
    "LabOnly",
    "Loss",
    "Mesh",
    "MeshWithServer",
    "MessageReader",
    "Named",
    "Network",
    "Purpose",
    "RunSpec",
    "ServerRole",
    "SharedArms",
    "SpecError",
    "Star",
    "Statistic",
    "System",
    "UnitInterval",
    "Wiring",
    "advise_deviation",
    "along",
    "are_floats",
    "generator",
    "making",
    "read_fields",
    "unpack",
]
