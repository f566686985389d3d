"""Steps of the proofs of Li and Song 2022, in exact numbers."""

from functools import partial
from itertools import pairwise
from math import ceil, exp, floor, inf, log, log2, sqrt
from typing import Any

from posse_papers.steps import Step, steps

_K, _T = 10, 10**6


def over_promised(agents: int, scale: float = 1.0) -> float:
    """Equation 17 at K = 10, j = 1, T = 10⁶: the true probability over the one on the right.

    The sum of M noises of scale b exceeds b sqrt(8 M log(8KT)); it is b times the difference of
    two Gamma(M) numbers. `scale`: how many times as large as printed the noises are.
    """
    far = sqrt(8 * agents * log(8 * _K * _T)) / scale
    return sum_beyond(agents, far) * 4 * _K * _T


def sum_beyond(count: int, far: float) -> float:
    """P(|Σ Y_i| >= far) of `count` Laplace numbers of scale 1."""
    from scipy.integrate import quad  # noqa: PLC0415
    from scipy.stats import gamma  # noqa: PLC0415

    if count == 1:
        return exp(-far)
    beyond, _ = quad(lambda y: gamma.pdf(y, count) * gamma.sf(far + y, count), 0, inf)
    return float(2 * beyond)


def fact_2(count: int) -> float:
    """P(S_n >= a) over e^(-a²/(8 ν²)), ν = λ √n and a = .9 √8 ν²/λ: Fact 2 with a squared."""
    far = 0.9 * sqrt(8) * count
    return sum_beyond(count, far) / 2 / exp(-(far**2) / (8 * count))


def fact_2_printed(count: int) -> float:
    """The bound as printed, e^(-a/(8 ν²)), over the one with a squared, which the proof uses."""
    far = 0.9 * sqrt(8) * count
    return exp(-far / (8 * count)) / exp(-(far**2) / (8 * count))


def hoeffding(count: int) -> float:
    """P(S_t >= t/2 + a) of fair coins over e^(-2a²/t), a = √t: Fact 1."""
    from scipy.stats import binom  # noqa: PLC0415

    least = ceil(count / 2 + sqrt(count) - 1e-9)
    return float(binom.sf(least - 1, count, 0.5) / exp(-2))


def pulls_over_printed(gap: float) -> float:
    """The first term of S(r_k), 8 / Δ̃², over the 16 / Δ_k² of equation 22.

    r_k = ⌈log2(1/Δ_k) + 1⌉ and Δ̃ = 2^(-r_k).
    """
    last = ceil(log2(1 / gap) + 1 - 1e-12)
    return float(8 * 4**last / (16 / gap**2))


def epochs_over_rounds(gap: float) -> float:
    """r_k of equation 24 over R for the arm with the smallest gap Δ, before it is rounded up."""
    return (1 + log2(1 / gap)) / log2(1 / gap)


def sum_over_printed(gap: float) -> float:
    """Σ 2^-(r-1) of equation 29, r up to log2(1/Δ) + 1, over the printed 2 (1 - Δ)."""
    return (2 - gap) / (2 * (1 - gap))


def one_pull_over_printed(agents: int) -> float:
    """The one pull of an arm that each agent makes at least, over what equation 22 allows it.

    Δ_k = 1/2, so that r_k = 2; ε = 1.
    """
    far = log(8 * _K * _T * 4)
    noisy: float = 64 * sqrt(2 * far) / (agents**1.5 / 2)
    return 1 / max(64 * far / agents, noisy)


def rounds_over_stated(gap: float, above: float = 1.0) -> float:
    """r_k over the s rounds after which an arm with a gap above 2^-s is out by equation 29.

    `above`: by what 2^-s is multiplied.
    """
    stated = floor(log2(above / gap) + 1e-12) + 1
    return ceil(log2(1 / gap) + 1 - 1e-12) / stated


def samples(r: float) -> tuple[float, float]:
    """The two terms of S(r), M = 50, ε = 1, all arms active."""
    far = log(8 * _K * r**2 * _T)
    return 8 * far * 4.0**r / 50, 8 * r * sqrt(2 * far) * 2.0**r / 50**1.5


def radii(r: float) -> tuple[float, float]:
    """c(r) and h(r) at the term of S(r) that each is about, over Δ̃_r / 4."""
    far, (chance, noise) = log(8 * _K * r**2 * _T), samples(r)
    c = sqrt(far / (2 * 50 * chance))
    h = r * sqrt(8 * far) / (50**1.5 * noise)
    return c * 4 * 2.0**r, h * 4 * 2.0**r


def mean_of_history(r: int) -> float:
    """Equation 6, step by step, over its sum of equation 12, for the means 1 to r."""
    sizes = [max(samples(step)) for step in range(1, r + 1)]
    kept, before = 0.0, 0.0
    for step, size in enumerate(sizes, start=1):
        kept, before = before / size * kept + (size - before) / size * step, size
    edges = [0.0, *sizes]
    weights = [b - a for a, b in pairwise(edges)]
    return kept / (sum(w * s for s, w in enumerate(weights, start=1)) / sizes[-1])


def noise_19(r: int) -> float:
    """Σ_j sqrt(8 log(8 K j² T)) over r sqrt(8 log(8 K r² T))."""
    terms = (sqrt(log(8 * _K * j**2 * _T)) for j in range(1, r + 1))
    return sum(terms) / (r * sqrt(log(8 * _K * r**2 * _T)))


def scaled(p: float, noisy: bool, squared: bool, r: int = 3) -> float:
    """A term of S^p(r) over that of S(r) and the factor that section IV-B prints; Δ = .01, R = 5.

    The factor is 2^-r / (p Δ^(r/R)), of the noise's term with p^1.5; `squared`: with its square.
    """
    aim = 0.01 ** (r / 5)
    exact = (2.0**-r / aim) ** (1 if noisy else 2) / p ** (1.5 if noisy else 1)
    printed = (2.0**-r / aim) ** (2 if squared else 1) / p ** (1.5 if noisy else 1)
    return float(exact / printed)


def terms_32(rounds: int) -> float:
    """Σ_{r=1}^R Δ^(r/R) over (1 - Δ)/(1 - Δ^(1/R)), which has the powers 0 to R - 1; Δ = .5."""
    left = sum(0.5 ** (r / rounds) for r in range(1, rounds + 1))
    return float(left * (1 - 0.5 ** (1 / rounds)) / 0.5)


def delays_30(gap: float) -> float:
    """The left side of equation 30 over M (d_G - 1)(2 + log T / T)."""
    left = (1 - 1 / _T) * 2 * (1 - gap) + ceil(log2(1 / gap) + 1 - 1e-12) / _T
    return left / (2 + log2(_T) / _T)


def distances(agents: int) -> float:
    """Σ sd(i, SA) over M d_G on a ring: the last step of Theorem 4."""
    hops = [min(i, agents - i) for i in range(agents)]
    return sum(hops) / (agents * max(hops))


_AGENTS, _GAPS = (1, 2, 5, 10, 20, 50), (0.5, 0.499, 0.3, 0.125, 0.01)
_POWERS = (0.5, 0.125, 2.0**-7)
_EPOCHS = (1, 2, 5)

STEPS = (
    Step("the mean of M noises exceeds its bound with the probability on the right at most",
         "16, 17", over_promised, _AGENTS, "any M"),
    Step("for M >= 20 > log(8KT), for which the first line's bound is meant, it does", "",
         over_promised, (20, 50), wrong=(("noise of twice the scale",
                                          lambda m: over_promised(int(m), 2.0)),)),
    Step("S(r_k) is at most 16 log(…)/(M Δ_k²) in its first term", "22", pulls_over_printed, _GAPS),
    Step("it is with 128, as Δ̃ >= Δ_k/4", "", lambda gap: pulls_over_printed(gap) / 8, _GAPS),
    Step("the arm with gap Δ is out after R rounds: r_k <= R", "24, 26, Step 2 of Theorem 2",
         epochs_over_rounds, _GAPS),
    Step("each agent pulls an arm at most max{16 log(…)/(M Δ_k²), …} times", "22, 23, equation 7",
         one_pull_over_printed, (50, 1000, 2000, 10_000), "any M"),
    Step("an arm with a gap above 2^-(r−1) is out after round r − 1", "29, 34, Step 2.2",
         rounds_over_stated, _GAPS),
    Step("one with a gap above twice as much is", "", lambda gap: rounds_over_stated(gap, 2.0),
         _GAPS, wrong=(("gaps above 2^-(r−1)", rounds_over_stated),)),
    Step("Σ 2^-(r−1) over ⌈log(1/Δ) + 1⌉ rounds is 2 (1 − Δ)", "29, 34", sum_over_printed, _POWERS),
    Step("P(S_t >= tμ + a) is at most e^(−2a²/t)", "Fact 1", hoeffding, (10, 100, 1000),
         "fair coins, a = √t"),
    Step("P(S_n >= a) < e^(−a²/8ν²)", "Fact 2", fact_2, (1, 2, 5), "a squared, a < √8 ν²/λ"),
    Step("the exponent is a/(−8ν²), as printed", "Fact 2", fact_2_printed, (1, 2, 5), exact=True),
    Step("equation 6 is the sum of equation 12", "6, 12", mean_of_history, _EPOCHS, exact=True),
    Step("2e^(−2MSc²) is 1/(4Kr²T)", "14",
         lambda r: 2 * exp(-log(8 * _K * r**2 * _T)) * 4 * _K * r**2 * _T, _EPOCHS, exact=True),
    Step("the union over arms and epochs is at most 1/(2T)", "15, 18",
         lambda last: sum(r**-2.0 for r in range(1, last + 1)) / 2, (1, 5, 1000)),
    Step("the noises of all epochs add up to h(r) at most", "19", noise_19, _EPOCHS),
    Step("c(r) is Δ̃_r/4", "21, Step 2.2", lambda r: radii(r)[0], _EPOCHS, exact=True),
    Step("h(r) is Δ̃_r/4", "21, Step 2.2", lambda r: radii(r)[1], _EPOCHS, exact=True),
    Step("8 log(8Kr²T) is at most 24 log(r²KT)", "26",
         lambda r: log(8 * _K * r**2 * _T) / (3 * log(_K * r**2 * _T)), (1, 5)),
    Step("Δ^(−2/R) is at most T^(2/R)", "26",
         lambda r: (1 / _T) ** (-2 / r) / _T ** (2 / r), (2, 5), "Δ >= 1/T"),
    Step("S^p(r) is 2^−r/(pΔ^(r/R)) times S(r) in its first term", "IV-B, appendix C",
         partial(scaled, noisy=False, squared=False), (0.2, 1.0), "Δ = .01, R = 5, r = 3", True),
    Step("with the square of 2^−r/Δ^(r/R) it is", "", partial(scaled, noisy=False, squared=True),
         (0.2, 1.0), exact=True),
    Step("S^p(r) is 2^−r/(p^1.5 Δ^(r/R)) times S(r) in its second term", "IV-B, appendix C",
         partial(scaled, noisy=True, squared=False), (0.2, 1.0), exact=True),
    Step("Σ_{r=1}^R Δ^(r/R) is (1 − Δ)/(1 − Δ^(1/R))", "32", terms_32, (2, 5), "Δ = .5", True),
    Step("it is at most that", "", terms_32, (2, 5)),
    Step("the regret of the delays is at most M(d_G − 1)(2 + log T/T)", "30, 35", delays_30,
         (0.5, 0.125, 0.01), "29"),
    Step("Σ sd(i, SA) is at most M d_G", "Theorem 4, proof", distances, (4, 20), "a ring"),
)  # fmt: skip


def at(number: int, x: Any) -> float:
    """The ratio of a step at a place."""
    return float(STEPS[number].ratio(x))


EXPERIMENTS = (
    steps(
        "li-proofs", "Theorems 1 to 4, appendix", "Steps of the proofs, in numbers", STEPS, at,
        "K = 10, T = 10⁶, j = 1, logarithms of epochs to base 2.",
    ),
)  # fmt: skip
