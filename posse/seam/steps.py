"""Steps over arrays: a second reading of a system's machines, for the lab."""

from posse.clocks.virtual import LOOK_AHEAD
from posse.protocol.wire import measure_payloads
from posse.system.steps import (
    Crowd,
    Declined,
    Groups,
    GroupStep,
    ManyRuns,
    Queues,
    RunStep,
    Sent,
    Stepped,
    Steps,
    Ties,
    Turns,
    TurnStep,
)

__all__ = [
    "LOOK_AHEAD",
    "Crowd",
    "Declined",
    "GroupStep",
    "Groups",
    "ManyRuns",
    "Queues",
    "RunStep",
    "Sent",
    "Stepped",
    "Steps",
    "Ties",
    "TurnStep",
    "Turns",
    "measure_payloads",
]
