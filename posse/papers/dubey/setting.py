"""The setting of section 5 of Dubey and Pentland 2020, as run files."""

from typing import Any

from posse.papers.experiment import run_file

ARMS: dict[str, Any] = {"kind": "bernoulli", "means": {"random": "uniform", "count": 5}}
MIDDLE: dict[str, Any] = {
    "kind": "bernoulli",
    "means": {"random": "uniform", "count": 5, "low": 0.3, "high": 0.7},
}
V = 1.1
HALF_WAY = "diameter/2"
"""γ where nothing else is said, rounded up."""
ASSUMED = (
    "M = 200, p = .1, K = 5 as printed, T = 1000 for all, v = 1.1, γ = diameter/2 rounded up; "
    "quick: M = 30, p = .25, T = 150, a graph of about the same diameter."
)
LIES = "Byzantine agents: all, each reward replaced by 1 with the rate."
REGRET = "regret of all agents"
_ALONE = ("ucb1", "dp-ucb-int")


def sizes(quick: bool) -> tuple[int, float, int]:
    """M, p and T."""
    return (30, 0.25, 150) if quick else (200, 0.1, 1000)


def run(system: str, quick: bool, arms: dict[str, Any] = ARMS, **parameters: Any) -> dict[str, Any]:
    """A system on Erdős and Rényi's graph, or M agents alone."""
    agents, p, horizon = sizes(quick)
    linked = {} if system in _ALONE else {"topology": {"kind": "erdos-renyi", "p": p}}
    return run_file(system, agents, arms, {"horizon": horizon, **parameters}, **linked)


def private(
    quick: bool, epsilon: float, gamma: Any = HALF_WAY, noise_at: str = "source"
) -> dict[str, Any]:
    """Private Multi-Agent UCB."""
    return run("private-ucb", quick, epsilon=epsilon, gamma=gamma, noise_at=noise_at)


def byzantine(
    quick: bool, rate: float, gamma: Any = HALF_WAY, assumed: float | None = None, **more: Any
) -> dict[str, Any]:
    """Byzantine-Proof Multi-Agent UCB, means U[.3, .7]."""
    does = {"rate": rate, **more}
    parameters = {} if assumed is None else {"assumed_contamination": assumed}
    return run("byzantine-ucb", quick, MIDDLE, gamma=gamma, contamination=does, **parameters)


def central(quick: bool, arms: dict[str, Any]) -> dict[str, Any]:
    """The optimum that figures compare with: one UCB1 that makes all M T pulls itself."""
    agents, _, horizon = sizes(quick)
    return run_file("ucb1", 1, arms, {"horizon": agents * horizon})
