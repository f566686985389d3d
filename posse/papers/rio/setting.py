"""The two problems of Rio et al. 2023 (appendix C.1) and their systems as run files."""

from typing import Any

from posse.papers.experiment import run_file

PROBLEMS: dict[int, dict[str, Any]] = {
    1: {"kind": "bernoulli", "means": [0.7, 0.5, 0.3] + [0.1] * 7},
    2: {"kind": "gaussian", "means": [11.0, 10.8] + [10.4] * 8, "sd": 0.5},
}
DELTA = 0.05
XIS = (0.0, 0.05, 0.1)
ASSUMED = "N = 64, 128, 256, 512, 1024 (the text says 64 to 1024; quick: 64 and 256)."


def agents(quick: bool) -> list[int]:
    """N of the figures."""
    return [64, 256] if quick else [64, 128, 256, 512, 1024]


def run(
    system: str, count: int, problem: int = 1, activity: Any = None, **parameters: Any
) -> dict[str, Any]:
    """One system with N = `count` on a problem."""
    found = run_file(system, count, PROBLEMS[problem], {"delta": DELTA, **parameters})
    return found | {"agents": {"count": count, "activity": activity}} if activity else found


def dp(count: int, epsilon: float, beta: float = 0.5, **more: Any) -> dict[str, Any]:
    """DP-MASE."""
    return run("dp-mase", count, epsilon=epsilon, beta=beta, **more)


def corrupted(count: int, xi: float, eta: float = 0.9, **more: Any) -> dict[str, Any]:
    """Corrupted Elimination, at ξ = 0 the algorithm of Féraud et al. 2019."""
    return run("corrupted-elimination", count, xi=xi, eta=eta, **more)
