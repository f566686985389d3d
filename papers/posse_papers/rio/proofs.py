"""Steps of the proofs of Rio et al. 2023, in exact numbers."""

from math import ceil, log, sqrt

from posse_papers.checks import at_most
from posse_papers.experiment import Axes, Computation, computed
from posse_papers.power import beside
from posse_papers.rio.figures import DELTA
from posse_papers.statements import claim, ours
from posse_systems.algorithms import corrupted_failure

_HALF, _ETA, _ARMS = 0.5, 0.9, 10


def rounds(equation: int, turns: int) -> int:
    """T of equation 6 or 8 as equalities, for an agent of probability 1/2 that needs `turns`."""
    far = log(1 / DELTA)
    root = sqrt(far**2 + 8 * far * _HALF * turns) if equation == 6 else 0.0
    return ceil(turns / _HALF + (far + root) / (4 * _HALF**2))


def late(equation: int, turns: int) -> float:
    """How likely the agent has fewer turns than it needs after so many rounds, over δ."""
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


_LATE, _BOTH, _POWER = "an agent is late", "both are in time", "equation 20"
_TURNS = (10, 100, 1000)


def _at(equation: int, line: str) -> str:
    """A line about the rounds of an equation."""
    return f"{line}, T by equation {equation}"


EXPERIMENTS = (
    computed(
        "rio-proofs", "Lemma A.1, Proposition 5.2", "Steps of the proofs, in numbers",
        claim("by equation 8 an agent has its T(η) turns with probability 1 − δ at least", "2 to 8",
              at_most(_at(8, _LATE), 1.0)),
        ours("by equation 6, as an upper bound, it has",
             at_most(_at(6, _LATE), 1.0),
             excludes=beside("equation 8", {_at(6, _LATE): _at(8, _LATE)})),
        claim("M given agents have their turns with probability (1 − δ)(1 − I)^M at least",
              "9, Lemma A.1", at_most(_at(8, _BOTH), 1.0)),
        ours("they do after the rounds of equation 6",
             at_most(_at(6, _BOTH), 1.0),
             excludes=beside("equation 8", {_at(6, _BOTH): _at(8, _BOTH)})),
        claim("δ is η_ξ^(log δ / log η)", "20", at_most(_POWER, 1.0)),
        lines={
            **{
                _at(equation, line): {n: Computation(of, equation, n) for n in _TURNS}
                for equation in (6, 8)
                for line, of in ((_LATE, late), (_BOTH, promised_over_true))
            },
            _POWER: {xi: Computation(delta_over_power, xi) for xi in (0.0, 0.05, 0.1)},
        },
        axes=Axes("turns T(η), ξ", "what is to be at most 1", "xy"), limit=1.0,
        assumed="Exact. δ = .05; N = M = 2 agents, equally active, which an η of .2 gives. "
        "Equation 20: η = .9, K = 10.",
    ),
)  # fmt: skip
