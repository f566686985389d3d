"""Steps over arrays: a second reading of a system's machines, for the lab."""

from posse.protocol.wire import measure_payloads
from posse.system.steps import (
    Crowd,
    Declined,
    ManyRuns,
    Queues,
    RunStep,
    Sent,
    Stepped,
    Steps,
    Ties,
)

__all__ = [
    "Crowd",
    "Declined",
    "ManyRuns",
    "Queues",
    "RunStep",
    "Sent",
    "Stepped",
    "Steps",
    "Ties",
    "measure_payloads",
]
