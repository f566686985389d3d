"""Propositions 4.3 and 5.3 of Rio et al. 2023: how many activations, by numbers."""

import math
from typing import Any

import numpy as np

from posse.papers.checks import Above, Alike, bounded
from posse.papers.experiment import Experiment, computed
from posse.papers.points import Computation, Point, always, by_line
from posse.papers.rio.setting import corrupted, run
from posse.papers.sample import rounds, value_or
from posse.papers.statements import Finding, Measured, claim, ours, verdict
from posse.theory.mase import rounds_of_votes, samples_of_epochs

_POWERS = (1, 3, 10, 30, 100)


def growth(variant: Any, generator: Any, form: str, exponent: int) -> Any:
    """The proof's activations of one agent over an O(.), at β = 10^-exponent, ε = .1, Δ = .1."""
    beta, epsilon, gap, arms = 10.0**-exponent, 0.1, 0.1, 10
    confidence, repeats = math.log(arms / beta), math.log(math.log(1 / gap))
    powers = 1 / gap**2 + 1 / (epsilon * gap)
    rate = {
        "product": (confidence + repeats) * powers,
        "to the letter": confidence + repeats * powers,
    }[form]
    return {"value": samples_of_epochs(gap, arms, beta, epsilon) / rate}


class Stays:
    """A line varies by less than a factor 2 from its first place to its last."""

    def __init__(self, line: str) -> None:
        self.line = line

    def __call__(self, measured: Measured) -> Finding:
        values = [measured.values(self.line, x)[0] for x in measured.places(self.line)]
        ratio = max(values) / min(values)
        return verdict(ratio < 2, f"over it the proof's count varies by the factor {ratio:.2f}")


SAMPLES, AGENTS = 1700, 64
_VOTES = {0.1: 11, 0.05: 18, 0.0: 29}
"""M by ξ at η = .9, from log η_ξ."""


def simulated(variant: Any, generator: np.random.Generator, votes: int) -> Any:
    """Rounds until any M of N agents have been active T_η times, the median of 400 runs.

    An agent's T_η-th activation comes after a Gamma(T_η) time of rate 1/N.
    """
    times = np.sort(generator.gamma(SAMPLES, size=(400, AGENTS)), axis=1)[:, votes - 1]
    return {"value": float(np.median(times)) * AGENTS}


def formula(variant: Any, generator: Any, votes: int) -> Any:
    """Proposition 5.3's rounds, α = 1/2."""
    return {"value": rounds_of_votes(SAMPLES, AGENTS, votes, 0.5)}


def exact(variant: Any, generator: Any, votes: int) -> Any:
    """The T by which M of N agents, any, have T_η activations with probability 1/2."""
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.special import gammainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    def rest(t: float) -> float:
        return float(binom.sf(votes - 1, AGENTS, gammainc(SAMPLES, t / AGENTS))) - 0.5

    return {"value": float(brentq(rest, 0.5 * SAMPLES * AGENTS, 2 * SAMPLES * AGENTS))}


def _rounds_points(quick: bool) -> list[Point]:
    lines = {"Proposition 5.3": formula, "any M of N": exact, "its model, simulated": simulated}
    counts = {
        line: {votes: Computation(of, votes) for votes in _VOTES.values()}
        for line, of in lines.items()
    }
    # the corrected form takes M from log η_ξ, as the proposition does
    runs = {
        "Corrupted Elimination": {votes: corrupted(AGENTS, xi) for xi, votes in _VOTES.items()},
        "one agent's T_η": {AGENTS: run("independent", AGENTS, delta=0.9)},
    }
    return by_line(counts) + by_line(runs, variants=("corrected",))


def agree(measured: Measured) -> Finding:
    """Each simulated point is the exact one, within its interval and .1 %."""
    said, inside = [], True
    for votes in _VOTES.values():
        mean, half = bounded(measured.values("its model, simulated", votes))
        wanted = measured.values("any M of N", votes)[0]
        inside = inside and abs(mean - wanted) <= half + 0.001 * wanted
        said.append(f"M = {votes}: {mean:,.0f} ± {half:,.0f} for {wanted:,.0f}")
    return verdict(inside, "; ".join(said))


EXPERIMENTS = (
    computed(
        "rio-samples", "Proposition 4.3", "The activations of one agent of DP-MASE",
        x_label="log10(1/β)",
        y_label="the proof's count over T(β)",
        points=always({form: {power: Computation(growth, form, power) for power in _POWERS}
                       for form in ("product", "to the letter")}),
        repeat=(1, 1),
        log="y",
        assumed="K = 10, ε = .1, Δ = .1; the count is Σ_e R(e, K). A pair of brackets is missing "
        "in the print of T(β).",
        statements=(
            claim("T(β) ∝ (log(K/β) + log log(1/Δ)) (1/Δ² + 1/(εΔ)), the brackets put in",
                  "Proposition 4.3", Stays("product")),
            ours("to the letter, log(K/β) + log log(1/Δ) (1/Δ² + 1/(εΔ)), it would do",
                 Stays("to the letter")),
        ),
    ),
    Experiment(
        "rio-rounds", "Proposition 5.3", "Rounds until M agents have done their share",
        x_label="votes M",
        y_label="rounds (median)",
        points=_rounds_points,
        repeat=(10, 200),
        metric=value_or(rounds),
        assumed=f"T_η = {SAMPLES} activations, N = {AGENTS}, α = 1/2, Problem 1; M = 11, 18, 29 "
        "are those of ξ = .1, .05 and 0 at η = .9.",
        statements=(
            claim("the rounds are approximately N Q⁻¹(T(η_ξ), 1 − α^(1/M)) (here: within 10 % of "
                  "its own model)", "Proposition 5.3",
                  Alike(("its model, simulated", "Proposition 5.3"), 0.1), "corrected"),
            ours("the formula is an upper bound of its model: it waits for M given agents, where "
                 "any M will do",
                 Above(("Proposition 5.3",), ("its model, simulated",)), "corrected"),
            ours("within 10 % of the algorithm's own rounds",
                 Alike(("Corrupted Elimination", "Proposition 5.3"), 0.1), "corrected"),
            ours("the exact count, any M of N agents, is what a simulation finds", agree,
                 "corrected"),
        ),
    ),
)  # fmt: skip
