"""Rio, Barlier, Colin and Soare 2023, section 6: best-arm identification by votes."""

from typing import Any

from posse.papers.base import (
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    above,
    falling,
    grows,
    right,
    slope,
)
from posse.results.record import RunRecord

PAPER = "Rio et al. 2023"
PROBLEM_1 = {"kind": "bernoulli", "means": [0.7, 0.5, 0.3] + [0.1] * 7}
PROBLEM_2 = {"kind": "gaussian", "means": [11.0, 10.8] + [10.4] * 8, "sd": 0.5}
_ASSUMED_N = "N = 64, 128, 256, 512, 1024 (the text says 64 to 1024; quick: 64 and 256)."


def _agents(quick: bool) -> list[int]:
    return [64, 256] if quick else [64, 128, 256, 512, 1024]


def _run(system: str, agents: int, arms: dict[str, Any], **more: Any) -> dict[str, Any]:
    activity = more.pop("activity", None)
    table: dict[str, Any] = {"count": agents}
    if activity:
        table["activity"] = activity
    return {"system": system, "agents": table, "arms": arms, "parameters": more}


def _dp(agents: int, epsilon: float, beta: float = 0.5, **more: Any) -> dict[str, Any]:
    parameters = {"epsilon": epsilon, "beta": beta, "delta": 0.05}
    return _run("dp-mase", agents, PROBLEM_1, **parameters, **more)


def _corrupted(
    agents: int, xi: float, arms: dict[str, Any] = PROBLEM_1, eta: float = 0.9, **more: Any
) -> dict[str, Any]:
    return _run("corrupted-elimination", agents, arms, xi=xi, eta=eta, delta=0.05, **more)


def _figure_1(quick: bool) -> list[Point]:
    points = []
    for n in _agents(quick):
        # with 64 agents the last votes fall into the second or the third epoch, which is 4 times as
        # long, so that means need many runs
        points += [
            Point(line=f"DP-MASE ε={e:g}", x=n, run=_dp(n, e), times=10 if n == 64 else 1)
            for e in (0.05, 0.1, 0.25)
        ]
        points += [
            Point(line=f"Corrupted ξ={xi:g}", x=n, run=_corrupted(n, xi)) for xi in (0, 0.05, 0.1)
        ]
        points.append(Point(line="CENTRAL", x=n, run=_run("central", n, PROBLEM_1, delta=0.05)))
        points.append(
            Point(line="INDEPENDENT", x=n, run=_run("independent", n, PROBLEM_1, delta=0.05))
        )
    return points


def _figure_2(quick: bool) -> list[Point]:
    etas = (0.3, 0.6, 0.9) if quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    return [Point(line="ξ=0", x=eta, run=_corrupted(128, 0.0, eta=eta)) for eta in etas]


def _figure_3(quick: bool) -> list[Point]:
    points = []
    for n in _agents(quick):
        points += [
            Point(line=f"Corrupted ξ={xi:g}", x=n, run=_corrupted(n, xi, PROBLEM_2))
            for xi in (0, 0.05, 0.1)
        ]
        points.append(
            Point(line="INDEPENDENT", x=n, run=_run("independent", n, PROBLEM_2, delta=0.05))
        )
    return points


def _figure_4(quick: bool) -> list[Point]:
    return [point for point in _figure_1(quick) if point.line != "INDEPENDENT"]


def _figure_5(quick: bool) -> list[Point]:
    return [
        Point(line=f"β={beta:g}", x=n, run=_dp(n, 0.5, beta))
        for n in _agents(quick)
        for beta in (0.3, 0.5, 0.8)
    ]


def _figure_6(quick: bool) -> list[Point]:
    power = {"kind": "power", "gamma": 0.8}
    points = []
    for n in _agents(quick):
        points += [
            Point(line="DP-MASE, uniform", x=n, run=_dp(n, 0.1)),
            Point(line="DP-MASE, power", x=n, run=_dp(n, 0.1, activity=power)),
            Point(line="Corrupted, uniform", x=n, run=_corrupted(n, 0.05)),
            Point(line="Corrupted, power", x=n, run=_corrupted(n, 0.05, activity=power)),
        ]
    return points


def _messages(record: RunRecord) -> float:
    return float(record.communication.links.agent_coordinator)


def _refused_without_bounds(measured: Measured) -> Finding:
    """Whether DP-MASE would run on rewards without a bound."""
    from posse.errors import SpecError  # noqa: PLC0415
    from posse.plan import prepare  # noqa: PLC0415

    try:
        prepare(_run("dp-mase", 64, PROBLEM_2, epsilon=0.1))
    except SpecError as error:
        return Finding(
            answer="cannot be",
            evidence=f"The proof needs rewards in [0, 1]; the run is refused: {error}",
        )
    return Finding(answer="not borne out", evidence="DP-MASE ran on unbounded rewards.")


EXPERIMENTS = (
    Experiment(
        name="rio-1",
        paper=PAPER,
        figure="Figure 1",
        title="Rounds until the best arm, Problem 1",
        x_label="number of agents N",
        y_label="rounds",
        points=_figure_1,
        repeat=(20, 20),
        log_x=True,
        log_y=True,
        assumed=_ASSUMED_N,
        statements=(
            falling(
                "More privacy costs more rounds: the curves of DP-MASE lie in the order of ε.",
                "DP-MASE ε=0.05", "DP-MASE ε=0.1", "DP-MASE ε=0.25",
            ),
            falling(
                "Withholding more votes lowers the number of votes needed, and so the rounds "
                "(the threshold effect).",
                "Corrupted ξ=0", "Corrupted ξ=0.05", "Corrupted ξ=0.1",
            ),
            above(
                "Collaboration pays: INDEPENDENT needs more rounds than DP-MASE with ε = .25.",
                "INDEPENDENT", "DP-MASE ε=0.25",
            ),
            above(
                "Privacy costs: CENTRAL needs fewer rounds than DP-MASE with ε = .25.",
                "DP-MASE ε=0.25", "CENTRAL",
            ),
            slope("CENTRAL does not depend on N.", "CENTRAL", -0.15, 0.15),
            right("The best arm is found with probability at least 1 - δ = .95.", 0.05),
        ),
    ),
    Experiment(
        name="rio-2",
        paper=PAPER,
        figure="Figure 2",
        title="Rounds against η",
        x_label="η",
        y_label="rounds",
        points=_figure_2,
        repeat=(60, 60),
        assumed="N = 128, Problem 1, ξ = 0.",
        statements=(
            grows("M = ⌈log δ / log η⌉ grows with η, and the rounds with it.", "ξ=0"),
            right("The best arm is found with probability at least .95.", 0.05),
        ),
    ),
    Experiment(
        name="rio-3",
        paper=PAPER,
        figure="Figure 3",
        title="Rounds until the best arm, Problem 2",
        x_label="number of agents N",
        y_label="rounds",
        points=_figure_3,
        repeat=(20, 20),
        log_x=True,
        log_y=True,
        assumed=f"{_ASSUMED_N} Deviation of the Gaussian rewards: 0.5.",
        statements=(
            falling(
                "The threshold effect also on Problem 2.",
                "Corrupted ξ=0", "Corrupted ξ=0.05", "Corrupted ξ=0.1",
            ),
            above("Collaboration pays for ξ = .1.", "INDEPENDENT", "Corrupted ξ=0.1"),
            Statement(
                text="DP-MASE is ε-differentially private on Problem 2.",
                check=_refused_without_bounds,
            ),
        ),
    ),
    Experiment(
        name="rio-4",
        paper=PAPER,
        figure="Figure 4",
        title="Messages to the coordinator, Problem 1",
        x_label="number of agents N",
        y_label="messages from agents",
        points=_figure_4,
        metric=_messages,
        repeat=(20, 20),
        log_x=True,
        log_y=True,
        assumed=f"{_ASSUMED_N} Every data message from an agent counts; CENTRAL sends each reward.",
        statements=(
            above("DP-MASE sends less than Corrupted Elimination.", "Corrupted ξ=0",
                  "DP-MASE ε=0.1"),
            above("Both send far less than CENTRAL.", "CENTRAL", "Corrupted ξ=0"),
        ),
    ),
    Experiment(
        name="rio-5",
        paper=PAPER,
        figure="Figure 5",
        title="The local failure probability β",
        x_label="number of agents N",
        y_label="rounds",
        points=_figure_5,
        repeat=(10, 10),
        log_x=True,
        log_y=True,
        assumed=f"{_ASSUMED_N} ε = .5, Problem 1.",
        statements=(
            falling("A larger β shortens each agent's test (Proposition 4.3), and so the rounds.",
                    "β=0.3", "β=0.5", "β=0.8"),
        ),
    ),
    Experiment(
        name="rio-6",
        paper=PAPER,
        figure="Figure 6",
        title="Agents that are not equally active",
        x_label="number of agents N",
        y_label="rounds",
        points=_figure_6,
        repeat=(20, 20),
        log_x=True,
        log_y=True,
        assumed=f"{_ASSUMED_N} P(n) ∝ n^-.8, n from 1; ε = .1, β = .5; ξ = .05.",
        statements=(
            above("Unequal activity lowers the rounds of DP-MASE: the busy agents' M votes decide.",
                  "DP-MASE, uniform", "DP-MASE, power"),
            above("And of Corrupted Elimination while M is far below N.",
                  "Corrupted, uniform", "Corrupted, power", lambda n: n >= 256),
        ),
    ),
)  # fmt: skip
