"""A run of the field: what a coordinator may know of it, and nothing that agents keep.

They report neither pulls nor regret nor what they released or sent each other. The arms that all
share, and the messages on its own links, are the coordinator's own.
"""

from posse.plan import Plan
from posse.results.assembly import Seen, begun, claimed, delay
from posse.results.record import RunRecord
from posse.results.traffic import traffic


def record(plan: Plan, run: int, seen: Seen) -> RunRecord:
    """The record of run `run`."""
    found = begun(plan.spec, run, seen)
    found.links = seen.meter.links()
    found.communication = traffic(found.links, between_agents=plan.system.wiring is None)
    found.delay = delay(seen.delays.histogram())
    found.privacy = claimed(plan)
    return found
