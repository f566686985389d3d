"""The cost of one repetition in engine `memory`, in processor seconds.

A paper's figure takes some hundred repetitions for each of its points. `growth`: how it grows with
N, K, T and the graph's edges, per family. The exponent is the slope between two sizes, the second
four times the first, all else equal. The table also says what grows in the algorithm itself, to
tell its cost from posse's.
"""

import math
import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

from bench.tables import FIVE, hold, run_file, show, spread
from posse.engines import memory
from posse.plan import prepare

ROUNDS, FACTOR = 3, 4


def _case(
    system: str, agents: int, means: Sequence[float] = FIVE, topology: Any = None, **given: Any
) -> dict[str, Any]:
    raw = run_file(system, agents, means, parameters=given, engine={"kind": "memory"})
    return raw if topology is None else raw | {"topology": topology}


_TENTH = {"kind": "erdos-renyi", "p": 0.1}
_TEN = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]


def _on_graph(system: str, agents: int, **given: Any) -> dict[str, Any]:
    return _case(system, agents, topology=_TENTH, **given)


def _users(how: str, rate: float) -> dict[str, Any]:
    given = {"decomposition": how, "feedback": "demand", "learning_rate": rate}
    return {
        "system": "anonymous",
        "agents": {"count": 100},
        "arms": {
            "kind": "bernoulli",
            "means": {"random": "uniform", "count": 5, "per_agent": True},
        },
        "parameters": {"horizon": 10**5, "group_size": 5, "aggregation": "sink", **given},
        "seed": 1,
        "engine": {"kind": "memory"},
    }


CASES: dict[str, tuple[dict[str, Any], float | None]] = {
    "cooperative-ucb, 60 agents, p = .1, γ = 2, T = 300":
        (_on_graph("cooperative-ucb", 60, horizon=300, gamma=2), 0.1),
    "cooperative-ucb, 200 agents, p = .1, γ = 1, T = 1,000":
        (_on_graph("cooperative-ucb", 200, horizon=1000, gamma=1), 0.6),
    "cooperative-ucb, 200 agents, all linked, γ = 1, T = 1,000":
        (_case("cooperative-ucb", 200, topology={"kind": "complete"}, horizon=1000, gamma=1), 1.2),
    "private-ucb, 200 agents, p = .1, γ = 2, T = 200":
        (_on_graph("private-ucb", 200, horizon=200, gamma=2, epsilon=0.5), None),
    "byzantine-ucb, 60 agents, p = .1, γ = 2, T = 300":
        (_on_graph("byzantine-ucb", 60, horizon=300, gamma=2), None),
    **{
        f"{system}, 3 players, T = 20,000": (_case(system, 3, _TEN, horizon=20_000, **more), bar)
        for system, more, bar in (
            ("tdfs-ucb", {}, 0.4),
            ("tdfs-private-bound", {"epsilon": 1.0}, None),
            ("tdfs-private", {"epsilon": 1.0}, None),
        )
    },
    **{
        f"anonymous, {how}, 100 users, 5 arms, T = 10^5": (_users(how, rate), 2.0)
        for how, rate in (("greedy", 0.0025), ("random", 0.02), ("lp", 0.02))
    },
}  # fmt: skip
"""By name the run file, and the largest number of processor seconds, if there is a bar."""


def seconds(raw: dict[str, Any], number: int = 0) -> float:
    """Processor seconds of one repetition."""
    plan = prepare(raw)
    began = time.process_time()
    memory.run(plan, number)
    return time.process_time() - began


def main() -> None:
    taken = {name: [seconds(raw) for _ in range(ROUNDS)] for name, (raw, _) in CASES.items()}
    show(
        f"one repetition in memory, processor seconds, {ROUNDS} rounds: median (least-greatest)",
        ["", "seconds"],
        [[name, spread(values)] for name, values in taken.items()],
    )
    for name, (_, bar) in CASES.items():
        if bar is not None:
            hold(name, median(taken[name]), bar, most=True)


def _sized(
    system: str, N: int, K: int, T: int | None = None, degree: int = 0, **given: Any
) -> dict[str, Any]:
    graph = {"kind": "regular", "degree": degree} if degree else None
    horizon = {} if T is None else {"horizon": T}
    return _case(system, N, [0.9] + [0.3] * (K - 1), graph, **horizon, **given)


GROWING: dict[str, tuple[Any, dict[str, tuple[int, str]]]] = {
    "mase (dp-mase)": (
        partial(_sized, "dp-mase", delta=0.05, epsilon=0.25, beta=0.5),
        {"N": (64, "N votes an arm"), "K": (4, "K arms to drop")},
    ),
    **{
        f"cooperative (cooperative-ucb, γ = {gamma})": (
            partial(_sized, "cooperative-ucb", gamma=gamma),
            {
                "N": (50, "N agents, who know N each"),
                "K": (5, "K numbers a message"),
                "T": (100, "T slots"),
                "degree": (6, edges),
            },
        )
        for gamma, edges in ((1, "edges"), (2, "edges, each with its end's neighbours"))
    },
    "players (tdfs-ucb)": (
        partial(_sized, "tdfs-ucb"),
        {"N": (3, "N players"), "K": (16, "K indices"), "T": (2_000, "T slots")},
    ),
    "anonymous (lp)": (
        partial(_sized, "anonymous", group_size=2, learning_rate=0.01),
        {
            "N": (24, "N users"),
            "K": (4, "K sets of groups"),
            "T": (20_000, "T rewards, in log T batches"),
        },
    ),
    "federated (cdp-mab)": (
        partial(_sized, "cdp-mab", epsilon=1.0),
        {"N": (16, "N sums"), "K": (16, "K sums"), "T": (20_000, "log T rounds")},
    ),
}
"""By family how its run file is made, and of each size the smaller one and what grows with it in
the algorithm itself."""


def growth() -> None:
    rows = []
    for family, (make, sizes) in GROWING.items():
        small = {name: size for name, (size, _) in sizes.items()}
        for name, (size, work) in sizes.items():
            raws = make(**small), make(**small | {name: size * FACTOR})
            low, high = (min(seconds(raw) for _ in range(ROUNDS)) for raw in raws)
            exponent = f"{math.log(high / low) / math.log(FACTOR):.2f}"
            rows.append([family, name, f"{low:.3f}", f"{high:.3f}", exponent, work])
    show(
        f"growth of a repetition in memory, processor seconds, least of {ROUNDS}; sizes x {FACTOR}",
        ["", "grows", "small", "large", "exponent", "the algorithm's own work"],
        rows,
    )
