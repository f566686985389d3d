"""Esfandiari, Mirrokni and Schneider 2022: the server sees groups, never a user."""

from typing import Any

from posse.papers.base import Experiment, Point, falling, regret

PAPER = "Esfandiari et al. 2022"
_UNIFORM = {"random": "uniform", "count": 5, "per_agent": True}
_COSINE = {"random": "cosine", "count": 5, "dimensions": 10}


def _panel(means: dict[str, Any]) -> Any:
    def points(quick: bool) -> list[Point]:
        agents, horizon = (40, 60_000) if quick else (100, 100_000)

        def run(system: str, **parameters: Any) -> dict[str, Any]:
            return {
                "system": system,
                "agents": {"count": agents},
                "arms": {"kind": "bernoulli", "means": means},
                "parameters": {"horizon": horizon, **parameters},
            }

        grouped = {"group_size": 5}
        return [
            *(
                Point(line=name, x=0, run=run("anonymous", decomposition=name, **grouped))
                for name in (("greedy", "lp") if quick else ("greedy", "random", "lp"))
            ),
            Point(line="explore-then-commit", x=0, run=run("explore-then-commit", **grouped)),
            Point(line="parallel UCB", x=0, run=run("parallel-ucb")),
        ]

    return points


def _least(means: dict[str, Any]) -> dict[str, Any]:
    return {
        "system": "explore-then-commit",
        "agents": {"count": 12},
        "arms": {"kind": "bernoulli", "means": means},
        "parameters": {"horizon": 300, "group_size": 3},
    }


_ASSUMED = (
    "N = 100, K = 5, C = 5, T = 10^5 (lost in print); quick: N = 40, T = 60,000, without random. "
    "Learning rates .02 and .2; every informative estimate is used."
)

EXPERIMENTS = (
    Experiment(
        name="esfandiari-1",
        paper=PAPER,
        figure="first figure",
        title="Users with uniform means",
        x_label="time (rounds)",
        y_label="regret of all users",
        points=_panel(_UNIFORM),
        repeat=(6, 20),
        shape="curves",
        metric=regret,
        assumed=_ASSUMED,
        agreement=_least(_UNIFORM),
        statements=(
            falling("Anonymity costs: parallel UCB is far below LP.", "lp", "parallel UCB"),
            falling("LP is better than greedy.", "greedy", "lp"),
            falling("Explore-then-commit is the worst.", "explore-then-commit", "greedy"),
        ),
    ),
    Experiment(
        name="esfandiari-2",
        paper=PAPER,
        figure="second figure",
        title="Users whose tastes are alike",
        x_label="time (rounds)",
        y_label="regret of all users",
        points=_panel(_COSINE),
        repeat=(6, 20),
        shape="curves",
        metric=regret,
        assumed=_ASSUMED,
        agreement=_least(_COSINE),
        statements=(
            falling("Anonymity costs: parallel UCB is far below LP.", "lp", "parallel UCB"),
            falling("Greedy is the worst.", "greedy", "explore-then-commit"),
        ),
    ),
)
