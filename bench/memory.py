"""The cost of one repetition in engine `memory`, in processor seconds.

A paper's figure takes some hundred repetitions for each of its points. `growth`: how it grows with
N, K, T and the graph's edges, per family. The exponent is the slope between two sizes, the second
four times the first, all else equal. The table also says what grows in the algorithm itself, to
tell its cost from posse's.
"""

import math
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.tables import FIVE, hold, run_file, show, spread
from posse.engines import memory
from posse.papers.esfandiari import figures
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
    given: dict[str, Any] = {"decomposition": how, "feedback": "demand", "learning_rate": rate}
    found = figures.anonymous(100, figures.UNIFORM, 10**5, **given)
    return found | {"seed": 1, "engine": {"kind": "memory"}}


CASES: dict[str, tuple[dict[str, Any], float | None]] = {
    "cooperative-ucb, 60 agents, p = .1, γ = 2, T = 300":
        (_on_graph("cooperative-ucb", 60, horizon=300, gamma=2), 0.6),
    "cooperative-ucb, 200 agents, p = .1, γ = 1, T = 1,000":
        (_on_graph("cooperative-ucb", 200, horizon=1000, gamma=1), 6.0),
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


Case = tuple[str, str, dict[str, Any], dict[str, Any], str]


def cases() -> list[Case]:
    """Family, what grows, the smaller run, the larger one, and the work of the algorithm itself."""
    found: list[Case] = []

    def grow(family: str, make: Any, small: dict[str, int], own: dict[str, str]) -> None:
        for name, work in own.items():
            large = small | {name: small[name] * FACTOR}
            found.append((family, name, make(**small), make(**large), work))

    grow(
        "mase (dp-mase)",
        lambda N, K: _sized("dp-mase", N, K, delta=0.05, epsilon=0.25, beta=0.5),
        {"N": 64, "K": 4},
        {"N": "N votes an arm", "K": "K arms to drop"},
    )
    for gamma in (1, 2):
        grow(
            f"cooperative (cooperative-ucb, γ = {gamma})",
            lambda gamma=gamma, **size: _sized("cooperative-ucb", **size, gamma=gamma),
            {"N": 50, "K": 5, "T": 100, "degree": 6},
            {
                "N": "N agents, who know N each",
                "K": "K numbers a message",
                "T": "T slots",
                "degree": "edges" if gamma == 1 else "edges, each with its end's neighbours",
            },
        )
    grow(
        "players (tdfs-ucb)",
        lambda N, K, T: _sized("tdfs-ucb", N, K, T),
        {"N": 3, "K": 16, "T": 2_000},
        {"N": "N players", "K": "K indices", "T": "T slots"},
    )
    grow(
        "anonymous (lp)",
        lambda N, K, T: _sized("anonymous", N, K, T, group_size=2, learning_rate=0.01),
        {"N": 24, "K": 4, "T": 20_000},
        {"N": "N users", "K": "K sets of groups", "T": "T rewards, in log T batches"},
    )
    grow(
        "federated (cdp-mab)",
        lambda N, K, T: _sized("cdp-mab", N, K, T, epsilon=1.0),
        {"N": 16, "K": 16, "T": 20_000},
        {"N": "N sums", "K": "K sums", "T": "log T rounds"},
    )
    return found


def growth() -> None:
    rows = []
    for family, name, small, large, work in cases():
        low, high = (min(seconds(raw) for _ in range(ROUNDS)) for raw in (small, large))
        exponent = math.log(high / low) / math.log(FACTOR)
        rows.append([family, name, f"{low:.3f}", f"{high:.3f}", f"{exponent:.2f}", work])
    show(
        f"growth of a repetition in memory, processor seconds, least of {ROUNDS}; sizes x {FACTOR}",
        ["", "grows", "small", "large", "exponent", "the algorithm's own work"],
        rows,
    )
