"""Steps of the proofs of Li and Song 2022, in exact numbers."""

from math import ceil, exp, floor, inf, log, log2, sqrt

from posse_papers.checks import at_most
from posse_papers.experiment import Axes, Computation, computed
from posse_papers.power import beside, multiplied
from posse_papers.statements import claim, ours

_K, _T = 10, 10**6


def over_promised(agents: int, scale: float = 1.0) -> float:
    """Equation 17 at K = 10, j = 1, T = 10⁶: the true probability over the one on the right.

    The sum of M noises of scale b exceeds b sqrt(8 M log(8KT)); it is b times the difference of
    two Gamma(M) numbers. `scale`: how many times as large as printed the noises are.
    """
    from scipy.integrate import quad  # noqa: PLC0415
    from scipy.stats import gamma  # noqa: PLC0415

    far = sqrt(8 * agents * log(8 * _K * _T)) / scale
    if agents == 1:
        return exp(-far) * 4 * _K * _T
    beyond, _ = quad(lambda y: gamma.pdf(y, agents) * gamma.sf(far + y, agents), 0, inf)
    return float(2 * beyond * 4 * _K * _T)


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


_AGENTS, _GAPS = (1, 2, 5, 10, 20, 50), (0.5, 0.499, 0.3, 0.125, 0.01)
_NOISE, _TWICE, _PULLS, _EPOCHS, _SUM, _ONE, _OUT, _TWO = (
    "equation 17",
    "twice the noise",
    "equation 22",
    "equation 24",
    "equation 29",
    "equation 22, many agents",
    "Step 2.2",
    "Step 2.2, gaps above twice as much",
)
_POWERS = (0.5, 0.125, 2.0**-7)

EXPERIMENTS = (
    computed(
        "li-proofs", "Theorems 1 to 3, appendix", "Steps of the proofs, in numbers",
        claim("the mean of M noises exceeds its bound with the probability on the right at most, "
              "for every M", "16, 17", at_most(_NOISE, 1.0)),
        ours("for M >= 20 > log(8KT), for which the bound of the first line is meant, it does",
             at_most(_NOISE, 1.0, lambda m: m >= 20),
             excludes=beside("noise of twice the scale", {_NOISE: _TWICE})),
        claim("S(r_k) is at most 16 log(…)/(M Δ_k²) in its first term", "22",
              at_most(_PULLS, 1.0)),
        ours("it is with 128, as Δ̃ >= Δ_k/4", at_most(_PULLS, 8.0),
             excludes=multiplied("twice as many", _PULLS, lambda gap: 2.0)),
        claim("the arm with gap Δ is out after R rounds: r_k <= R", "24, Step 2 of Theorem 2",
              at_most(_EPOCHS, 1.0)),
        claim("each agent pulls an arm at most max{16 log(…)/(M Δ_k²), …} times, for every M",
              "22, equation 7", at_most(_ONE, 1.0)),
        claim("an arm with a gap above 2^-(r−1) is out after round r − 1", "29, 34, Step 2.2",
              at_most(_OUT, 1.0)),
        ours("one with a gap above twice as much is", at_most(_TWO, 1.0),
             excludes=beside("gaps above 2^-(r−1)", {_TWO: _OUT})),
        claim("Σ 2^-(r−1) over ⌈log(1/Δ) + 1⌉ rounds is 2 (1 − Δ)", "29, 34",
              at_most(_SUM, 1.0)),
        lines={
            _TWICE: {x: Computation(over_promised, x, 2.0) for x in _AGENTS},
            _TWO: {x: Computation(rounds_over_stated, x, 2.0) for x in _GAPS},
        } | {
            line: {x: Computation(of, x) for x in places}
            for line, of, places in (
                (_NOISE, over_promised, _AGENTS), (_PULLS, pulls_over_printed, _GAPS),
                (_EPOCHS, epochs_over_rounds, _GAPS), (_SUM, sum_over_printed, _POWERS),
                (_ONE, one_pull_over_printed, (50, 1000, 2000, 10_000)),
                (_OUT, rounds_over_stated, _GAPS),
            )
        },
        axes=Axes("M, Δ", "what is to be at most 1", "xy"), limit=1.0,
        assumed="Exact. K = 10, T = 10⁶, j = 1, logarithms of epochs to base 2.",
    ),
)  # fmt: skip
