"""Run files whose claims tests look at."""

from typing import Any

from posse.plan import Plan, prepare

RING = {"kind": "ring"}
ONE_LOG = {"kind": "csv", "path": "rewards.csv", "count": 5}
LOGS = {"kind": "csv", "path": "rewards-{rank}.csv", "count": 5}


def plan(system: str, agents: int = 4, **changes: Any) -> Plan:
    """A run of the system; `mode = "field"` takes its rewards from logs."""
    players = system.startswith("tdfs") or system == "random-player"
    field = changes.get("mode") == "field"
    arms: Any = {"kind": "bernoulli", "means": [0.9, 0.7, 0.5, 0.3, 0.1]}
    if field and "arms" not in changes:
        arms = ONE_LOG if players else LOGS
    raw: dict[str, Any] = {"system": system, "agents": {"count": agents}, "arms": arms, **changes}
    return prepare(raw)
