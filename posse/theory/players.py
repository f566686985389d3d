"""Theorem 6 of Tossou and Dimitrakakis 2015 with the constants of its Lemmas 4 and 7.

Symbols: M players, σ(p) the p-th best arm, Δ_{a,σ(p)} = μ_σ(p) - μ_a, τ^D_{a,σ(p)} the plays of arm
a by player p in the dominant mini-sequence of the first subsequence.
"""

from collections.abc import Callable

import numpy as np

from posse.protocol.arrays import FloatArray
from posse.protocol.players import PrivateTdfsParameters
from posse.spec.runfile import RunSpec
from posse.theory.bounds import Bound, NoBoundError, positive, require_law, run_means

PAPER = "Tossou and Dimitrakakis 2015"

Plays = Callable[[float, FloatArray], FloatArray]
"""τ^D for a gap Δ, up to each of the times t."""


def plays_with_bound(*, epsilon: float, players: int, as_printed: bool) -> Plays:
    """Lemma 4, for UCB-Private-Bound, at the best λ_0 in (0, 1):

        1 + max((8 log t / (Δ λ_0 ε))^2.25, 8 log t / (λ_0² Δ²)) / M + 2π² / (3 M²).

    The paper prints λ_0 in both terms, so the best is 1 (`as_printed`). Equation 24 of its proof
    gives 1 - λ_0 in the first term, which is used otherwise.
    """
    lots = np.array([1.0]) if as_printed else np.linspace(0.01, 0.99, 99)
    rest = lots if as_printed else 1 - lots

    def plays(gap: float, t: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(t, 1.0))[..., None]
        noise = (8 * logs / (gap * rest * epsilon)) ** 2.25
        chance = 8 * logs / (lots * gap) ** 2
        most: FloatArray = np.maximum(noise, chance).min(axis=-1)
        return 1 + most / players + 2 * np.pi**2 / (3 * players**2)

    return plays


def plays_without_bound(*, epsilon: float, players: int) -> Plays:
    """Lemma 7, for UCB-Private:

    1 + max(18 (7 + 4 sqrt 3) log⁴ t / ε², 8 log t / Δ²) / M + 4 (1 + log t) / M².
    """

    def plays(gap: float, t: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(t, 1.0))
        noise = 18 * (7 + 4 * np.sqrt(3)) / epsilon**2 * logs**4
        found: FloatArray = (
            1 + np.maximum(noise, 8 * logs / gap**2) / players + 4 * (1 + logs) / players**2
        )
        return found

    return plays


def fair_sharing_regret(
    means: FloatArray, t: FloatArray, *, players: int, plays: Plays
) -> FloatArray:
    """Theorem 6: M Σ_p Σ_{j <= p} Σ_{a: μ_a < μ_σ(j)} τ^D_{a,σ(j)} μ_σ(p), p and j from 1 to M."""
    order = np.sort(means)[::-1]
    t = np.asarray(t, dtype=float)
    total = np.zeros(t.shape)
    missed = np.zeros(t.shape)
    for p in range(players):
        for mean in order[order < order[p]]:
            missed = missed + plays(float(order[p] - mean), t)
        total = total + missed * order[p]
    return players * total


def with_bound(spec: RunSpec, parameters: PrivateTdfsParameters, run: int) -> Bound:
    """Theorem 6 with the plays of Lemma 4."""
    plays = plays_with_bound(
        epsilon=parameters.epsilon,
        players=spec.agents.count,
        as_printed=spec.variant == "printed",
    )
    return _fair_sharing(spec, parameters, run, plays, "Lemma 4")


def without_bound(spec: RunSpec, parameters: PrivateTdfsParameters, run: int) -> Bound:
    """Theorem 6 with the plays of Lemma 7."""
    plays = plays_without_bound(epsilon=parameters.epsilon, players=spec.agents.count)
    return _fair_sharing(spec, parameters, run, plays, "Lemma 7")


def _fair_sharing(
    spec: RunSpec, parameters: PrivateTdfsParameters, run: int, plays: Plays, lemma: str
) -> Bound:
    require_law(spec)
    means = run_means(spec, run)
    if parameters.counter != "hybrid":
        raise NoBoundError("Theorem 6 is about the hybrid mechanism.")
    best = np.sort(means)[::-1][: spec.agents.count]
    if positive(-np.diff(best)).size + 1 < best.size:
        raise NoBoundError(
            f"two of the {best.size} best arms are level, so that players may rank them "
            "differently and collide for ever, which Theorem 6 does not count."
        )
    return Bound(
        label="Theorem 6",
        regret=lambda t: fair_sharing_regret(means, t, players=spec.agents.count, plays=plays),
        note=f"{PAPER}, Theorem 6 with the constants of {lemma}. It says something only where it "
        "is below T times the sum of the M largest means.",
    )
