"""Cooperation on a graph: the mesh against bare sockets, and the trimmed estimator's cost.

The mesh: `cooperative-ucb`, γ = 1, every agent a process, against the same number of frames of the
same size between bare blocking PUSH and PULL sockets on the same graph. Rounds alternate.
The estimator: one decision of Algorithm 3 with 10³ and with 10⁶ samples of each arm.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from agent.trimmed import TrimmedMeans
from bench.bare_mesh import bare_mesh
from bench.tables import hold, show, spread
from posse.engines.processes import ProcessEngine
from posse.plan import prepare
from protocol.machine import FloatArray

MESHES = ((200, 0.1, 60, 3, 0.75), (64, 0.15, 200, 5, 0.65))
"""Agents, p of the Erdős–Rényi graph, slots, rounds, and the bar."""

SAMPLES = (10**3, 10**6)
ARMS = 5


def mesh(agents: int, p: float, slots: int, rounds: int, bar: float) -> None:
    plan = prepare(
        {
            "system": "cooperative-ucb",
            "seed": 1,
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.7, 0.5, 0.3, 0.1]},
            "topology": {"kind": "erdos-renyi", "p": p},
            "parameters": {"horizon": slots, "gamma": 1},
        }
    )
    ours: list[float] = []
    bare: list[float] = []
    cpus: list[tuple[float, float]] = []
    size = 0
    with ProcessEngine(plan) as engine:
        engine.run(plan, 0)  # warm
        for _ in range(rounds):
            record = engine.run(plan, 0)
            assert record.elapsed_seconds is not None
            assert record.resources is not None
            data = record.communication.data
            size = data.frame_bytes // data.messages
            ours.append(data.messages / record.elapsed_seconds)
            cpu = sum(record.resources.cpu_seconds_per_agent) / data.messages
            frames, seconds, used = bare_mesh(plan.spec.graph(0), slots, size)
            assert frames == data.messages
            bare.append(frames / seconds)
            cpus.append((1e6 * cpu, 1e6 * used / frames))
    show(
        f"mesh: {agents} processes, p = {p}, {slots} slots, frames of {size} bytes, {rounds} "
        "rounds: median (least-greatest)",
        ["", "frames/s", "CPU us/frame"],
        [
            ["posse", spread(ours, "{:,.0f}"), spread([a for a, _ in cpus], "{:.1f}")],
            ["bare pyzmq", spread(bare, "{:,.0f}"), spread([b for _, b in cpus], "{:.1f}")],
        ],
    )
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    print(f"  ratio of frames/s   {spread(ratios)}")
    hold(f"cooperative, {agents} agents, of bare pyzmq's frames/s", median(ratios), bar)


def _decision_us(samples: int, rewards: np.ndarray) -> float:
    kept = TrimmedMeans(ARMS)
    for k in range(ARMS):
        kept.add(np.full(samples, k), rewards)
    repeats, best = 200, float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(repeats):
            kept.estimate(0.001, 1e-6)
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


if __name__ == "__main__":
    main()
