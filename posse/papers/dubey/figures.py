"""Figure 1 of Dubey and Pentland 2020, and what Remarks 2 to 4 say of regret."""

from functools import partial
from typing import Any

from posse.papers.checks import above, alike, falling, ratio, trend
from posse.papers.dubey.setting import (
    ARMS,
    ASSUMED,
    HALF_WAY,
    LIES,
    MIDDLE,
    REGRET,
    byzantine,
    central,
    private,
    run,
)
from posse.papers.experiment import Axes, Experiment, Lines, bars, curves
from posse.papers.sample import regret
from posse.papers.statements import claim, ours

_figure = partial(Experiment, axes=curves("time (slots)", REGRET), metric=regret, repeat=(20, 100))
_OPEN = "Cooperative, no privacy"
_DIAMETER = 3.0


def _figure_1c(quick: bool) -> Lines:
    gammas: dict[float, Any] = {1.0: 1, 2.0: HALF_WAY, _DIAMETER: "diameter"}
    return {
        "Private ε=1": {x: private(quick, 1.0, gamma=gamma) for x, gamma in gammas.items()},
        "Byzantine, ε=.001": {x: byzantine(quick, 1e-3, gamma) for x, gamma in gammas.items()},
        "optimum for Private": {_DIAMETER: central(quick, ARMS)},
        "optimum for Byzantine": {_DIAMETER: central(quick, MIDDLE)},
    }


EXPERIMENTS = (
    _figure(
        "dubey-1a", "Figure 1 (a)", "Private cooperation against acting alone",
        claim("ε = 1: better than single-agent UCB1, the non-private benchmark", "5",
              above("UCB1, alone", "Private ε=1"), "printed"),
        claim("ε = .1: better than single-agent UCB1", "5",
              above("UCB1, alone", "Private ε=0.1"), "printed"),
        claim("ε = 1: significantly better than DP-UCB-INT", "5",
              above("DP-UCB-INT ε=1, alone", "Private ε=1"), "printed"),
        claim("ε = .1: significantly better than DP-UCB-INT", "5",
              above("DP-UCB-INT ε=0.1, alone", "Private ε=0.1"), "printed"),
        claim("incurs higher regret than the non-private version", "5",
              above(("Private ε=0.1", "Private ε=1"), _OPEN), "printed"),
        ours("ε = 1, by Remark 3 no privacy, is within 10 % of the non-private regret",
             alike(_OPEN, "Private ε=1", 0.1), "printed"),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick),
            "DP-UCB-INT ε=0.1, alone": run("dp-ucb-int", quick, epsilon=0.1),
            "DP-UCB-INT ε=1, alone": run("dp-ucb-int", quick, epsilon=1.0),
            "Private ε=0.1": private(quick, 0.1),
            "Private ε=1": private(quick, 1.0),
            _OPEN: run("cooperative-ucb", quick),
        },
        assumed=ASSUMED,
    ),
    _figure(
        "dubey-1b", "Figure 1 (b)", "Cooperation with byzantine agents",
        claim("a large improvement over single-agent UCB1", "5",
              above("UCB1, alone", ("Byzantine, ε=.001", "Byzantine, ε=0"))),
        claim("with no contamination the performance is better", "5",
              falling("Byzantine, ε=.001", "Byzantine, ε=0")),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick, MIDDLE),
            "Byzantine, ε=.001": byzantine(quick, 1e-3),
            "Byzantine, ε=0": byzantine(quick, 0.0),
        },
        repeat=(10, 100),
        assumed=f"{ASSUMED} {LIES} Means U[.3, .7].",
    ),
    _figure(
        "dubey-1c", "Figure 1 (c)", "How far messages travel",
        claim("private: a sharp decline from γ = 1 to the diameter", "5",
              trend("Private ε=1", -1), "printed"),
        claim("byzantine-proof: the same", "5", trend("Byzantine, ε=.001", -1)),
        claim("private: matches the optimal regret at γ = diameter (here: within a quarter)", "5",
              ratio(("Private ε=1", _DIAMETER), ("optimum for Private", _DIAMETER), 0.0, 1.25),
              "printed"),
        claim("byzantine-proof: the same", "5",
              ratio(("Byzantine, ε=.001", _DIAMETER), ("optimum for Byzantine", _DIAMETER),
                    0.0, 1.25)),
        lines=_figure_1c,
        axes=Axes("life of a message γ (3: the diameter; 2: half of it, rounded up)", REGRET),
        repeat=(16, 100),
        assumed=f"{ASSUMED} {LIES} Optimum: one UCB1 that makes all M T pulls itself.",
    ),
    _figure(
        "dubey-isolated", "Remark 4", "Messages that do not travel",
        claim("γ = 0 is equivalent to M agents in isolation (here: within 5 %)", "Remark 4",
              alike("UCB1, alone", "Cooperative, γ = 0", 0.05)),
        lines=lambda quick: {
            "UCB1, alone": run("ucb1", quick),
            "Cooperative, γ = 0": run("cooperative-ucb", quick, gamma=0),
        },
        axes=bars(REGRET), repeat=(40, 100), variants=("corrected",),
        assumed=ASSUMED,
    ),
    _figure(
        "dubey-destination", "Remark 2", "Noise at the source and at the destination",
        *(
            claim(f"ε = {epsilon:g}: the regret is slightly better with noise at the destination",
                  "Remark 2", falling(f"ε={epsilon:g}: noise at the source",
                                      f"ε={epsilon:g}: noise at the destination"), "printed")
            for epsilon in (0.1, 1.0)
        ),
        lines=lambda quick: {
            f"ε={epsilon:g}: noise at the {where}": private(quick, epsilon, noise_at=where)
            for where in ("source", "destination") for epsilon in (0.1, 1.0)
        },
        axes=bars(REGRET), variants=("printed",),
        assumed=f"{ASSUMED} At the destination: one sample of noise for the mean of all that was "
        "heard, anew when more is, of the least scale at which no reward costs more than in its "
        "message at the source.",
    ),
)  # fmt: skip
