"""The settings of section VII of Li and Song 2022, as run files."""

from typing import Any

import numpy as np

from posse.papers.experiment import run_file

ARMS: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 100}}
_MEANS = {"random": "uniform", "count": 10, "low": 0.1, "high": 0.9}
CENTRED: dict[str, Any] = {"kind": "bernoulli", "means": _MEANS}
HETEROGENEOUS: dict[str, Any] = {"kind": "bernoulli", "means": {**_MEANS, "spread": 0.1}}
T = 100_000
LONG = 1_000_000
M = 50
ASSUMED = "T is not printed: 10⁵. M = 50, K = 100, means U[0, 1]."
INSTANCE = 4
"""The seed of the one instance of the R-round forms, which must be told the smallest gap."""
SILENT = 1e9
"""An ε at which there is no noise to speak of."""


def cdp(agents: int = M, arms: dict[str, Any] = ARMS, **parameters: Any) -> dict[str, Any]:
    """CDP-MAB; ε = 1 if nothing else is said."""
    return run_file("cdp-mab", agents, arms, {"horizon": T, "epsilon": 1.0, **parameters})


def ddp(topology: dict[str, Any], **more: Any) -> dict[str, Any]:
    """DDP-MAB over a graph."""
    return {**cdp(**more), "system": "ddp-mab", "topology": topology}


def hdp(parts: list[dict[str, Any]], agents: int = 100, **more: Any) -> dict[str, Any]:
    """HDP-MAB over components, c1 = 50, c2 = 1."""
    return {
        **cdp(agents, c1=50.0, c2=1.0, **more),
        "system": "hdp-mab",
        "topology": {"kind": "components", "components": parts},
    }


def parts(kind: str, *sizes: int, **more: Any) -> list[dict[str, Any]]:
    """Components of one kind."""
    return [{"kind": kind, "count": size, **more} for size in sizes]


def instance() -> tuple[dict[str, Any], np.ndarray[Any, np.dtype[np.float64]]]:
    """The one instance of the R-round forms: its arms, and their gaps Δ_k in order."""
    means = {"random": "uniform", "count": 100, "seed": INSTANCE}
    drawn = np.sort(np.random.default_rng(INSTANCE).uniform(0.0, 1.0, 100))[::-1]
    return {"kind": "bernoulli", "means": means}, drawn[0] - drawn


def bounded(max_rounds: int, **parameters: Any) -> dict[str, Any]:
    """CDP-MAB in at most R rounds on that instance, told its smallest gap; T = 10^6."""
    arms, gaps = instance()
    gap = float(gaps[1])
    return cdp(arms=arms, max_rounds=max_rounds, gap=gap, horizon=LONG, **parameters)


def unlimited() -> dict[str, Any]:
    """CDP-MAB on that instance without a limit on its rounds; T = 10^6."""
    return cdp(arms=instance()[0], horizon=LONG)


GRAPHS: dict[str, dict[str, Any]] = {
    "complete": {"kind": "complete"},
    "star": {"kind": "star"},
    "ring": {"kind": "ring"},
    "random": {"kind": "erdos-renyi", "p": 0.1},
}
CASES = {
    "case 1: five complete": parts("complete", 20, 20, 20, 20, 20),
    "case 2: unequal": parts("complete", 53, 24, 10, 6, 7),
    "case 3: one complete": parts("complete", 100),
    "case 4: five random": parts("erdos-renyi", 20, 20, 20, 20, 20, p=0.3),
    "case 5: five stars": parts("star", 20, 20, 20, 20, 20),
    "case 6: alone": parts("single", 100),
}
"""Table II. Case 2 is printed as 63, 24, 10, 6, 7, which sums to 110; 53 is taken."""
