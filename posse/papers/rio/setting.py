"""The two problems of Rio et al. 2023 (appendix C.1) and their systems as run files."""

from typing import Any

from posse.papers.experiment import VARIANTS, Lines, Runs, run_file
from protocol.machine import Variant

PROBLEMS: dict[int, dict[str, Any]] = {
    1: {"kind": "bernoulli", "means": [0.7, 0.5, 0.3] + [0.1] * 7},
    2: {"kind": "gaussian", "means": [11.0, 10.8] + [10.4] * 8, "sd": 0.5},
}
DELTA = 0.05
ASSUMED = "N = 64, 128, 256, 512, 1024 (the text says 64 to 1024; quick: 64 and 256)."
SPREAD = "The deviation of Problem 2's rewards is not printed: 0.5."
CONTRADICTION = (
    "M contradicts itself in the paper: line 1 of Algorithm 3 takes it from log η (printed), the "
    "text after Proposition 5.3 from log η_ξ (corrected)."
)


ALONE = (
    "In INDEPENDENT an agent that has chosen leaves the draw, and rounds count the others' turns."
)


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


EPSILONS = (0.05, 0.1, 0.25)
XIS = (0.0, 0.05, 0.1)


def dp_lines(panel: str) -> tuple[str, ...]:
    """DP-MASE's lines, the most private first."""
    return tuple(f"{panel}: ε={epsilon:g}" for epsilon in EPSILONS)


def xi_lines(panel: str) -> tuple[str, ...]:
    """Corrupted Elimination's lines, the least corrupted first."""
    return tuple(f"{panel}: ξ={xi:g}" for xi in XIS)


FORMS: dict[int, tuple[Variant, ...]] = {1: VARIANTS, 2: ("printed",)}
"""Of DP-MASE by problem: the rewards of Problem 2 have no bound, so that it is printed only."""


def often(run: dict[str, Any], problem: int = 1) -> Runs:
    """DP-MASE, ten times as often for 64 agents.

    Their last votes fall into the second or the third epoch, which is four times as long, so that
    means need many runs.
    """
    times = 10 if run["agents"]["count"] == 64 else 1
    return Runs(run, times=times, variants=FORMS[problem])


def dp_against_n(panel: str, problem: int, counts: list[int]) -> Lines:
    """DP-MASE."""
    return {
        line: {n: often(dp(n, epsilon, problem=problem), problem) for n in counts}
        for line, epsilon in zip(dp_lines(panel), EPSILONS, strict=True)
    }


def xi_against_n(panel: str, problem: int, counts: list[int]) -> Lines:
    """Corrupted Elimination."""
    return {
        line: {n: corrupted(n, xi, problem=problem) for n in counts}
        for line, xi in zip(xi_lines(panel), XIS, strict=True)
    }


def baselines(panel: str, problem: int, counts: list[int]) -> Lines:
    """CENTRAL and INDEPENDENT."""
    return {
        f"{panel}: {name}": {n: run(name.lower(), n, problem) for n in counts}
        for name in ("CENTRAL", "INDEPENDENT")
    }
