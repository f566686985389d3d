"""The two classes of instances of Esfandiari et al. 2022 (appendix B), as run files."""

from typing import Any

from posse.papers.experiment import run_file

UNIFORM: dict[str, Any] = {"random": "uniform", "count": 5, "per_agent": True}
COSINE: dict[str, Any] = {"random": "cosine", "count": 5, "dimensions": 10}
C = 5
ASSUMED = "N, K, C and T are lost in print: N = 100, K = 5, C = 5, T = 10⁵."
REGRET = "regret of all users"
RATES = {
    "uniform": {
        "greedy": {"demand": 0.0025, "all": 0.005},
        "random": {"demand": 0.02, "all": 0.02},
        "lp": {"demand": 0.02, "all": 0.02},
    },
    "linear": {
        "greedy": {"demand": 0.0025, "all": 0.02},
        "random": {"demand": 0.02, "all": 0.01},
        "lp": {"demand": 0.02, "all": 0.02},
    },
}
"""BaSE's learning rate c by class, decomposition and feedback: the best of .0025, .005, .01, .02
and .04 on an instance or two that no figure uses (`esfandiari-rates` repeats the uniform one)."""
SWEEPS = {"uniform": 0.1, "linear": 0.4}
"""The same of explore-then-commit, of .1, .2 and .4."""


def run(system: str, agents: int, means: Any, horizon: int, **parameters: Any) -> dict[str, Any]:
    """N users with Bernoulli rewards."""
    arms = {"kind": "bernoulli", "means": means}
    return run_file(system, agents, arms, {"horizon": horizon, **parameters})


_SUMS = {"aggregation": "sink"}
"""The sums, and so regret, are those of masks, at three fifths of the processor time."""


def anonymous(
    agents: int, means: Any, horizon: int, group_size: int = C, **parameters: Any
) -> dict[str, Any]:
    """Algorithm 1."""
    given = {"group_size": group_size, **_SUMS, **parameters}
    return run("anonymous", agents, means, horizon, **given)


def commit(
    agents: int, means: Any, horizon: int, group_size: int = C, rate: float = SWEEPS["uniform"]
) -> dict[str, Any]:
    """Algorithm 2."""
    given = {"group_size": group_size, "learning_rate": rate, **_SUMS}
    return run("explore-then-commit", agents, means, horizon, **given)
