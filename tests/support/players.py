"""Run specifications of players for tests."""

from typing import Any

from posse.plan import Plan, prepare
from tests.support.runfile import describe_run

SYSTEMS = {
    "tdfs-ucb": {},
    "tdfs-private-bound": {"epsilon": 0.5},
    "tdfs-private": {"epsilon": 0.5},
    "random-player": {},
}


FIGURE_2 = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]


def spec(
    system: str = "tdfs-ucb",
    players: int = 3,
    horizon: int = 300,
    means: Any = FIGURE_2,
    engine: Any = None,
    **parameters: Any,
) -> Plan:
    changes = {name: parameters.pop(name) for name in ("variant", "seed") if name in parameters}
    parameters = {"horizon": horizon, **SYSTEMS[system], **parameters}
    engine = {"deadline": 20.0, **(engine or {})}
    arms = {"kind": "bernoulli", "means": means}
    run = describe_run(system, players, arms, seed=4, parameters=parameters, engine=engine)
    return prepare(run | changes)
