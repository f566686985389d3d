"""What section 6 and Propositions 4.3 and 5.3 of Rio et al. 2023 say about the rounds."""

import math
from functools import partial

import numpy as np

from posse.papers.checks import (
    above,
    alike,
    at_most,
    check,
    exponent,
    falling,
    matches,
    ratio,
    right,
)
from posse.papers.experiment import Axes, Computation, Experiment, Runs, along, bars, computed
from posse.papers.rio.figures import ASSUMED, DELTA, PROBLEMS, agents, corrupted, dp, run
from posse.papers.sample import messages
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.spec.activity import ActivitySpec
from posse.theory.mase import rounds_of_votes, samples_of_epochs
from protocol.mase import threshold

_N, _BETA, _EPSILON = 256, 0.5, 0.25
_SAMPLES = samples_of_epochs(0.2, 10, _BETA, _EPSILON)
"""T(β) with the proof's constants."""


def slowest_voter(gamma: float) -> float:
    """1/p*, p* the probability of the M-th most likely of N = 256 agents, P(n) ∝ n^-γ."""
    rates = ActivitySpec(kind="power", gamma=gamma).rates(_N)
    return float(1 / sorted(rates)[-threshold(DELTA, _BETA)])


def at_most_rounds(line: str, x: float) -> float:
    """Equation 8: (T(β) + log(1/δ) / (4 p*)) / p*, 1/p* = x."""
    return x * (_SAMPLES + x * math.log(1 / DELTA) / 4)


def promised(slowest: float) -> float:
    """(1 - δ) (1 - I_{1-p*}(T - T(β), 1 + T(β)))^M at the T of equation 8, 1/p* = `slowest`."""
    from scipy.special import betainc  # noqa: PLC0415

    last = at_most_rounds("", slowest)
    late = float(betainc(last - _SAMPLES, 1 + _SAMPLES, 1 - 1 / slowest))
    return (1 - DELTA) * (1 - late) ** threshold(DELTA, _BETA)


_SLOWEST = {gamma: slowest_voter(gamma) for gamma in (0.0, 0.2, 0.4, 0.6, 0.8)}
_PROMISED = "(1 − δ)(1 − I)^M"
_CLIPPED = {"arms": {**PROBLEMS[2], "clip": [10.0, 11.5]}}


def growth(form: str, exponent: int) -> float:
    """The proof's activations of one agent over the T(β) of one form, at β = 10^-exponent."""
    beta, epsilon, gap, arms = 10.0**-exponent, 0.1, 0.1, 10
    confidence, repeats = math.log(arms / beta), math.log(math.log(1 / gap))
    powers = 1 / gap**2 + 1 / (epsilon * gap)
    letter = confidence + repeats * powers
    rate = letter if form == "to the letter" else (confidence + repeats) * powers
    return samples_of_epochs(gap, arms, beta, epsilon) / rate


@check
def stays(measured: Measured, line: str) -> Finding:
    """A line varies by less than a factor 2 from its first place to its last."""
    values = [measured.values(line, x)[0] for x in measured.places(line)]
    ratio = max(values) / min(values)
    return verdict(ratio < 2, f"over it the proof's count varies by the factor {ratio:.2f}")


SAMPLES, AGENTS = 1700, 64
_VOTES = {0.1: 11, 0.05: 18, 0.0: 29}
"""M by ξ at η = .9, from log η_ξ."""


def simulated(votes: int, *, generator: np.random.Generator) -> float:
    """Rounds until any M of N agents have been active T_η times, the median of 400 runs.

    An agent's T_η-th activation comes after a Gamma(T_η) time of rate 1/N.
    """
    times = np.sort(generator.gamma(SAMPLES, size=(400, AGENTS)), axis=1)[:, votes - 1]
    return float(np.median(times)) * AGENTS


def formula(votes: int) -> float:
    """Proposition 5.3's rounds, α = 1/2."""
    return rounds_of_votes(SAMPLES, AGENTS, votes, 0.5)


def exact(votes: int) -> float:
    """The T by which M of N agents, any, have T_η activations with probability 1/2."""
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.special import gammainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    def rest(t: float) -> float:
        return float(binom.sf(votes - 1, AGENTS, gammainc(SAMPLES, t / AGENTS))) - 0.5

    return float(brentq(rest, 0.5 * SAMPLES * AGENTS, 2 * SAMPLES * AGENTS))


_MODEL, _ALGORITHM = "its model, simulated", "Corrupted Elimination"
_COMPUTED = {"Proposition 5.3": formula, "any M of N": exact, _MODEL: simulated}


EXPERIMENTS = (
    Experiment(
        "rio-epsilon", "section 6.2", "Sample complexity of DP-MASE against ε",
        claim("a significant increase for ε below .1 (here: by half at ε = .05)", "6.2",
              ratio(("DP-MASE", 0.05), ("DP-MASE", 0.1), 1.5, math.inf)),
        claim("relatively stable for larger ε (here: from .1 to 1 by a quarter at most)", "6.2",
              ratio(("DP-MASE", 0.1), ("DP-MASE", 1.0), 0.8, 1.25)),
        lines={"DP-MASE": {e: dp(256, e) for e in (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)}},
        axes=Axes("ε", "rounds", "xy"), repeat=(20, 100),
        assumed="Problem 1, N = 256, β = .5.",
    ),
    Experiment(
        "rio-active", "Proposition 4.3", "Rounds of DP-MASE against the M-th most active agent",
        claim("scales with 1/p*: one waits for the M-th most frequent agent", "4.2",
              exponent("DP-MASE", 0.9, 1.1), "corrected"),
        claim("at most T(β)/p* + log(1/δ)/4p*², the constants of the proof",
              "Proposition 4.3, equation 8", at_most("DP-MASE", at_most_rounds)),
        lines={"DP-MASE": {
            slowest: dp(_N, _EPSILON, activity={"kind": "power", "gamma": gamma})
            for gamma, slowest in _SLOWEST.items()
        }},
        axes=Axes("1/p*", "rounds", "xy"), repeat=(20, 100),
        assumed="Problem 1, N = 256, M = 5, ε = .25; P(n) ∝ n^-γ, γ = 0, .2, .4, .6, .8. "
        "Printed, by λ > M, one waits for one agent more.",
    ),
    computed(
        "rio-promise", "Proposition 4.3", "How likely its bound is promised to hold",
        ours("with probability 1/2 at least where all agents are equally active",
             at_most(_PROMISED, 0.5, _SLOWEST[0.0], sign=-1)),
        ours("whatever their activity", at_most(_PROMISED, 0.5, sign=-1)),
        lines=along(Computation, {_PROMISED: promised}, _SLOWEST.values()),
        axes=Axes("1/p*", "probability", "x"),
        assumed="At the T of equation 8, in the setting of rio-active, where T is 26 times as many "
        "rounds as it takes and more.",
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
    computed(
        "rio-samples", "Proposition 4.3", "The activations of one agent of DP-MASE",
        claim("T(β) = log(K/β) + log log(1/Δ) (1/Δ² + 1/(εΔ)), but for a constant",
              "Proposition 4.3", stays("to the letter")),
        ours("with brackets, (log(K/β) + log log(1/Δ)) (1/Δ² + 1/(εΔ)), it is",
             stays("product")),
        lines=along(partial(Computation, growth), ("product", "to the letter"),
                   (1, 3, 10, 30, 100)),
        axes=Axes("log10(1/β)", "the proof's count over T(β)", "y"),
        assumed="K = 10, ε = .1, Δ = .1; the count is Σ_e R(e, K). A pair of brackets is missing "
        "in T(β) wherever the paper prints it: a slip of the pen.",
    ),
    Experiment(
        "rio-rounds", "Proposition 5.3", "Rounds until M agents have done their share",
        claim("the rounds are approximately N Q⁻¹(T(η_ξ), 1 − α^(1/M)) (here: within a third)",
              "Proposition 5.3", alike(_ALGORITHM, "Proposition 5.3", 1 / 3), "corrected"),
        ours("within 10 % of those of its own model", alike(_MODEL, "Proposition 5.3", 0.1),
             "corrected"),
        ours("the formula is an upper bound of its model: it waits for M given agents, where any M "
             "will do", above("Proposition 5.3", _MODEL), "corrected"),
        ours("within 10 % of the algorithm's own rounds",
             alike(_ALGORITHM, "Proposition 5.3", 0.1), "corrected"),
        ours("the exact count, any M of N agents, is what a simulation finds",
             matches(_MODEL, lambda line, votes: exact(int(votes)), slack=0.001),
             "corrected"),
        # the corrected form takes M from log η_ξ, as the proposition does
        lines={
            **along(Computation, _COMPUTED, _VOTES.values()),
            _ALGORITHM: {m: Runs(corrupted(AGENTS, xi), variants=("corrected",))
                         for xi, m in _VOTES.items()},
            "one agent's T_η": {AGENTS: Runs(run("independent", AGENTS, delta=0.9),
                                             variants=("corrected",))},
        },
        axes=Axes("votes M", "rounds (median)"), repeat=(10, 200),
        assumed=f"T_η = {SAMPLES} activations, about what an agent alone takes (it is only sure to "
        f"end by 8,170), N = {AGENTS}, α = 1/2, Problem 1; M = 11, 18, 29 are those of ξ = .1, .05 "
        "and 0 at η = .9.",
    ),
)  # fmt: skip
