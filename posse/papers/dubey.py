"""Dubey and Pentland 2020, Figure 1: cooperation on a graph with delay."""

from typing import Any

from posse.papers.base import (
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    alike,
    falling,
    grows,
    regret,
)

PAPER = "Dubey and Pentland 2020"
ARMS = {"kind": "bernoulli", "means": {"random": "uniform", "count": 5}}
MIDDLE = {
    "kind": "bernoulli",
    "means": {"random": "uniform", "count": 5, "low": 0.3, "high": 0.7},
}
_ALONE = ("ucb1", "dp-ucb-int")


def _run(
    system: str, quick: bool, arms: dict[str, Any] = ARMS, **parameters: Any
) -> dict[str, Any]:
    # the quick graph is smaller and denser, so that its diameter is again about 3
    agents, p, horizon = (30, 0.25, 150) if quick else (200, 0.1, 1000)
    run = {
        "system": system,
        "agents": {"count": agents},
        "arms": arms,
        "parameters": {"horizon": horizon, **parameters},
    }
    if system not in _ALONE:
        run["topology"] = {"kind": "erdos-renyi", "p": p}
    return run


def _figure_1a(quick: bool) -> list[Point]:
    runs = {
        "UCB1, alone": _run("ucb1", quick),
        "DP-UCB-INT ε=1": _run("dp-ucb-int", quick, epsilon=1.0),
        "Private ε=0.1": _run("private-ucb", quick, epsilon=0.1),
        "Private ε=1": _run("private-ucb", quick, epsilon=1.0),
        "Cooperative, no privacy": _run("cooperative-ucb", quick),
    }
    return [Point(line=line, x=0, run=run) for line, run in runs.items()]


def _figure_1b(quick: bool) -> list[Point]:
    def byzantine(rate: float) -> dict[str, Any]:
        return _run("byzantine-ucb", quick, MIDDLE, gamma=1, contamination={"rate": rate})

    runs = {
        "UCB1, alone": _run("ucb1", quick, MIDDLE),
        "Byzantine, rate .001": byzantine(1e-3),
        "Byzantine, rate 0": byzantine(0.0),
    }
    return [Point(line=line, x=0, run=run) for line, run in runs.items()]


def _figure_1c(quick: bool) -> list[Point]:
    lines: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("Private ε=1", "private-ucb", {"epsilon": 1.0}),
        ("Cooperative, no privacy", "cooperative-ucb", {}),
    )
    return [
        Point(line=line, x=gamma, run=_run(system, quick, gamma=gamma, **more))
        for line, system, more in lines
        for gamma in ((0, 1, 3) if quick else (0, 1, 2, 3))
    ]


def _claim_of_printed(measured: Measured) -> Finding:
    """What the result itself says about the printed form's privacy."""
    records = measured.runs["Private ε=1", 0]
    assert records[0].privacy is not None
    claim = records[0].privacy.claim
    return Finding(answer="borne out" if claim.holds else "not borne out", evidence=claim.note)


_ASSUMED = "T = 1000, M = 200, p = .1, v = 1.1, γ = diameter/2 rounded up; quick: M = 30, p = .25, "
_ASSUMED += "T = 150. Byzantine agents: all, each reward replaced by 1 with the rate."

EXPERIMENTS = (
    Experiment(
        name="dubey-1a",
        paper=PAPER,
        figure="Figure 1 (a)",
        title="Private cooperation against acting alone",
        x_label="time (slots)",
        y_label="regret of all agents",
        points=_figure_1a,
        repeat=(25, 100),
        shape="curves",
        metric=regret,
        assumed=_ASSUMED,
        agreement={
            **_run("private-ucb", True, epsilon=1.0),
            "agents": {"count": 6},
            "topology": {"kind": "ring"},
        },
        statements=(
            falling("Cooperation with privacy beats private learning alone.",
                    "DP-UCB-INT ε=1", "Private ε=1"),
            falling("More privacy, more regret.", "Private ε=0.1", "Private ε=1"),
            falling("Privacy costs regret at ε = 1.", "Private ε=1", "Cooperative, no privacy"),
            Statement(text="The messages are differentially private.", check=_claim_of_printed),
        ),
    ),
    Experiment(
        name="dubey-1b",
        paper=PAPER,
        figure="Figure 1 (b)",
        title="Cooperation with byzantine agents",
        x_label="time (slots)",
        y_label="regret of all agents",
        points=_figure_1b,
        repeat=(25, 100),
        shape="curves",
        metric=regret,
        assumed=f"{_ASSUMED} Means U[.3, .7].",
        agreement={
            **_run("byzantine-ucb", True, MIDDLE, gamma=1),
            "agents": {"count": 6},
            "topology": {"kind": "ring"},
        },
        statements=(
            falling("Robust cooperation beats acting alone.",
                    "UCB1, alone", "Byzantine, rate .001"),
            alike("A contamination of .001 costs at most 5%.",
                  "Byzantine, rate .001", "Byzantine, rate 0", within=0.05),
        ),
    ),
    Experiment(
        name="dubey-1c",
        paper=PAPER,
        figure="Figure 1 (c)",
        title="How far messages travel",
        x_label="life of a message γ (hops)",
        y_label="regret of all agents",
        points=_figure_1c,
        repeat=(20, 100),
        metric=regret,
        assumed=_ASSUMED,
        agreement={
            **_run("cooperative-ucb", True, gamma=2),
            "agents": {"count": 6},
            "topology": {"kind": "ring"},
        },
        statements=(
            grows("Regret falls with γ, private.", "Private ε=1", sign=-1),
            grows("Regret falls with γ, without privacy.", "Cooperative, no privacy", sign=-1),
        ),
    ),
)  # fmt: skip
