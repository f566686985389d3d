"""Figure 1 of Dubey and Pentland 2020, and what Remarks 2 to 4 say of regret."""

from functools import partial
from typing import Any

from posse.papers.checks import Above, Alike, Falling, Ratio, Trend
from posse.papers.dubey.setting import ARMS, ASSUMED, LIES, MIDDLE, byzantine, central, private, run
from posse.papers.experiment import Experiment
from posse.papers.points import Point, by_line
from posse.papers.sample import regret
from posse.papers.statements import claim

_figure = partial(Experiment, y_label="regret of all agents", metric=regret)
_OPEN = "Cooperative, no privacy"


def _figure_1a(quick: bool) -> list[Point]:
    return by_line({
        "UCB1, alone": run("ucb1", quick),
        "DP-UCB-INT ε=0.1, alone": run("dp-ucb-int", quick, epsilon=0.1),
        "DP-UCB-INT ε=1, alone": run("dp-ucb-int", quick, epsilon=1.0),
        "Private ε=0.1": private(quick, 0.1),
        "Private ε=1": private(quick, 1.0),
        _OPEN: run("cooperative-ucb", quick),
    })  # fmt: skip


def _figure_1b(quick: bool) -> list[Point]:
    return by_line({
        "UCB1, alone": run("ucb1", quick, MIDDLE),
        "Byzantine, ε=.001": byzantine(quick, 1e-3),
        "Byzantine, ε=0": byzantine(quick, 0.0),
    })  # fmt: skip


_DIAMETER = 3.0


def _figure_1c(quick: bool) -> list[Point]:
    gammas: dict[float, Any] = {1.0: 1, 2.0: 2, _DIAMETER: "diameter"}
    return by_line({
        "Private ε=1": {x: private(quick, 1.0, gamma=gamma) for x, gamma in gammas.items()},
        "Byzantine, ε=.001": {x: byzantine(quick, 1e-3, gamma) for x, gamma in gammas.items()},
        "optimum for Private": {_DIAMETER: central(quick, ARMS)},
        "optimum for Byzantine": {_DIAMETER: central(quick, MIDDLE)},
    })  # fmt: skip


def _isolated(quick: bool) -> list[Point]:
    return by_line({
        "UCB1, alone": run("ucb1", quick),
        "Cooperative, γ = 0": run("cooperative-ucb", quick, gamma=0),
    })  # fmt: skip


def _destination(quick: bool) -> list[Point]:
    return by_line({
        f"ε={epsilon:g}: noise at the {where}": private(quick, epsilon, noise_at=where)
        for where in ("source", "destination") for epsilon in (0.1, 1.0)
    })  # fmt: skip


EXPERIMENTS = (
    _figure(
        "dubey-1a", "Figure 1 (a)", "Private cooperation against acting alone",
        x_label="time (slots)",
        points=_figure_1a,
        repeat=(20, 100),
        shape="curves",
        assumed=ASSUMED,
        statements=(
            claim("ε = 1: better than single-agent UCB1, the non-private benchmark", "5",
                  Above(("UCB1, alone",), ("Private ε=1",)), "printed"),
            claim("ε = .1: better than single-agent UCB1", "5",
                  Above(("UCB1, alone",), ("Private ε=0.1",)), "printed"),
            claim("ε = 1: significantly better than DP-UCB-INT", "5",
                  Above(("DP-UCB-INT ε=1, alone",), ("Private ε=1",)), "printed"),
            claim("ε = .1: significantly better than DP-UCB-INT", "5",
                  Above(("DP-UCB-INT ε=0.1, alone",), ("Private ε=0.1",)), "printed"),
            claim("incurs higher regret than the non-private version", "5",
                  Above(("Private ε=0.1", "Private ε=1"), (_OPEN,)), "printed"),
            claim("ε = 1 is no privacy (here: within 10 % of the non-private regret)", "Remark 3",
                  Alike((_OPEN, "Private ε=1"), 0.1), "printed"),
        ),
    ),
    _figure(
        "dubey-1b", "Figure 1 (b)", "Cooperation with byzantine agents",
        x_label="time (slots)",
        points=_figure_1b,
        repeat=(20, 100),
        shape="curves",
        assumed=f"{ASSUMED} {LIES} Means U[.3, .7].",
        statements=(
            claim("a large improvement over single-agent UCB1", "5",
                  Above(("UCB1, alone",), ("Byzantine, ε=.001", "Byzantine, ε=0"))),
            claim("with no contamination the performance is better", "5",
                  Falling(("Byzantine, ε=.001", "Byzantine, ε=0"))),
        ),
    ),
    _figure(
        "dubey-1c", "Figure 1 (c)", "How far messages travel",
        x_label="life of a message γ (3: the diameter)",
        points=_figure_1c,
        repeat=(16, 100),
        assumed=f"{ASSUMED} {LIES} Optimum: one UCB1 that makes all M T pulls itself.",
        statements=(
            claim("private: a sharp decline from γ = 1 to the diameter", "5",
                  Trend(("Private ε=1",), -1), "printed"),
            claim("byzantine-proof: the same", "5", Trend(("Byzantine, ε=.001",), -1)),
            claim("private: matches the optimal regret at γ = diameter (here: within a quarter)",
                  "5", Ratio(("Private ε=1", _DIAMETER), ("optimum for Private", _DIAMETER),
                             0.0, 1.25), "printed"),
            claim("byzantine-proof: the same", "5",
                  Ratio(("Byzantine, ε=.001", _DIAMETER), ("optimum for Byzantine", _DIAMETER),
                        0.0, 1.25)),
        ),
    ),
    _figure(
        "dubey-isolated", "Remark 4", "Messages that do not travel",
        points=_isolated,
        repeat=(40, 100),
        shape="bars",
        variants=("corrected",),
        assumed=ASSUMED,
        statements=(
            claim("γ = 0 is equivalent to M agents in isolation (here: within 5 %)", "Remark 4",
                  Alike(("UCB1, alone", "Cooperative, γ = 0"), 0.05)),
        ),
    ),
    _figure(
        "dubey-destination", "Remark 2", "Noise at the source and at the destination",
        points=_destination,
        repeat=(20, 100),
        shape="bars",
        assumed=f"{ASSUMED} At the destination: one sample of noise for the mean of all that was "
        "heard, of the scale that its number of rewards asks for.",
        statements=tuple(
            claim(f"ε = {epsilon:g}: the regret is slightly better with noise at the destination",
                  "Remark 2", Falling((f"ε={epsilon:g}: noise at the source",
                                       f"ε={epsilon:g}: noise at the destination")), "printed")
            for epsilon in (0.1, 1.0)
        ),
    ),
)  # fmt: skip
