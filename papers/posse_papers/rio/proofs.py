"""Steps of the proofs of Rio et al. 2023, in exact numbers."""

from functools import partial
from math import ceil, exp, log, sqrt
from typing import Any

import numpy as np

from posse_papers.rio.figures import DELTA
from posse_papers.steps import Step, steps
from posse_systems.algorithms import corrupted_failure, epoch_length, epoch_radius, threshold

_HALF, _ETA, _ARMS, _BETA = 0.5, 0.9, 10, 0.5


def rounds(equation: int, turns: int) -> int:
    """T of equation 6 or 8 as equalities, for an agent of probability 1/2 that needs `turns`."""
    far = log(1 / DELTA)
    root = sqrt(far**2 + 8 * far * _HALF * turns) if equation == 6 else 0.0
    return ceil(turns / _HALF + (far + root) / (4 * _HALF**2))


def late(equation: int, turns: int) -> float:
    """How likely the agent has fewer turns than it needs after this many rounds, over δ."""
    from scipy.stats import binom  # noqa: PLC0415

    return float(binom.cdf(turns - 1, rounds(equation, turns), _HALF)) / DELTA


def promised_over_true(equation: int, turns: int) -> float:
    """(1 − δ)(1 − I)^M over the probability that both of two agents have their turns; M = N = 2."""
    from scipy.stats import binom  # noqa: PLC0415

    total = rounds(equation, turns)
    both = binom.cdf(total - turns, total, _HALF) - binom.cdf(turns - 1, total, _HALF)
    return (1 - DELTA) * float(binom.sf(turns, total, _HALF)) ** 2 / float(both)


def delta_over_power(xi: float) -> float:
    """δ over η_ξ^(log δ / log η), which equation 20 sets equal; η = .9, K = 10."""
    failure = corrupted_failure(_ETA, xi, _ARMS, DELTA, "printed")
    return DELTA / float(failure ** (log(DELTA) / log(_ETA)))


def local_power(xi: float) -> float:
    """η_ξ^M over δ, M = ⌈log δ / log η⌉: equation 20's inequality."""
    failure = corrupted_failure(_ETA, xi, _ARMS, DELTA, "printed")
    return float(failure ** threshold(DELTA, _ETA) / DELTA)


def left_of_5(turns: int) -> float:
    """The right side of 5 over that of 6, which multiplies it out; p = 1/2."""
    far = log(1 / DELTA)
    five = (sqrt(far / 2) + sqrt(far / 2 + 4 * _HALF * turns)) ** 2 / (4 * _HALF**2)
    return five / (turns / _HALF + (far + sqrt(far**2 + 8 * far * _HALF * turns)) / (4 * _HALF**2))


def hoeffding(rounds_made: int) -> float:
    """P(T_n - p T <= -e) at e = sqrt(T/2 log 1/δ) over e^(-2e²/T) = δ; p = 1/2: equation 2."""
    from scipy.stats import binom  # noqa: PLC0415

    off = sqrt(rounds_made / 2 * log(1 / DELTA))
    return float(binom.cdf(rounds_made / 2 - off, rounds_made, 0.5)) / DELTA


def beta_form(turns: int) -> float:
    """I_(1-p)(T - T(η), 1 + T(η)) over P(T_n <= T(η)), equation 9; T = 3 T(η), p = .3."""
    from scipy.special import betainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    total = 3 * turns
    return float(betainc(total - turns, 1 + turns, 0.7) / binom.cdf(turns, total, 0.3))


def strict_form(turns: int) -> float:
    """The same over P(T_n < T(η)), which event E_2 has."""
    from scipy.special import betainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    total = 3 * turns
    return float(betainc(total - turns, 1 + turns, 0.7) / binom.cdf(turns - 1, total, 0.3))


def votes_sent(extra: int) -> float:
    """1 - I_ξ(α + 1, M) over P(Bin(M + α, 1 - ξ) >= M), equations 16 to 18; M = 29, ξ = .1."""
    from scipy.special import betainc  # noqa: PLC0415
    from scipy.stats import binom  # noqa: PLC0415

    votes = 29
    exact = binom.sf(votes - 1, votes + extra, 0.9)
    return float((1 - betainc(extra + 1, votes, 0.1)) / exact)


def more_erasures(extra: int) -> float:
    """1 - I_ξ(α + 1, M) over its value at 2α + 1: P(N_v >= M) grows with N_e, equation 16."""
    from scipy.special import betainc  # noqa: PLC0415

    return float((1 - betainc(extra + 1, 29, 0.1)) / (1 - betainc(2 * extra + 2, 29, 0.1)))


def names_it(xi: float) -> float:
    """(1 - η_ξ)(1 - ξ)^(K-1) over 1 - η: equations 12, 13."""
    failure = corrupted_failure(_ETA, xi, _ARMS, DELTA, "printed")
    return float((1 - failure) * (1 - xi) ** (_ARMS - 1) / (1 - _ETA))


def radius(t: int) -> float:
    """P(|mean - μ| > α(t)) of fair coins over 2β/(cKt²), α = sqrt(log(cKt²/β)/t), c = 1: eq. 1."""
    from scipy.stats import binom  # noqa: PLC0415

    off = sqrt(t * log(_ARMS * t**2 / _BETA))
    beyond = 2 * binom.cdf(ceil(t / 2 - off) - 1, t, 0.5)
    return float(beyond / (2 * _BETA / (_ARMS * t**2)))


def _pulls(epoch: int) -> int:
    """R(e), ε = .1."""
    return epoch_length(_ARMS, epoch, _BETA, 0.1)


def epoch_noise(epoch: int) -> float:
    """P(|Lap(1/(ε R))| > c(e)) over β/(4 K e²): algorithm 4, line 5; ε = .1."""
    pulls = _pulls(epoch)
    c = log(4 * _ARMS * epoch**2 / _BETA) / (0.1 * pulls)
    return exp(-c * 0.1 * pulls) / (_BETA / (4 * _ARMS * epoch**2))


def epoch_width(epoch: int) -> float:
    """2 (h + c) at R(e) over the gap 2^-e of which epoch e is to be sure; ε = .1.

    An arm is out if its noisy mean is 2 (h + c) below; with both means off by h + c that takes a
    gap of 4 (h + c).
    """
    pulls = _pulls(epoch)
    return 4 * epoch_radius(_ARMS, epoch, _BETA, 0.1, pulls) / 2.0**-epoch


def slowest_of(agents: int, turns: int = 50, votes: int = 5) -> float:
    """P(max_M > T(η)) of N + 1 agents over that of N, T = 45 N rounds: footnote 1; poissonised."""
    from scipy.stats import binom, poisson  # noqa: PLC0415

    def likely(count: int) -> float:
        one = poisson.sf(turns, 45 * agents / count)
        return float(binom.sf(votes - 1, count, one))

    return likely(agents + 1) / likely(agents)


def poissonised(count: int) -> float:
    """P(X_1 = count), X_1 a binomial share .3 of a Poisson(20) number, over Poisson(6)'s: A.2."""
    from scipy.stats import binom, poisson  # noqa: PLC0415

    totals = np.arange(200)
    mixed = (poisson.pmf(totals, 20) * binom.pmf(count, totals, 0.3)).sum()
    return float(mixed / poisson.pmf(count, 6))


def independent(count: int) -> float:
    """P(X_1 = X_2 = count) over the product, the same law, shares .3 and .7: A.2."""
    from scipy.stats import multinomial, poisson  # noqa: PLC0415

    total = 2 * count
    both = poisson.pmf(total, 20) * multinomial.pmf([count, count], total, [0.3, 0.7])
    return float(both / (poisson.pmf(count, 6) * poisson.pmf(count, 14)))


def gamma_form(turns: int) -> float:
    """1 - Q(T(η), x) over P(T_n >= T(η)), T_n Poisson(x): equation 22; x = 1.1 T(η)."""
    from scipy.special import gammaincc  # noqa: PLC0415
    from scipy.stats import poisson  # noqa: PLC0415

    x = 1.1 * turns
    return float((1 - gammaincc(turns, x)) / poisson.sf(turns - 1, x))


_TURNS = (10, 100, 1000)

STEPS = (
    Step("by equation 8 an agent has its T(η) turns with probability 1 − δ at least", "2 to 8",
         partial(late, 8), _TURNS, "p = 1/2"),
    Step("by equation 6, as an upper bound, it has", "6", partial(late, 6), _TURNS, "p = 1/2"),
    Step("M given agents have their turns with probability (1 − δ)(1 − I)^M at least",
         "9, Lemma A.1", partial(promised_over_true, 8), _TURNS, "M = N = 2"),
    Step("they do after the rounds of equation 6", "", partial(promised_over_true, 6), _TURNS),
    Step("δ is η_ξ^(log δ / log η)", "20", delta_over_power, (0.0, 0.05, 0.1), exact=True),
    Step("η_ξ^M is at most δ", "19, 20", local_power, (0.0, 0.05, 0.1), "η = .9"),
    Step("Hoeffding's inequality for the turns of one agent", "2", hoeffding, (20, 100, 1000),
         "p = 1/2"),
    Step("the right side of 6 is that of 5, multiplied out", "5, 6", left_of_5, _TURNS,
         exact=True),
    Step("P(E_2) is I_(1−p*)(T − T(η), 1 + T(η))", "9", strict_form, (10, 100),
         "E_2: fewer turns than T(η)", True),
    Step("it is P(T_n <= T(η))", "", beta_form, (10, 100), exact=True),
    Step("P(N_v >= M) of M + α votes is 1 − I_ξ(α + 1, M)", "16, 17, 18", votes_sent, (1, 10, 100),
         "M = 29, ξ = .1", True),
    Step("P(N_v >= M) grows with N_e", "15, 16", more_erasures, (1, 5), "M = 29, ξ = .1"),
    Step("(1 − η_ξ)(1 − ξ)^(K−1) is 1 − η", "12, 13", names_it, (0.0, 0.05, 0.1), "η = .9", True),
    Step("β^M is at most δ", "Proposition 4.2, proof",
         lambda beta: beta ** threshold(DELTA, beta) / DELTA, (0.3, 0.5, 0.8)),
    Step("a mean leaves its interval with probability 2β/(cKt²) at most", "1", radius,
         (3, 10, 30), "fair coins, c = 1"),
    Step("the noise exceeds c(e) with probability β/(4Ke²)", "Algorithm 4", epoch_noise, (1, 3, 6),
         exact=True),
    Step("gaps above 2^−e are out after epoch e: 4(h + c) <= 2^−e", "Section 4.1, Proposition 4.3",
         epoch_width, (1, 3, 6), "ε = .1"),
    Step("a mean of R(e) rewards in [0, 1] costs ε", "Proposition 4.1",
         lambda e: (1 / _pulls(e)) / (1 / (0.1 * _pulls(e))) / 0.1, (1, 5), exact=True),
    Step("the probability of being done decreases with N", "Footnote 1", slowest_of, (8, 32, 128),
         "T(η) = 50, M = 5, T = 45 N"),
    Step("a share of a Poisson number is Poisson", "Theorem A.2, 21", poissonised, (2, 6, 12),
         exact=True),
    Step("and shares are independent", "Theorem A.2", independent, (2, 6), exact=True),
    Step("P(T_n >= T(η)) is 1 − Q(T(η), T/N)", "22", gamma_form, (10, 100), exact=True),
)  # fmt: skip


def at(number: int, x: Any) -> float:
    """The ratio of a step at a place."""
    return float(STEPS[number].ratio(x))


EXPERIMENTS = (
    steps(
        "rio-proofs", "Propositions 4.1 to 5.3, Lemma A.1", "Steps of the proofs, in numbers",
        STEPS, at, "δ = .05, K = 10, β = .5; an η of .2 gives M = 2.",
    ),
)  # fmt: skip
