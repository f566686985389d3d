"""A small run of every system that posse has, by which both engines are compared."""

from typing import Any

_ARMS = {"kind": "bernoulli", "means": [0.9, 0.5, 0.2]}
_USERS = {"kind": "bernoulli", "means": {"random": "uniform", "count": 3, "per_agent": True}}


def _run(agents: int, arms: dict[str, Any] = _ARMS, **parameters: Any) -> dict[str, Any]:
    return {"agents": {"count": agents}, "arms": arms, "parameters": parameters}


def _ring(agents: int, **parameters: Any) -> dict[str, Any]:
    return {**_run(agents, **parameters), "topology": {"kind": "ring"}}


_PARTS = {"kind": "components", "components": [{"kind": "ring", "count": 3}] * 2}

SMALL: dict[str, dict[str, Any]] = {
    "mase": _run(8),
    "dp-mase": _run(8, epsilon=1.0),
    "corrupted-elimination": _run(32, xi=0.1),
    "central": _run(4),
    "independent": _run(4),
    "private-ucb": _ring(6, horizon=60, epsilon=1.0),
    "byzantine-ucb": _ring(6, horizon=60),
    "robust-private-ucb": _ring(6, horizon=60, epsilon=1.0),
    "cooperative-ucb": _ring(6, horizon=60),
    "ucb1": _run(3, horizon=100),
    "dp-ucb-int": _run(3, horizon=100, epsilon=1.0),
    "adap-ucb": _run(3, horizon=100, epsilon=1.0),
    "tdfs-ucb": _run(2, horizon=100),
    "tdfs-private": _run(2, horizon=100, epsilon=1.0),
    "tdfs-private-bound": _run(2, horizon=100, epsilon=1.0),
    "random-player": _run(2, horizon=100),
    "anonymous": _run(12, _USERS, horizon=600, group_size=3),
    "explore-then-commit": _run(12, _USERS, horizon=300, group_size=3),
    "parallel-ucb": _run(4, _USERS, horizon=300),
    "cdp-mab": _run(4, horizon=3000, epsilon=1.0),
    "ddp-mab": _ring(4, horizon=3000, epsilon=1.0),
    "hdp-mab": {**_run(6, horizon=3000, epsilon=1.0), "topology": _PARTS},
    "single-mab": _run(2, horizon=3000, epsilon=1.0),
}
"""By system: a run file's tables without system, seed, variant and engine."""
