"""Steps of the proofs of Tossou and Dimitrakakis 2015, in exact numbers."""

from functools import partial
from math import ceil, e, exp, floor, log, pi, sqrt
from typing import Any

import numpy as np

from posse_papers.dubey.proofs import laplace_tail
from posse_papers.steps import Step, steps
from posse_systems.algorithms import plays_with_bound, target_rank

_GAP, _EPSILON = 0.45, 1.0
_UCB = 8 / _GAP**2
"""What UCB1's pulls of a worse arm are times log t."""


def lambda_1(t: float, share: float = 0.5) -> float:
    """λ_1 of equation 24: 8 log t / (Δ λ_0 ε), λ_0 = 1/2."""
    return 8 * log(t) / (_GAP * share * _EPSILON)


def root(factor: float) -> float:
    """The n from which n >= λ log^1.5 n, the larger one; equation 25 by Lambert's W."""
    from scipy.special import lambertw  # noqa: PLC0415

    return float(exp(-1.5 * lambertw(-1 / (1.5 * factor ** (1 / 1.5)), -1).real))


def fact_1(delta: float, count: int) -> float:
    """P(|Y| >= ||b|| ln(1/δ)) over δ, `count` equal scales."""
    return laplace_tail(count, delta, sqrt(count))


def target(players: int) -> float:
    """Players that target the same rank in a slot, over one: offsets 1 to M, in M slots."""
    worst = 1
    for slot in range(1, players + 1):
        ranks = [target_rank(slot, offset, players) for offset in range(1, players + 1)]
        worst = max(worst, *(ranks.count(rank) for rank in ranks))
    return float(worst)


def mini_sequence(rounds: int) -> float:
    """Σ_t Σ_n Σ_n_a 4 t^-4 over steps of M, over (4/M²) Σ t^-2, equations 26 and 27; M = 3.

    The outer sum has a factor 1/M too: one in M slots belongs to a subsequence.
    """
    players, total = 3, 0.0
    for t in range(1, rounds + 1, players):
        inner = len(range(1, t, players))
        total += 4 * inner**2 * t**-4.0
    return float(total / (4 / players**2 * sum(t**-2.0 for t in range(1, rounds + 1))))


def chernoff(t: int) -> float:
    """P(mean <= 1/2 - sqrt(2 log t / n)) of n = 50 fair coins over t^-4: equations 15 to 17."""
    from scipy.stats import binom  # noqa: PLC0415

    off = 50 * sqrt(2 * log(t) / 50)
    return float(binom.cdf(floor(25 - off + 1e-9), 50, 0.5) * t**4)


def from_24(t: float) -> float:
    """2 h at n = λ_1 log^1.5 n over (1 - λ_0) Δ: equation 24; λ_0 = 1/4.

    λ_1 as printed has Δ λ_0 where equation 24 has Δ (1 - λ_0), as here.
    """
    n = root(lambda_1(t, 0.75))
    h = log(t**4) * log(n) ** 1.5 / n
    return float(2 * h / (0.75 * _GAP))


def enough_42(t: float, delta_power: int = 3) -> float:
    """H at n = 18 (7 + 4√3) log⁴ t / ε² over λ_4 c, h = log^1.5 t log(1/δ)/(ε n), δ = t^-3."""
    n = 18 * (7 + 4 * sqrt(3)) * log(t) ** 4
    h = log(t) ** 1.5 * delta_power * log(t) / n
    return float(h / ((1 - sqrt(3) / 2) * sqrt(2 * log(t) / n)))


def theorem_6(players: int, divided: bool) -> float:
    """M Σ_p Σ_{j<=p} Σ_a τ over M² times its value at M = 2; N = 40, equal gaps, log t large.

    With equation 5's division by M, or without it.
    """

    def bound(count: int) -> float:
        plays = float(
            plays_with_bound(epsilon=1.0, players=count if divided else 1, as_printed=True)(
                0.1, np.array([1e9])
            )[0]
        )
        return count * sum((40 - j) * plays for p in range(1, count + 1) for j in range(1, p + 1))

    return bound(players) / bound(2) / (players / 2) ** 2


STEPS = (
    Step("|Y| >= ‖b‖ ln(1/δ) with probability δ at most", "Fact 1, 3", partial(fact_1, 0.05),
         (1, 3, 30), "δ = .05"),
    Step("the same for larger δ", "Fact 1, 3", partial(fact_1, 0.3), (1, 3, 30), "δ = .3"),
    Step("and at δ = 1/2", "Fact 1, 3", partial(fact_1, 0.5), (1, 3, 30)),
    Step("no two players target the same rank", "Section 3.1, Algorithm 1", target, (2, 3, 8),
         "agreed offsets", True),
    Step("P(12) and P(13) are at most δ + t^−4 each: the Chernoff part", "15 to 22", chernoff,
         (2, 3, 5), "fair coins, n = 50"),
    Step("23 holds from n = 8 log t / (λ_0²Δ²) on", "23",
         lambda t: 2 * sqrt(2 * log(t) / (4 * _UCB * log(t))) / (0.5 * _GAP), (100, 10**6),
         exact=True),
    Step("24 holds from n = λ_1 log^1.5 n on, with 1 − λ_0 in λ_1", "24", from_24, (100, 10**6),
         exact=True),
    Step("λ_1 as printed, with λ_0, is as large as 24 asks", "24",
         lambda t: lambda_1(t, 0.1) / lambda_1(t, 0.9), (100, 10**6), "λ_0 = .9"),
    Step("λ_1 exceeds (e/1.5)^1.5", "25", lambda t: (e / 1.5) ** 1.5 / lambda_1(t),
         (3, 100, 10**6), "ε = 1, Δ = .45"),
    Step("W's branch −1 solves n = λ_1 log^1.5 n", "25",
         lambda t: root(lambda_1(t)) / (lambda_1(t) * log(root(lambda_1(t))) ** 1.5),
         (100, 10**6), exact=True),
    Step("the solution is at most λ_1^2.25", "25",
         lambda t: root(lambda_1(t)) / lambda_1(t) ** 2.25, (3, 100, 10**6)),
    Step("it is about that: a tenth of it at least", "25",
         lambda t: 0.1 * lambda_1(t) ** 2.25 / root(lambda_1(t)), (3, 100, 10**6)),
    Step("the union over all counts is 4 t^−2", "11, 26",
         lambda t: (t - 1) ** 2 * 4 * t**-4.0 / (4 * t**-2.0), (3, 100), "M = 1"),
    Step("sums over steps of M divide it by M²", "26, 27", mini_sequence, (30, 3000), "M = 3"),
    Step("⌈x⌉ is at most 1 + x", "27, 28",
         lambda t: ceil(_UCB * log(t) / 3) / (1 + _UCB * log(t) / 3), (100, 10**6)),
    Step("4 Σ t^−2 is at most 2π²/3", "27, 28, 29",
         lambda t: 4 * sum(n**-2.0 for n in range(1, t + 1)) / (2 * pi**2 / 3), (10, 10_000)),
    Step("e^(−2n(c − λ_4 c)²) is t^−3", "37, 38, 42",
         lambda t: exp(-2 * (sqrt(3) / 2 * sqrt(2 * log(t))) ** 2) / t**-3.0, (2, 100), exact=True),
    Step("h <= λ_4 c from n = 18(7 + 4√3) log⁴ t / ε² on", "33, 34 to 39, 44", enough_42,
         (3, 10**6), "h with the constant 1"),
    Step("32 is false from n = 8 log t / Δ² on", "32, 44",
         lambda t: 2 * sqrt(2 * log(t) / (_UCB * log(t))) / _GAP, (100, 10**6), exact=True),
    Step("4 Σ t^−1 is at most 4 (1 + log t)", "43, 44",
         lambda t: sum(1 / n for n in range(1, t + 1)) / (1 + log(t)), (1, 1000)),
    Step("the noise is the same for all arms: in the means, which are ranked", "Section 3.3",
         lambda times: times, (2, 29), "arms with 1/x of the pulls of another", True),
    Step("the regret is O(M² log^2.25 T), with equation 5 divided by M", "Theorem 6, 7",
         partial(theorem_6, divided=True), (2, 4, 8, 16), "N = 40, equal gaps"),
    Step("and without the division, which fails for many players", "Theorem 6, 7",
         partial(theorem_6, divided=False), (2, 4, 8, 16), "N = 40, equal gaps"),
)  # fmt: skip


def at(number: int, x: Any) -> float:
    """The ratio of a step at a place."""
    return float(STEPS[number].ratio(x))


EXPERIMENTS = (
    steps(
        "tossou-proofs", "Fact 1, Lemmas 4 and 7, Theorem 6", "Steps of the proofs, in numbers",
        STEPS, at, "ε = 1, Δ = .45, λ_0 = 1/2 where nothing else is said.",
    ),
)  # fmt: skip
