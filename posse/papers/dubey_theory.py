"""Dubey and Pentland 2020: the theorem's bound, the releases and the robust mean, by numbers."""

from typing import Any

import numpy as np

from agent.trimmed import TrimmedMeans
from posse.papers.base import (
    Answer,
    Computation,
    Experiment,
    Finding,
    Measured,
    Point,
    Statement,
    below_theory,
    bounded,
    cannot,
    regret,
    value,
)
from posse.papers.dubey import ARMS, PAPER
from posse.report.numbers import number
from protocol.cooperative import release_counts, zeta

_V = 1.1


def _private(epsilon: float) -> dict[str, Any]:
    return {
        "system": "private-ucb",
        "agents": {"count": 30},
        "arms": ARMS,
        "topology": {"kind": "erdos-renyi", "p": 0.25},
        "parameters": {"horizon": 150, "epsilon": epsilon, "gamma": 1},
    }


_EPSILONS = (0.25, 0.5, 1.0)


def _bound_points(quick: bool) -> list[Point]:
    return [Point(line="Private", x=epsilon, run=_private(epsilon)) for epsilon in _EPSILONS]


def releases(variant: str, epsilon: float, last: int) -> list[int]:
    """The pulls W_1 < W_2 < … at which an arm's mean is released.

    `printed` is the lemma to the letter: sum_{i = W_n + 1}^{x} i^(-v/2) >= 1 / (ε x^v).
    """
    if variant == "corrected":
        return list(release_counts(epsilon, _V, last))
    found, total = [], 0.0
    for x in range(1, last + 1):
        total += x ** (-_V / 2)
        if total >= 1 / (epsilon * x**_V) - 1e-12:
            found.append(x)
            total = 0.0
    return found


def steps(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The mean interval between releases up to `pulls` pulls, times ε."""
    return {"value": epsilon * pulls / len(releases(variant, epsilon, pulls))}


def cost(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The releases' cost Σ x^(-v/2) over Lemma 3.6's ε t^(1-v/2) / (1-v/2)."""
    spent = sum(x ** (-_V / 2) for x in releases(variant, epsilon, pulls))
    return {"value": spent * (1 - _V / 2) / (epsilon * pulls ** (1 - _V / 2))}


def squares(variant: Any, generator: Any, epsilon: float, pulls: int) -> Any:
    """The releases' squared costs Σ x^-v over ε ζ(v)."""
    return {"value": sum(x**-_V for x in releases(variant, epsilon, pulls)) / (epsilon * zeta(_V))}


_PULLS = (100, 1000, 10_000)


def _release_points(quick: bool) -> list[Point]:
    lines = {"interval × ε": steps, "cost over Lemma 3.6": cost, "squares over ε ζ(v)": squares}
    return [
        Point(line=f"{line}, ε = {epsilon:g}", x=pulls, run=Computation(of, epsilon, pulls))
        for line, of in lines.items()
        for epsilon in (0.1, 0.5)
        for pulls in _PULLS
    ]


def _within(prefix: str, low: float, high: float) -> Any:
    def check(measured: Measured) -> Finding:
        said, inside = [], True
        for line in measured.lines():
            if line.startswith(prefix):
                values = [measured.values(line, x)[0] for x in measured.places(line)]
                inside = inside and low <= min(values) and max(values) <= high
                said.append(f"{line}: {min(values):.3g} to {max(values):.3g}")
        return Finding(
            answer="borne out" if inside else "not borne out",
            evidence="; ".join(said) + f"; wanted {low:g} to {high:g}",
        )

    return check


def trimmed(variant: Any, generator: np.random.Generator, mean: float, samples: int) -> Any:
    """The robust mean's mean error on Bernoulli rewards, no contamination, δ = 10^-6 (t = 1000)."""
    arms = 200
    estimator = TrimmedMeans(arms, variant)
    rewards = generator.binomial(1, mean, arms * samples).astype(float)
    estimator.add(np.repeat(np.arange(arms), samples), rewards)
    return {"value": float(estimator.estimate(1e-3, 1e-6).mean()) - mean}


_MEANS, _SAMPLES = (0.1, 0.3, 0.5, 0.7, 0.9), (50, 150, 300, 550, 1000)


def _trimmed_points(quick: bool) -> list[Point]:
    return [
        Point(line=f"μ = {mean:g}", x=samples, run=Computation(trimmed, mean, samples))
        for mean in _MEANS
        for samples in _SAMPLES
    ]


def _unbiased(means: tuple[float, ...]) -> Any:
    """|bias| <= .05 at every number of samples."""

    def check(measured: Measured) -> Finding:
        worst, at, inside, outside = 0.0, "", 0, 0
        places = [(f"μ = {mean:g}", x) for mean in means for x in _SAMPLES]
        for line, x in places:
            bias, half = bounded(measured.values(line, x))
            inside += abs(bias) + half <= 0.05
            outside += abs(bias) - half > 0.05
            if abs(bias) >= abs(worst):
                worst, at = bias, f"{line} and {x:g} samples"
        answer: Answer = "undecided"
        if outside:
            answer = "not borne out"
        elif inside == len(places):
            answer = "borne out"
        return Finding(
            answer=answer,
            evidence=f"The largest error is {number(worst)}, at {at}; {outside} of {len(places)} "
            "settings are off by more than .05",
        )

    return check


EXPERIMENTS = (
    Experiment(
        name="dubey-bound",
        paper=PAPER,
        figure="Theorem 3.7",
        title="Regret of private cooperation against its bound",
        x_label="ε",
        y_label="regret of all agents",
        points=_bound_points,
        repeat=(10, 50),
        metric=regret,
        assumed="M = 30, p = .25, T = 150, γ = 1, v = 1.1, K = 5 with means U[0, 1]; the clique "
        "cover is found greedily.",
        agreement={
            **_private(1.0),
            "agents": {"count": 6},
            "topology": {"kind": "ring"},
        },
        statements=(
            *(
                below_theory(f"Regret is below Theorem 3.7 (ε = {epsilon:g}).", "Private", epsilon,
                             _private(epsilon))
                for epsilon in _EPSILONS
            ),
            cannot("Theorem 3.7 at ε = 1.", "Its proof takes (1/ε - γ)^(v/2 - 1), which needs "
                   "γ < 1/ε and so γ = 0 at ε = 1; and equation 13 adds means without their "
                   "counts. What is measured above is the formula, not the proof."),
            cannot("Theorem 4.3.", "It drops the factor Δ_k of equation 51; what is printed does "
                   "not follow from its proof."),
        ),
    ),
    Experiment(
        name="dubey-releases",
        paper=PAPER,
        figure="Lemmas 3.4 and 3.6",
        title="When means are released, and what that costs",
        x_label="pulls of the arm",
        y_label="ratio",
        points=_release_points,
        repeat=(1, 1),
        metric=value,
        log_x=True,
        assumed="v = 1.1. Corrected: a release is due when the interval's sum of i^(-v/2) reaches "
        "x^(-v/2)/ε; printed: 1/(ε x^v).",
        statements=(
            Statement(text="Releases are about 1/ε pulls apart (within 30%).",
                      check=_within("interval", 0.7, 1.3)),
            Statement(text="Their costs add up to at most ε t^(1-v/2) / (1-v/2).",
                      check=_within("cost", 0.0, 1.0)),
            Statement(text="Their squares add up to at most ε ζ(v).",
                      check=_within("squares", 0.0, 1.0)),
        ),
    ),
    Experiment(
        name="dubey-mean",
        paper=PAPER,
        figure="Algorithm 3",
        title="The robust mean on Bernoulli rewards",
        x_label="samples",
        y_label="mean error",
        points=_trimmed_points,
        repeat=(10, 50),
        metric=value,
        log_x=True,
        assumed="No contamination; ε = .001, δ = 10^-6, as an agent has it at t = 1000.",
        statements=(
            Statement(text="The robust mean is right within .05 for means in [.3, .7].",
                      check=_unbiased((0.3, 0.5, 0.7))),
            Statement(text="And for all means.", check=_unbiased(_MEANS)),
        ),
    ),
)  # fmt: skip
