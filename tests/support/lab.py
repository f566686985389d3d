"""A small run of the lab of each system, made once for all tests that look at it."""

from functools import cache
from typing import Any

from posse.engines import memory
from posse.plan import Plan, prepare
from posse.results.record import RunRecord
from tests.support.field import CASES, MEANS


def lab(system: str, **changes: Any) -> Plan:
    """The plan."""
    arms = {"kind": "bernoulli", "means": list(MEANS)}
    raw = {"system": system, "agents": {"count": 4}, "arms": arms, "seed": 5}
    return prepare(raw | CASES.get(system, {}) | changes)


@cache
def record_of(system: str, number: int = 0) -> RunRecord:
    """The record of the plan's run with this number, which nobody changes."""
    return memory.run(lab(system), number)
