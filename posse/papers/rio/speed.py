"""What else section 6 and the propositions of Rio et al. 2023 say about the rounds."""

import math

from posse.papers.checks import above, exponent, falling, ratio
from posse.papers.experiment import Axes, Experiment, bars
from posse.papers.limits import at_most, right
from posse.papers.rio.setting import ASSUMED, DELTA, PROBLEMS, agents, corrupted, dp, run
from posse.papers.sample import messages
from posse.papers.statements import claim, ours
from posse.spec.activity import ActivitySpec
from posse.theory.mase import samples_of_epochs
from protocol.mase import threshold

_N, _BETA, _EPSILON = 256, 0.5, 0.25
_VOTES = threshold(DELTA, _BETA)


def slowest_voter(gamma: float) -> float:
    """1/p*, p* the probability of the M-th most likely of N = 256 agents, P(n) ∝ n^-γ."""
    rates = ActivitySpec(kind="power", gamma=gamma).rates(_N)
    return float(1 / sorted(rates)[-_VOTES])


def at_most_rounds(line: str, x: float) -> float:
    """Equation 8: (T(β) + log(1/δ) / (4 p*)) / p*, 1/p* = x, T(β) with the proof's constants."""
    samples = samples_of_epochs(0.2, 10, _BETA, _EPSILON)
    return x * (samples + x * math.log(1 / DELTA) / 4)


_CLIPPED = {"arms": {**PROBLEMS[2], "clip": [10.0, 11.5]}}

EXPERIMENTS = (
    Experiment(
        "rio-epsilon", "section 6.2", "Sample complexity of DP-MASE against ε",
        claim("a significant increase for ε below .1 (here: by half at ε = .05)", "6.2",
              ratio(("DP-MASE", 0.05), ("DP-MASE", 0.1), 1.5, math.inf)),
        claim("relatively stable for larger ε (here: within a quarter of that at ε = .25)", "6.2",
              ratio(("DP-MASE", 0.1), ("DP-MASE", 0.25), 0.8, 1.25)),
        lines={"DP-MASE": {e: dp(256, e) for e in (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)}},
        axes=Axes("ε", "rounds", "xy"), repeat=(20, 100),
        assumed="Problem 1, N = 256, β = .5.",
    ),
    Experiment(
        "rio-active", "Proposition 4.3", "Rounds of DP-MASE against the M-th most active agent",
        claim("scales with 1/p*: one waits for the M-th most frequent agent", "4.2",
              exponent("DP-MASE", 0.9, 1.1)),
        claim("at most T(β)/p* + log(1/δ)/4p*², the constants of the proof",
              "Proposition 4.3, equation 8", at_most("DP-MASE", at_most_rounds)),
        lines={"DP-MASE": {
            slowest_voter(gamma): dp(_N, _EPSILON, activity={"kind": "power", "gamma": gamma})
            for gamma in (0.0, 0.2, 0.4, 0.6, 0.8)
        }},
        axes=Axes("1/p*", "rounds", "xy"), repeat=(20, 100),
        assumed="Problem 1, N = 256, M = 5, ε = .25; P(n) ∝ n^-γ, γ = 0, .2, .4, .6, .8.",
    ),
    Experiment(
        "rio-messages", "", "Messages to the coordinator, Problem 1",
        ours("DP-MASE sends less than Corrupted Elimination, and that less than CENTRAL",
             falling("CENTRAL", "Corrupted ξ=0", "DP-MASE ε=0.1")),
        lines=lambda quick: {
            "DP-MASE ε=0.1": {n: dp(n, 0.1) for n in agents(quick)},
            "Corrupted ξ=0": {n: corrupted(n, 0.0) for n in agents(quick)},
            "CENTRAL": {n: run("central", n) for n in agents(quick)},
        },
        axes=Axes("number of agents N", "messages from agents", "xy"), repeat=(10, 20),
        metric=messages,
        assumed=f"{ASSUMED} The paper defines no cost of communication.",
    ),
    Experiment(
        "rio-clipped", "", "DP-MASE on Problem 2, its rewards clipped",
        ours("clipped, collaboration still beats INDEPENDENT",
             above("INDEPENDENT, clipped", "DP-MASE, clipped")),
        ours("and the best arm is found with probability at least .95", right(0.05)),
        lines={
            "DP-MASE, clipped": dp(64, 0.25) | _CLIPPED,
            "INDEPENDENT, clipped": run("independent", 64) | _CLIPPED,
        },
        axes=bars("rounds"), repeat=(20, 100),
        assumed="N = 64, deviation .5, rewards clipped to [10, 11.5] and mapped onto [0, 1], so "
        "that gaps are divided by 1.5 and more; ε = .25.",
    ),
)  # fmt: skip
