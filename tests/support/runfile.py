"""A run file that is right, and changes to it."""

from typing import Any

GOOD: dict[str, Any] = {
    "system": "dp-mase",
    "agents": {"count": 8},
    "arms": {"kind": "bernoulli", "means": [0.7, 0.5]},
    "parameters": {"epsilon": 0.1},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    raw = {key: dict(v) if isinstance(v, dict) else v for key, v in GOOD.items()}
    *parents, last = path.split(".")
    table: Any = raw
    for name in parents:
        table = table.setdefault(name, {})
    table[last] = value
    return raw
