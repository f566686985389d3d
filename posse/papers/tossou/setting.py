"""The experiment of section 4 of Tossou and Dimitrakakis 2015, as run files."""

from typing import Any

from posse.papers.experiment import run_file

MEANS = [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]
ARMS: dict[str, Any] = {"kind": "bernoulli", "means": MEANS}
BEST = 5
RANDOM_PACE = max(MEANS) - sum(MEANS) / len(MEANS)
"""Regret per slot of a single random player."""
HORIZONS = (1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
"""At which bounds are computed."""


def run(system: str, players: int, horizon: int, **parameters: Any) -> dict[str, Any]:
    """M players on the ten arms."""
    return run_file(system, players, ARMS, {"horizon": horizon, **parameters})
