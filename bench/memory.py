"""The cost of one repetition in engine `memory`, in processor seconds.

A paper's figure takes some hundred repetitions for each of its points.
"""

import time
from statistics import median
from typing import Any

from bench.tables import hold, run_file, show, spread
from posse.engines import memory
from posse.papers.esfandiari import figures
from posse.plan import prepare

ROUNDS = 3


def _case(
    system: str, agents: int, topology: dict[str, Any] | None, **given: Any
) -> dict[str, Any]:
    raw = run_file(system, agents, parameters=given, engine={"kind": "memory"})
    return raw if topology is None else raw | {"topology": topology}


_TENTH = {"kind": "erdos-renyi", "p": 0.1}
_TEN = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]

CASES: tuple[tuple[str, dict[str, Any], float | None], ...] = (
    (
        "cooperative-ucb, 60 agents, p = .1, γ = 2, T = 300",
        _case("cooperative-ucb", 60, _TENTH, horizon=300, gamma=2),
        0.6,
    ),
    (
        "cooperative-ucb, 200 agents, p = .1, γ = 1, T = 1,000",
        _case("cooperative-ucb", 200, _TENTH, horizon=1000, gamma=1),
        6.0,
    ),
    (
        "private-ucb, 200 agents, p = .1, γ = 2, T = 200",
        _case("private-ucb", 200, _TENTH, horizon=200, gamma=2, epsilon=0.5),
        None,
    ),
    (
        "byzantine-ucb, 60 agents, p = .1, γ = 2, T = 300",
        _case("byzantine-ucb", 60, _TENTH, horizon=300, gamma=2),
        None,
    ),
    *(
        (
            f"{system}, 3 players, T = 20,000",
            _case(system, 3, None, horizon=20_000, **more)
            | {"arms": {"kind": "bernoulli", "means": _TEN}},
            bar,
        )
        for system, more, bar in (
            ("tdfs-ucb", {}, 0.4),
            ("tdfs-private-bound", {"epsilon": 1.0}, None),
            ("tdfs-private", {"epsilon": 1.0}, None),
        )
    ),
    *(
        (
            f"anonymous, {how}, 100 users, 5 arms, T = 10^5",
            figures.anonymous(
                100,
                figures.UNIFORM,
                10**5,
                decomposition=how,
                feedback="demand",
                learning_rate=rate,
            )
            | {"seed": 1, "engine": {"kind": "memory"}},
            2.0,
        )
        for how, rate in (("greedy", 0.0025), ("random", 0.02), ("lp", 0.02))
    ),
)
"""Name and run file, and the largest number of processor seconds, if there is a bar."""


def seconds(raw: dict[str, Any], number: int = 0) -> float:
    """Processor seconds of one repetition."""
    plan = prepare(raw)
    began = time.process_time()
    memory.run(plan, number)
    return time.process_time() - began


def main() -> None:
    rows, bars = [], []
    for name, raw, bar in CASES:
        taken = [seconds(raw) for _ in range(ROUNDS)]
        rows.append([name, spread(taken)])
        if bar is not None:
            bars.append((name, median(taken), bar))
    show(
        f"one repetition in memory, processor seconds, {ROUNDS} rounds: median (least-greatest)",
        ["", "seconds"],
        rows,
    )
    for name, taken_by, bar in bars:
        hold(name, taken_by, bar, most=True)
