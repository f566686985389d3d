"""Steps of the proofs of Dubey and Pentland 2020, and lines against text, in exact numbers."""

from functools import partial
from math import log, log1p, sqrt
from typing import Any

import numpy as np

from posse_papers.checks import at_most
from posse_papers.dubey.plain import V
from posse_papers.experiment import Axes, Computation, along, computed
from posse_papers.statements import claim, over
from posse_papers.steps import Step, steps
from posse_papers.worlds import multiplied
from posse_systems.algorithms import release_counts, zeta


def halved_tail(trials: int) -> float:
    """Σ_{t <= T} 4 t^(-3/2) of equation 29 over the ζ(3/2) of equation 30."""
    return 4 * float((np.arange(1, trials + 1) ** -1.5).sum()) / zeta(1.5)


def noise_over_deviation(pulls: int) -> float:
    """How many times its own width equation 22 subtracts from it: h over σ sqrt(2 log t / N).

    One agent with n pulls, t = 2, σ = 1: h = 3.5 log t sqrt(8 n^(v-2)). It grows with t and n, and
    is M times that for M agents if noise is added up as in equation 13, as much if it is averaged.
    """
    return 3.5 * log(2) * sqrt(8 * pulls ** (V - 2)) / sqrt(2 * log(2) / pulls)


def samples_short(sigma: float) -> float:
    """Samples after which event C of equation 38 is false, δ = t⁻², over those of equation 40."""
    return 8 * sigma / (4 * sigma**2)


def room_left(epsilon: float) -> float:
    """2σ sqrt(ε) over Δ, of which Theorem 4.3 subtracts it, at σ = 1/2 and ε < Δ/2σ = .2."""
    return sqrt(epsilon) / 0.2


def laplace_tail(count: int, omega: float, width: float) -> float:
    """P(|Σ Y_i| >= width ln(1/ω)) / ω of `count` Laplace numbers of scale 1.

    Their sum is the difference of two Gamma(count) numbers.
    """
    from scipy.integrate import quad  # noqa: PLC0415
    from scipy.stats import gamma  # noqa: PLC0415

    far = width * log(1 / omega)
    beyond, _ = quad(
        lambda y: gamma.pdf(y, count) * gamma.sf(far + y, count), 0, count + 40 * sqrt(count)
    )
    return float(2 * beyond / omega)


def composed(variant: str) -> float:
    """What the releases cost by advanced composition over 2 ε ζ(v) + sqrt(2 ε ζ(v) ln(1/δ')).

    ε_i = x^(-v/2) in Lemma 3.6's series, ε = .1, δ' = 10⁻⁶, 10⁵ pulls:
    Σ ε_i (e^ε_i - 1)/(e^ε_i + 1) + sqrt(2 ln(1/δ') Σ ε_i²), over what the lemma has.
    """
    costs = np.array(release_counts(0.1, V, 100_000, as_printed=variant == "printed")) ** (-V / 2)
    needed = (costs * np.tanh(costs / 2)).sum() + sqrt(2 * log(1e6) * (costs**2).sum())
    allowed = 2 * 0.1 * zeta(V) + sqrt(2 * 0.1 * zeta(V) * log(1e6))
    return float(needed / allowed)


def cliques_added(cliques: int) -> float:
    """(M-1)(γ-1) + 1 + 4|C| over all cliques over 3M + γ χ̄ (M - 1); M = 30, γ = 2."""
    total = cliques * (29 + 1) + 4 * 30
    return total / (90 + 2 * cliques * 29)


def hoeffding(t: int) -> float:
    """P(mean of N - μ >= σ sqrt(2 ln t / N)), exact for fair coins, N = 64, over its bound t^-4σ².

    σ = 1/2, so that equation 22's e^(-2 N σ² 2 ln t / N) is t^-1 and not t^-3.5.
    """
    from scipy.stats import binom  # noqa: PLC0415

    count = 64
    least = count * (0.5 + 0.5 * sqrt(2 * log(t) / count))
    return float(binom.sf(np.ceil(least - 1e-9) - 1, count, 0.5) * t)


def left_of_23(sigma: float, t: int) -> float:
    """e^(-2 N (σ sqrt(2 ln t / N))²) of equation 23, which is t^(-4σ²), over t^-3.5; h = 0."""
    return float(t ** (-4 * sigma**2) / t**-3.5)


def fewest_samples(gap: float) -> float:
    """The N from which 2σ sqrt(2 ln t / N) <= Δ, over equation 26's 8σ² ln t / Δ²."""
    sigma, t = 0.5, 1000
    return (2 * sigma * sqrt(2 * log(t)) / gap) ** 2 / (8 * sigma**2 * log(t) / gap**2)


def count_43(pulls: int) -> float:
    """N_C - (M - 1)(1 - γ), after equation 44, over what an agent can know; γ = 3, M = 10.

    It knows at least N_C - (M - 1)(γ - 1) of N_C pulls, and at most all of them.
    """
    return (pulls + 9 * 2) / pulls


def _sensitivity(pulls: int) -> float:
    """Sensitivity 1/n of a mean over its noise's scale n^(v/2-1), over Lemma 3.5's n^(-v/2)."""
    return float((1 / pulls) / pulls ** (V / 2 - 1) / pulls ** (-V / 2))


def graph_sum(gamma: int) -> float:
    """Σ_{m'} (d - 1) on a path's middle over |G_γ| (γ - 1), equations 43 and 44."""
    return sum(2 * (d - 1) for d in range(1, gamma + 1)) / max(1e-9, 2 * gamma * (gamma - 1))


def kl_of_coins(gap: float) -> float:
    """2 Δ² over D(1/2 + Δ/2, 1/2 - Δ/2), Pinsker's inequality behind Theorem 2.1's order."""
    best, other = 0.5 + gap / 2, 0.5 - gap / 2
    return (
        2
        * gap**2
        / (best * log(best / other) + (1 - best) * log1p(-best) - (1 - best) * log1p(-other))
    )


STEPS = (
    Step("Σ_t 4 t^(-3/2) is at most ζ(3/2)", "29, 30", halved_tail, (1, 1000, 10**6)),
    Step("the deviation of Hoeffding's inequality is not negative", "22", noise_over_deviation,
         (1, 10, 1000), "M = 1, t = 2, σ = 1, where it is largest"),
    Step("event C is false from 4σ² log t / (Δ − 2σ√ε)² samples on", "38 to 40", samples_short,
         (0.25, 0.5), "δ = t⁻²"),
    Step("ε < Δ/2σ leaves Δ − 2σ√ε positive", "Theorem 4.3, Theorem 7.2", room_left,
         (0.01, 0.04, 0.1, 0.19), "σ = 1/2, Δ = .2"),
    Step("ε < (Δ/2σ)² does", "", room_left, (0.01, 0.02, 0.039)),
    Step("|Σ Y_i| >= ln(1/ω) √(8 Σ b²) with probability ω at most", "17",
         lambda n: laplace_tail(n, 0.5, sqrt(8 * n)), (1, 3, 30), "ω = 1/2"),
    Step("the releases cost at most 2εζ(v) + √(2εζ(v) ln(1/δ')) together", "Lemma 3.6",
         lambda x: composed("corrected"), (1,), "y' read as √x', ε = .1, δ' = 10⁻⁶"),
    Step("the bound's constant is at least that of equation 51", "51, Theorem 7.2",
         lambda m: (1 + 4 * m) / (4 * m - 1), (2, 10, 30), "χ̄ = 1, γ = 1"),
    Step("and for several cliques", "50, 51", cliques_added, (2, 5, 10), "M = 30, γ = 2"),
    Step("Theorem 3.7 restates Theorem 7.1: 8/Δ is 8σ²/Δ", "Theorem 3.7, Theorem 7.1",
         lambda sigma: 1 / sigma**2, (0.5, 1.0), "σ = 1/2 and 1", True),
    Step("Hoeffding's inequality gives t^−1 at σ = 1/2", "22", hoeffding, (2, 5, 20),
         "fair coins, N = 64, no noise"),
    Step("e^(−2N(…)²) is at most t^−3.5 at σ = 1", "23, 25", partial(left_of_23, 1.0),
         (2, 10, 100), "no noise"),
    Step("and at σ = 1/2, that of rewards in [0, 1]", "23, 25", partial(left_of_23, 0.5),
         (2, 10, 100), "no noise"),
    Step("event C is false from 8σ² ln t / Δ² samples on", "16, 26", fewest_samples,
         (0.1, 0.5), exact=True),
    Step("n^(v−2) is at most (1/ε − γ)^(v−2)", "24",
         lambda n: n ** (V - 2) / 8 ** (V - 2), (8, 10, 100), "n >= 1/ε − γ, ε = .1, γ = 2"),
    Step("N_m >= N_C − (M − 1)(1 − γ)", "44", count_43, (20, 100), "γ = 3, M = 10"),
    Step("Σ_t 2/t³ is at most 4", "47, 48", lambda t: sum(n**-3.0 for n in range(1, t + 1)) / 2,
         (1, 1000)),
    Step("the mean costs s(f)/β = n^(−v/2)", "Lemma 3.5, 5", _sensitivity, (7, 100),
         "the mean of all n rewards", True),
    Step("Σ (d − 1) is at most |G_γ| (γ − 1)", "43, 44", graph_sum, (2, 3, 10), "a path's middle"),
    Step("an intermediary corrupts with probability γε at most", "Section 4",
         lambda d: (1 - 0.95**d) / (0.05 * d), (1, 3, 10)),
    Step("D >= 2Δ², so that Theorem 2.1 is of order Σ 1/Δ", "Theorem 2.1", kl_of_coins,
         (0.1, 0.5, 0.9), "Pinsker's inequality, coins"),
)  # fmt: skip


def at(number: int, x: Any) -> float:
    """The ratio of a step at a place."""
    return float(STEPS[number].ratio(x))


def literal_releases(line: str, pulls: int) -> float:
    """Releases of an arm in n pulls: by Lemma 3.4, by line 6 of Algorithm 1, and T/ε; ε = .1.

    Line 6 compares the arm's pulls with W(i) = w_i, an interval and not the end of one.
    """
    ends = release_counts(0.1, V, pulls)
    if line == _SECTION:
        return pulls / 0.1
    if line == _LEMMA:
        return float(len(ends))
    widths, due = np.diff([0, *ends]), 0
    for count in range(1, pulls + 1):
        due += due < len(widths) and count == widths[due]
    return float(due)


_LEMMA, _LINE, _SECTION = "Lemma 3.4", "Algorithm 1, line 6", "section 3.2: T/ε"
_READINGS = {"T/ε, as it is written": 10.0, "T ε": 0.1}


EXPERIMENTS = (
    steps(
        "dubey-proofs", "Theorems 3.7 and 4.3, appendix", "Steps of the two proofs, in numbers",
        STEPS, at, "v = 1.1.",
    ),
    computed(
        "dubey-line-6", "Algorithm 1, Lemma 3.4", "How often a mean is released",
        claim("line 6 of Algorithm 1 releases as often as Lemma 3.4", "Algorithm 1",
              at_most(_LINE, lambda line, n: 0.9 * len(release_counts(0.1, V, int(n))), sign=-1)),
        claim("a mean is updated only (approximately) T/ε times", "3.2",
              over(lambda reading, at_least: at_most(
                  _LEMMA, lambda line, n: at_least * reading * n, sign=-1),
                   reading=_READINGS, at_least=(0.5, 0.8)),
              wrong=multiplied("a tenth as often", _LEMMA, 0.1)),
        lines=along(partial(Computation, literal_releases), (_LEMMA, _LINE, _SECTION),
                   (100, 1000, 10_000)),
        axes=Axes("pulls of an arm", "releases", "xy"),
        assumed="Exact. ε = .1, v = 1.1; y' of Lemma 3.4 read as √x'.",
    ),
)  # fmt: skip
