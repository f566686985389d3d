"""Run files: what makes them, one that is right, and changes to it."""

from typing import Any


def describe_run(system: str, agents: Any, arms: Any, **tables: Any) -> dict[str, Any]:
    """A run file of this many agents and of Bernoulli arms of these means, or of these two tables.

    A topology and an engine may be given by their kinds alone.
    """
    for name in ("topology", "engine"):
        if isinstance(tables.get(name), str):
            tables[name] = {"kind": tables[name]}
    return {
        "system": system,
        "agents": agents if isinstance(agents, dict) else {"count": agents},
        "arms": arms if isinstance(arms, dict) else {"kind": "bernoulli", "means": arms},
        **tables,
    }


GOOD = describe_run("dp-mase", 8, [0.7, 0.5], parameters={"epsilon": 0.1})

FIELD = """
system = "dp-mase"
mode = "field"
agents.count = 8
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
parameters.epsilon = 0.5
"""


def changed(path: str, value: Any) -> dict[str, Any]:
    raw = {key: dict(v) if isinstance(v, dict) else v for key, v in GOOD.items()}
    *parents, last = path.split(".")
    table: Any = raw
    for name in parents:
        table = table.setdefault(name, {})
    table[last] = value
    return raw
