"""Tossou and Dimitrakakis 2015, Figure 2: players that share arms and collide."""

from typing import Any

from posse.papers.base import Experiment, Point, falling, regret

PAPER = "Tossou and Dimitrakakis 2015"
ARMS = {"kind": "bernoulli", "means": [0.1, 0.1, 0.1, 0.1, 0.2, 0.55, 0.1, 0.1, 0.1, 0.1]}


def _run(system: str, players: int, horizon: int, **parameters: Any) -> dict[str, Any]:
    return {
        "system": system,
        "agents": {"count": players},
        "arms": ARMS,
        "parameters": {"horizon": horizon, **parameters},
    }


def _panel(players: int, epsilon: float, collision: int) -> Any:
    def points(quick: bool) -> list[Point]:
        horizon = 20_000 if quick else 100_000
        model = {} if collision == 1 else {"collision": collision}
        private = {"epsilon": epsilon, **model}
        return [
            Point(line="random", x=0, run=_run("random-player", players, horizon, **model)),
            Point(
                line="UCB-Private-Bound",
                x=0,
                run=_run("tdfs-private-bound", players, horizon, **private),
            ),
            Point(line="UCB-Private", x=0, run=_run("tdfs-private", players, horizon, **private)),
            Point(line="UCB", x=0, run=_run("tdfs-ucb", players, horizon, **model)),
        ]

    return points


def _experiment(letter: str, players: int, epsilon: float, collision: int = 1) -> Experiment:
    return Experiment(
        name=f"tossou-2{letter}" + ("" if collision == 1 else "-none"),
        paper=PAPER,
        figure=f"Figure 2 ({letter})",
        title=f"Regret of {players} player{'s' if players > 1 else ''}, ε = {epsilon:g}"
        + ("" if collision == 1 else ", who collides gets nothing"),
        x_label="time (slots)",
        y_label="regret",
        points=_panel(players, epsilon, collision),
        repeat=(24 if players == 1 else 16, 100),
        shape="curves",
        metric=regret,
        assumed="T = 10^5 in full and 20,000 in the quick form (the paper's axis is not stated); "
        f"collision model {collision}.",
        agreement=_run("tdfs-private", players, 200, epsilon=epsilon),
        statements=(
            falling("Privacy costs regret: both private forms lie above UCB.",
                    "UCB-Private", "UCB"),
            falling("UCB-Private is better than UCB-Private-Bound.",
                    "UCB-Private-Bound", "UCB-Private"),
            falling("All learn: UCB-Private-Bound lies below the random player.",
                    "random", "UCB-Private-Bound"),
        ),
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("a", 1, 1.0),
    _experiment("b", 1, 0.1),
    _experiment("c", 3, 1.0),
    _experiment("d", 3, 0.1),
    _experiment("c", 3, 1.0, collision=2),
    _experiment("d", 3, 0.1, collision=2),
)
