"""The cost of a decision of Algorithm 3 by its trimmed estimator, with 10³ and 10⁶ samples."""

import time
from collections.abc import Callable

import numpy as np

from bench.tables import show
from posse.protocol.arrays import FloatArray
from posse_systems.dubey2020.trimmed import TrimmedMeans

SAMPLES = (10**3, 10**6)
ARMS = 5


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


def main() -> None:
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
