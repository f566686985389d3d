"""Cooperation on a graph: the mesh against bare sockets, and the cost of the trimmed estimator.

The mesh: `cooperative-ucb`, γ = 1, every agent a process, against the same number of frames of the
same size over bare blocking PUSH and PULL sockets on the same graph. The estimator: one decision of
Algorithm 3 with 10³ and with 10⁶ samples of each arm.
"""

import time
from collections.abc import Callable

import numpy as np

from agent.trimmed import TrimmedMeans
from bench import bare
from bench.tables import run_file, show
from protocol.machine import FloatArray

MESHES = ((200, 0.1, 60, 3, 0.75), (64, 0.15, 200, 5, 0.65))
"""Agents, p of the Erdős–Rényi graph, slots, rounds, and the bar."""

SAMPLES = (10**3, 10**6)
ARMS = 5


def mesh(agents: int, p: float, slots: int, rounds: int, bar: float) -> None:
    topology = {"kind": "erdos-renyi", "p": p}
    parameters = {"horizon": slots, "gamma": 1}
    raw = run_file("cooperative-ucb", agents, parameters=parameters, topology=topology)
    bare.compare_on_graph(f"cooperative, {agents} agents, p = {p}", raw, slots, rounds, bar)


def _decision_us(samples: int, rewards: np.ndarray) -> float:
    kept = TrimmedMeans(ARMS)
    for k in range(ARMS):
        kept.add(np.full(samples, k), rewards)
    repeats, best = 200, float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(repeats):
            kept.estimate(0.001, [1e-6])
        best = min(best, (time.perf_counter() - began) / repeats)
    return 1e6 * best


def estimator() -> None:
    random = np.random.default_rng(0)
    rows = []
    draws: dict[str, Callable[[int], FloatArray]] = {
        "0 or 1, some lies": lambda n: (
            random.binomial(1, 0.6, n) + 9.0 * random.binomial(1, 1e-3, n)
        ),
        "continuous": lambda n: random.normal(0.5, 0.2, n),
    }
    for name, draw in draws.items():
        costs = [_decision_us(n, draw(n)) for n in SAMPLES]
        rows.append([name, *(f"{cost:.0f}" for cost in costs), f"{costs[1] / costs[0]:.2f}"])
    show(
        f"trimmed estimator: one decision over {ARMS} arms, microseconds, best of 5",
        ["rewards", *(f"{n:,} samples" for n in SAMPLES), "ratio"],
        rows,
    )


def main() -> None:
    for mesh_of in MESHES:
        mesh(*mesh_of)
    estimator()
