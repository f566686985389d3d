"""Steps of the proofs of Dubey and Pentland 2020, and lines against text, in exact numbers."""

from functools import partial
from math import log, sqrt

import numpy as np

from posse_papers.checks import at_most
from posse_papers.dubey.plain import V
from posse_papers.experiment import Axes, Computation, along, computed
from posse_papers.power import beside, multiplied
from posse_papers.statements import claim, ours
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
_TAIL, _NOISE, _SHORT, _ROOM = (
    "equation 30",
    "equation 22",
    "equation 40",
    "Theorem 4.3's condition",
)
_PRINTED = {
    _TAIL: (halved_tail, (1, 1000, 10**6)),
    _NOISE: (noise_over_deviation, (1, 10, 1000)),
    _SHORT: (samples_short, (0.25, 0.5)),
    _ROOM: (room_left, (0.01, 0.04, 0.1, 0.19)),
}
_STEPS = {line: {x: Computation(of, x) for x in places} for line, (of, places) in _PRINTED.items()}

EXPERIMENTS = (
    computed(
        "dubey-proofs", "Theorems 3.7 and 4.3, appendix", "Steps of the two proofs, in numbers",
        claim("Σ_t 4 t^(-3/2) is at most ζ(3/2)", "29, 30", at_most(_TAIL, 1.0)),
        claim("the deviation of Hoeffding's inequality is not negative (here: M = 1, t = 2, σ = 1, "
              "where it is largest)", "22", at_most(_NOISE, 1.0)),
        claim("event C is false from 4σ² log t / (Δ − 2σ√ε)² samples on", "38 to 40",
              at_most(_SHORT, 1.0)),
        claim("ε < Δ/2σ leaves Δ − 2σ√ε positive", "Theorem 4.3", at_most(_ROOM, 1.0)),
        ours("ε < (Δ/2σ)² does", at_most(_ROOM, 1.0, lambda epsilon: epsilon <= 0.04),
             excludes=multiplied("a fifth more", _ROOM, lambda epsilon: 1.2)),
        lines=_STEPS,
        axes=Axes("T, pulls n, σ, ε", "what is to be at most 1", "xy"), limit=1.0,
        assumed="Exact. Of equation 40: δ = t⁻² as in Algorithm 3; at σ = 1/2, that of a fair "
        "coin. Of Theorem 4.3: σ = 1/2, Δ = .2.",
    ),
    computed(
        "dubey-line-6", "Algorithm 1, Lemma 3.4", "How often a mean is released",
        claim("line 6 of Algorithm 1 releases as often as Lemma 3.4", "Algorithm 1",
              at_most(_LINE, lambda line, n: 0.9 * len(release_counts(0.1, V, int(n))), sign=-1)),
        claim("a mean is updated approximately T/ε times (here: at least T/2ε)", "3.2",
              at_most(_LEMMA, lambda line, n: n / 0.2, sign=-1)),
        ours("it is updated about T ε times (here: at most 1.2 of it)",
             at_most(_LEMMA, lambda line, n: 0.12 * n),
             excludes=beside("T/ε", {_LEMMA: _SECTION})),
        lines=along(partial(Computation, literal_releases), (_LEMMA, _LINE, _SECTION),
                   (100, 1000, 10_000)),
        axes=Axes("pulls of an arm", "releases", "xy"),
        assumed="Exact. ε = .1, v = 1.1; y' of Lemma 3.4 read as √x'.",
    ),
)  # fmt: skip
