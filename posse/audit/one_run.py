"""An audit by guessing many canaries in few runs (Steinke, Nasr and Jagielski, NeurIPS 2023).

Each canary is a reward that is 1 or 0 by a coin; all other rewards are 0. Which it is, is guessed
from what is released. If one reward costs (ε, δ), then of r guesses no more are right than a
binomial number of r trials of probability e^ε / (1 + e^ε), but for a term in δ, however they are
made (their Theorem 3.1 and Appendix C). So the many coins of one run do what many runs do when an
event is counted. Runs on other rewards are added until there are enough canaries: together they are
one mechanism, in which a reward costs no more.

A canary is guessed by the likelihood of the numbers that it moves, with the noise that was asked
for; half of all canaries, the most likely ones, are. If the noise is another, these are still
guesses, so what is found does not depend on it. Seen are noisy numbers, as the proofs of claims
allow; of shared noise sums over the honest agents.
"""

import math
from dataclasses import replace

import msgspec
import numpy as np

from posse.audit.bounds import ERROR
from posse.audit.canaries import Canary, Search, one_by_one
from posse.audit.law import Draw
from posse.audit.replay import CoupledRun, Coupler, zeros
from posse.measure.numbers import number
from posse.plan import Plan
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.privacy import AdversaryView

_STRICT = 0.01
"""The error is this part of an audit's, as claims are tight: else one in 100 would be accused."""

_POWER = 0.99
_MOST_CANARIES = 1 << 17
_FIRST = 1 << 21
"""The number of the first run; others have smaller numbers."""


class OneRun(msgspec.Struct, frozen=True, kw_only=True):
    """Of `canaries` in `runs` runs `guesses` were guessed, `right` of them rightly.

    So ε is at least `lower_bound`, wrong with probability `error`. Twice the claimed ε, if one
    guess in two is as likely as that, shows with probability `power`.
    """

    canaries: int
    runs: int
    guesses: int
    right: int
    lower_bound: float
    error: float
    power: float
    cut: str = ""

    @property
    def says(self) -> str:
        """What was found, in a sentence."""
        return (
            f"ε is at least {number(self.lower_bound)}: of {self.canaries:,} canaries in "
            f"{self.runs:,} runs {self.guesses:,} were guessed, {self.right:,} rightly{self.cut}"
        )


def chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """At most the probability that this many guesses are right if a reward costs (ε, δ)."""
    from scipy import special  # noqa: PLC0415

    q = 1 / (1 + math.exp(-epsilon))
    pure = float(special.bdtrc(right - 1, guesses, q)) if right else 1.0
    if not delta or not right:
        return min(1.0, pure)
    i = np.arange(1, right + 1)
    below = special.bdtr(right - 1, guesses, q)
    short = below - np.where(i < right, special.bdtr(np.maximum(right - i - 1, 0), guesses, q), 0)
    return min(1.0, pure + 2 * canaries * delta * float((short / i).max()))


def found_at_least(
    canaries: int, guesses: int, right: int, delta: float = 0.0, error: float = ERROR
) -> float:
    """The lower bound on ε by this many right guesses."""
    low, high = 0.0, 64.0
    if chance(canaries, guesses, right, low, delta) > error:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if chance(canaries, guesses, right, middle, delta) > error:
            high = middle
        else:
            low = middle
    return low


def power(canaries: int, claimed: float, delta: float, error: float) -> float:
    """The probability that this many canaries refute a claim of ε where twice as much is spent."""
    from scipy import special  # noqa: PLC0415

    guesses = canaries // 2
    low, high = 0, guesses + 1
    while low < high:
        middle = (low + high) // 2
        if chance(canaries, guesses, middle, claimed, delta) > error:
            low = middle + 1
        else:
            high = middle
    if low > guesses:
        return 0.0
    q = 1 / (1 + math.exp(-2 * claimed))
    return float(special.bdtrc(low - 1, guesses, q)) if low else 1.0


def needed(claimed: float, delta: float = 0.0, error: float = ERROR) -> int | None:
    """How many canaries show twice the claimed ε nearly always; None if that takes too many."""
    many = 128
    while power(many, claimed, delta, error * _STRICT) < _POWER:
        many *= 2
        if many > _MOST_CANARIES:
            return None
    return many


def estimate(
    plan: Plan,
    sees: AdversaryView,
    claimed: float,
    delta: float,
    most: int,
    error: float = ERROR,
) -> OneRun | None:
    """Guess canaries; None if there are none, or if it takes more than `most` runs."""
    if not claimed or (many := needed(claimed, delta, error)) is None:
        return None
    coupler = Coupler(plan, sees)
    first = coupler.first(_FIRST)
    canaries = Search(coupler, first, coupler.again(first, zeros)).apart()
    if plan.claim.honest > 1 or any(d.kind in _SHARED for d in first.draws):
        canaries = [canary for canary in canaries if canary[0] == 0]
    if not canaries:
        return None
    replays = 2 + len(canaries).bit_length()
    if -(-many // len(canaries)) * replays > most:
        return None
    scores: list[float] = []
    coins: list[bool] = []
    runs = 0
    generator = np.random.default_rng()
    while len(scores) < many and runs * replays < most:
        runs += 1
        thrown = generator.random(len(canaries)) < 0.5
        likely = _likely(coupler, _FIRST + runs, canaries, thrown)
        scores += likely[likely != 0].tolist()
        coins += thrown[likely != 0].tolist()
    size = len(scores)
    order = np.argsort(-np.abs(scores), kind="stable")[: size // 2]
    right = int(((np.array(scores) > 0) == np.array(coins))[order].sum())
    strict = error * _STRICT
    return OneRun(
        canaries=size,
        runs=runs,
        guesses=size // 2,
        right=right,
        lower_bound=found_at_least(runs * len(canaries), size // 2, right, delta, strict),
        error=strict,
        power=power(size, claimed, delta, strict),
        cut=coupler.cut_says,
    )


_SHARED = ("gaussian", "polya")


def _likely(coupler: Coupler, run: int, canaries: list[Canary], thrown: BoolArray) -> FloatArray:
    """For each canary of a run the logarithm of how much likelier it is to be 1 than 0.

    Which numbers it moves is told by runs on the same noisy numbers, in each of which a canary is 1
    if its number has a certain bit.
    """
    chosen = [canary for canary, heads in zip(canaries, thrown, strict=True) if heads]
    seen = coupler.first(run, one_by_one(*chosen))
    none = _released(coupler, coupler.again(seen, zeros))
    at_none = np.concatenate([d.values for d in none] or [np.zeros(0)])
    code: IntArray = np.zeros(len(at_none), dtype=np.int64)
    moved = np.zeros(len(at_none))
    for bit in range(len(canaries).bit_length()):
        some = [canary for j, canary in enumerate(canaries, start=1) if j >> bit & 1]
        other = _released(coupler, coupler.again(seen, one_by_one(*some)))
        by = np.concatenate([d.values for d in other] or [np.zeros(0)]) - at_none
        code |= (by != 0).astype(np.int64) << bit
        moved = np.where(np.abs(by) > np.abs(moved), by, moved)
    given = np.concatenate([np.asarray(d.given, float) for d in none] or [np.zeros(0)])
    scale = np.concatenate([np.full(len(d.given), d.scale) for d in none] or [np.zeros(0)])
    without, with_canary = (given - at_none) / scale, (given - at_none - moved) / scale
    if none and none[0].kind == "gaussian":
        likelier = (without**2 - with_canary**2) / 2
    else:
        likelier = np.abs(without) - np.abs(with_canary)
    sums: FloatArray = np.bincount(code, likelier, len(canaries) + 1).astype(float)
    return sums[1 : len(canaries) + 1]


def _released(coupler: Coupler, run: CoupledRun) -> list[Draw]:
    """The draws that the claim's adversary may see: of shared noise, sums over honest agents."""
    if not any(draw.kind in _SHARED for draw in run.draws):
        return [draw for draw in run.draws if draw.kind == "laplace"]
    honest = max(1, coupler.plan.claim.honest)
    return [
        replace(
            draws[0],
            values=np.sum([draw.values for draw in draws], axis=0),
            given=np.sum([draw.given for draw in draws], axis=0),
            scale=draws[0].scale * (honest**0.5 if draws[0].kind == "gaussian" else 1.0),
        )
        for draws in zip(*(source.draws for source in run.noise[:honest]), strict=False)
    ]
