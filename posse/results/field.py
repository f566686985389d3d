"""A run of the field: what a coordinator may know of it, and nothing that agents keep.

They report neither pulls nor regret nor what they released or sent each other. The arms that all
share, and the messages on its own links, are the coordinator's own.
"""

from posse.results.assembly import Seen, begun, claimed, delay
from posse.results.record import RunRecord
from posse.results.traffic import traffic
from posse.spec.runfile import RunSpec


def record(spec: RunSpec, seen: Seen) -> RunRecord:
    """The record of the run."""
    found = begun(seen)
    found.links = seen.meter.links()
    found.communication = traffic(found.links, between_agents=not seen.linked)
    found.delay = delay(seen.delays.histogram())
    found.privacy = claimed(spec, seen.claim)
    return found
