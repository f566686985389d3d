"""The two classes of instances of Esfandiari et al. 2022 (appendix B), as run files."""

from typing import Any

from posse.papers.experiment import run_file

UNIFORM: dict[str, Any] = {"random": "uniform", "count": 5, "per_agent": True}
C = 5
REGRET = "regret of all users"


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
    agents: int, means: Any, horizon: int, group_size: int = C, rate: float = 0.1
) -> dict[str, Any]:
    """Algorithm 2."""
    given = {"group_size": group_size, "learning_rate": rate, **_SUMS}
    return run("explore-then-commit", agents, means, horizon, **given)
