"""Theorems and lemmas of section 3 of Dubey and Pentland 2020, by numbers."""

from math import log
from typing import Any

from posse.papers.dubey.setting import V, private
from posse.papers.experiment import Experiment, computed
from posse.papers.limits import AtMost, Inside, UnderTheory
from posse.papers.points import Computation, always
from posse.papers.sample import regret, value
from posse.papers.statements import claim
from protocol.cooperative import release_counts, zeta

_EPSILONS = (0.25, 0.5, 1.0)


def _theorem_3_7(epsilon: float) -> dict[str, Any]:
    return private(True, epsilon, gamma=1)


_GAPS = (0.01, 0.05, 0.1, 0.3, 0.5)


def over_the_lower_bound(variant: Any, generator: Any, gap: float) -> dict[str, Any]:
    """8/Δ of Theorem 3.7 (χ̄ = 1) over Δ/D of Theorem 2.1, Bernoulli means 1/2 ± Δ/2."""
    best, other = 0.5 + gap / 2, 0.5 - gap / 2
    divergence = best * log(best / other) + (1 - best) * log((1 - best) / (1 - other))
    return {"value": 8 / gap / (gap / divergence)}


def releases(variant: str, epsilon: float, last: int) -> list[int]:
    """The pulls W_1 < W_2 < … at which an arm's mean is released.

    `printed` is the lemma to the letter: sum_{i = W_n + 1}^{x} i^(-v/2) >= 1 / (ε x^v).
    """
    if variant == "corrected":
        return list(release_counts(epsilon, V, last))
    found, total = [], 0.0
    for x in range(1, last + 1):
        total += x ** (-V / 2)
        if total >= 1 / (epsilon * x**V) - 1e-12:
            found.append(x)
            total = 0.0
    return found


def steps(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The mean interval between releases up to `pulls` pulls, times ε."""
    return {"value": epsilon * pulls / len(releases(variant, epsilon, pulls))}


def spent(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The releases' cost Σ x^(-v/2) over Lemma 3.6's ε t^(1-v/2) / (1-v/2)."""
    total = sum(x ** (-V / 2) for x in releases(variant, epsilon, pulls))
    return {"value": total * (1 - V / 2) / (epsilon * pulls ** (1 - V / 2))}


def squares(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The releases' squared costs Σ x^-v over ε ζ(v)."""
    return {"value": sum(x**-V for x in releases(variant, epsilon, pulls)) / (epsilon * zeta(V))}


_LINES = {"interval × ε": steps, "cost over Lemma 3.6": spent, "squares over ε ζ(v)": squares}


def _both(line: str) -> tuple[str, ...]:
    return tuple(f"{line}, ε = {epsilon:g}" for epsilon in (0.1, 0.5))


EXPERIMENTS = (
    Experiment(
        "dubey-theorem-3-7", "Theorem 3.7", "Regret of private cooperation against its bound",
        x_label="ε",
        y_label="regret of all agents",
        points=always({"Private": {epsilon: _theorem_3_7(epsilon) for epsilon in _EPSILONS}}),
        repeat=(10, 50),
        metric=regret,
        assumed="M = 30, p = .25, T = 150, γ = 1, v = 1.1, K = 5 with means U[0, 1]; the clique "
        "cover is found greedily. The proof needs γ < 1/ε, which fails at ε = 1, and equation 13 "
        "adds means without their counts.",
        statements=tuple(
            claim(f"ε = {epsilon:g}: regret is below the bound", "Theorem 3.7",
                  UnderTheory("Private", epsilon, _theorem_3_7(epsilon)), "printed")
            for epsilon in _EPSILONS
        ),
    ),
    computed(
        "dubey-optimal", "Theorems 2.1 and 3.7",
        "The leading term of the bound against the lower bound",
        x_label="gap Δ",
        y_label="upper over lower",
        points=always({
            "(8/Δ) / (Δ/D)": {gap: Computation(over_the_lower_bound, gap) for gap in _GAPS}
        }),
        limit=1.0,
        repeat=(1, 1),
        log="x",
        assumed="γ = diameter, so that χ̄ = 1; two arms, Bernoulli, means 1/2 ± Δ/2. By Pinsker's "
        "inequality the ratio is at least 16 for all arms.",
        statements=(
            claim("at γ = diameter the bound matches the lower bound up to additive constants",
                  "2 and Remark 4", AtMost(("(8/Δ) / (Δ/D)",), 1.0)),
        ),
    ),
    Experiment(
        "dubey-releases", "Lemmas 3.4 and 3.6", "When means are released, and what that costs",
        x_label="pulls of the arm",
        y_label="ratio",
        points=always({
            f"{line}, ε = {epsilon:g}": {
                pulls: Computation(of, epsilon, pulls) for pulls in (100, 1000, 10_000)
            }
            for line, of in _LINES.items() for epsilon in (0.1, 0.5)
        }),
        repeat=(1, 1),
        metric=value,
        log="x",
        assumed="v = 1.1. Corrected: a release is due when the interval's sum of i^(-v/2) reaches "
        "x^(-v/2)/ε; printed, to the letter: 1/(ε x^v).",
        statements=(
            claim("means are released every 1/ε pulls or so (here: within 30 %)", "3.2",
                  Inside(_both("interval × ε"), 0.7, 1.3)),
            claim("the releases up to t cost at most ε t^(1−v/2) / (1−v/2)", "Lemma 3.6",
                  AtMost(_both("cost over Lemma 3.6"), 1.0)),
            claim("the squares of their costs add up to at most ε ζ(v)", "Lemma 3.6",
                  AtMost(_both("squares over ε ζ(v)"), 1.0)),
        ),
    ),
)  # fmt: skip
