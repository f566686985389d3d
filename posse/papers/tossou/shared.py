"""Corollary 3 of Tossou and Dimitrakakis 2015: what all choices tell of a sample that all saw."""

from math import log, sqrt
from typing import Any

import numpy as np

from posse.papers.checks import at_most
from posse.papers.experiment import Computation, bars, computed
from posse.papers.statements import claim, ours
from protocol.machine import FloatArray
from protocol.players import privacy_factor, privacy_weight, target_rank

EPSILON, PLAYERS, ARMS = 4.0, 4, 8
_DRAWS = 200_000
_SCALE = 2 / EPSILON
"""Of the logarithmic mechanism's numbers: an arm's first two sums have no other noise."""

_ONE = {f"player {offset} alone": (offset,) for offset in range(1, PLAYERS + 1)}
_ALL = {"all four players": tuple(range(1, PLAYERS + 1))}


def log_ratio(
    offsets: tuple[int, ...], *, variant: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """The logarithm of P(S | 1) / P(S | 0) for the choices of these players together.

    Neighbours differ in one sample, arm 0's in slot N + 1: 1 or 0. S: all of them pull arm 0 in
    slots N + 1 and N + 2. With agreed offsets a player's choices depend on its own samples and
    noise alone, so that the probabilities multiply.
    """
    both = [pulls_twice(offset, variant=variant, generator=generator) for offset in offsets]
    return {
        "value": sum(log(one / zero) for zero, one in both),
        "of a player": [list(pair) for pair in both],
    }


def pulls_twice(
    offset: int, *, variant: Any, generator: np.random.Generator
) -> tuple[float, float]:
    """How likely UCB-Private-Bound pulls arm 0 in slots N + 1 and N + 2, if N + 1 gives it 0, or 1.

    In the sweep arm 0 gave 1 and all others 0. The noise of arm 0's second sum is integrated in
    closed form, so that only the noise of the sweep is drawn.
    """
    from scipy.stats import laplace  # noqa: PLC0415

    below = laplace(scale=_SCALE).cdf
    swept = generator.laplace(0.0, _SCALE, (_DRAWS, ARMS))
    others = -np.sort(-swept[:, 1:], axis=1)
    first = 1.0 + swept[:, 0]
    low, high = _between(others, ARMS + 1, 1, offset, variant)
    stays = (low < first) & (first < high)
    low, high = _between(others, ARMS + 2, 2, offset, variant)
    found = [
        float((stays * (below(high - first - x) - below(low - first - x))).mean())
        for x in (0.0, 1.0)
    ]
    return found[0], found[1]


def _between(
    others: FloatArray, slot: int, n: int, offset: int, variant: Any
) -> tuple[FloatArray, FloatArray]:
    """Where arm 0's sum of n rewards must lie for it to have the rank that the player targets."""
    ahead = target_rank(slot, offset, PLAYERS) - 1
    edge = np.full((len(others), 1), np.inf)
    indices = np.hstack([edge, others + _bonus(slot, 1, variant), -edge])
    sums = n * (indices - _bonus(slot, n, variant))
    return sums[:, ahead + 1], sums[:, ahead]


def _bonus(slot: int, n: int, variant: Any) -> float:
    """What the index adds to the mean of n rewards."""
    return sqrt(2 * log(slot) / n) + privacy_weight(slot, EPSILON) * privacy_factor(n, variant)


EXPERIMENTS = (
    computed(
        "tossou-shared", "Corollary 3", "What all choices tell of a sample that all players saw",
        claim("all choices together are M ε-private", "Corollary 3",
              at_most(_ALL, PLAYERS * EPSILON)),
        ours("they are ε-private though all players saw the sample", at_most(_ALL, EPSILON)),
        ours("the choices of one player alone are", at_most(_ONE, EPSILON)),
        lines={line: Computation(log_ratio, of) for line, of in (_ALL | _ONE).items()},
        axes=bars("log of the ratio of probabilities"), repeat=(5, 20), limit=EPSILON,
        assumed="UCB-Private-Bound, ε = 4, M = 4, N = 8, agreed offsets. In slot 9, the first "
        "after the sweep, all four pull arm 0 and see one sample of it, 1 or 0; in slot 10 all "
        "pull it again. The sample is in one noisy number of each player, ε/2, so that two slots "
        "tell at most M ε / 2 = 8. Where each has a sample of its own, one player's bar is all.",
    ),
)  # fmt: skip
