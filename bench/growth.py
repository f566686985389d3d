"""How the time of a repetition in memory grows with N, K, T and the graph's edges, per family.

The exponent is the slope between two sizes, the second four times the first, all else equal. The
table also says what grows in the algorithm itself, to tell its cost from posse's.
"""

import math
from typing import Any

from bench.memory import seconds
from bench.tables import run_file, show

FACTOR = 4
ROUNDS = 3


def _raw(system: str, N: int, K: int, T: int | None, **parameters: Any) -> dict[str, Any]:
    given = parameters if T is None else {"horizon": T, **parameters}
    means = [0.9] + [0.3] * (K - 1)
    return run_file(system, N, means, parameters=given, engine={"kind": "memory"})


def _mesh(system: str, N: int, K: int, T: int, degree: int, **parameters: Any) -> dict[str, Any]:
    graph = {"kind": "regular", "degree": degree}
    return _raw(system, N, K, T, **parameters) | {"topology": graph}


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
        lambda N, K: _raw("dp-mase", N, K, None, delta=0.05, epsilon=0.25, beta=0.5),
        {"N": 64, "K": 4},
        {"N": "N votes an arm", "K": "K arms to drop"},
    )
    for gamma in (1, 2):
        grow(
            f"cooperative (cooperative-ucb, γ = {gamma})",
            lambda N, K, T, degree, gamma=gamma: _mesh(
                "cooperative-ucb", N, K, T, degree, gamma=gamma
            ),
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
        lambda N, K, T: _raw("tdfs-ucb", N, K, T),
        {"N": 3, "K": 16, "T": 2_000},
        {"N": "N players", "K": "K indices", "T": "T slots"},
    )
    grow(
        "anonymous (greedy)",
        lambda N, K, T: _raw("anonymous", N, K, T, group_size=2, learning_rate=0.01),
        {"N": 24, "K": 4, "T": 20_000},
        {"N": "N users", "K": "K sets of groups", "T": "T rewards, in log T batches"},
    )
    grow(
        "federated (cdp-mab)",
        lambda N, K, T: _raw("cdp-mab", N, K, T, epsilon=1.0),
        {"N": 16, "K": 16, "T": 20_000},
        {"N": "N sums", "K": "K sums", "T": "log T rounds"},
    )
    return found


def main() -> None:
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
