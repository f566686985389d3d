"""The learner of cooperation that is private and byzantine-proof; ours, from no paper.

Dubey and Pentland 2020, Remark 6, leave open whether cooperation can be both. Releases are those of
`DoublingMeans`, so everything that leaves an agent costs ε in all. The means of different origins
are combined so that L of them may be anything.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse_systems.dubey2020.agent import DoublingMeans
from posse_systems.dubey2020.messages import episode_radius


@lru_cache(maxsize=64)
def radii(t: int, agents: int, liars: int, epsilon: float) -> tuple[FloatArray, IntArray]:
    """How far from μ an estimate from m means, L of them lies, may be; each has s >= 2^i rewards.

    Returns the radius, infinite where m <= 2L, and the number of means to cut at each end. Both
    have shape (agents + 1, sizes) and index [m, i].

    An honest noisy mean over s rewards exceeds μ + w(p) with probability at most p, where

        w(p) = sqrt(log(2/p) / (2s)) + log(1/p) / (ε s).

    Trimmed mean, L cut at each end. Every mean kept lies between honest means. With l <= L lies, a
    of them kept, 2L - l + a honest means are cut, all of them within w(t^-2 / m). With a_h for the
    sum of the honest deviations, the radius is

        (a_h + 3L w(t^-2 / m)) / (m - 2L),    a_h = sqrt(m log t / s) + 2 sqrt(m) log t / (ε s).

    Median. It lies beyond μ + w(p) only if more than J = ⌊(m - 1)/2⌋ - L honest means do. This
    has probability at most (e m p / (J + 1))^(J + 1), which is t^-2 at

        log(1/p) = 1 + log(m / (J + 1)) + 2 log t / (J + 1).

    The smaller radius is taken. UCB1 needs t^-4, because any of t counts may be the one that errs.
    Here t^-2 is enough, because there are only log2 t doubling batches.
    """
    log_t = math.log(max(t, 2))
    s: FloatArray = 2.0 ** np.arange(max(t, 1).bit_length(), dtype=float)
    m = np.arange(agents + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        summed = np.sqrt(m * log_t / s) + 2 * np.sqrt(m) * log_t / (epsilon * s)
        farthest = _width(2 * log_t + np.log(m), s, epsilon)
        trimmed = (summed + 3 * liars * farthest) / (m - 2 * liars)
        J = (m - 1) // 2 - liars
        median = _width(1 + np.log(m / (J + 1)) + 2 * log_t / (J + 1), s, epsilon)
    cut = np.where(trimmed <= median, liars, (m - 1) // 2)
    return np.where(m > 2 * liars, np.minimum(trimmed, median), np.inf), cut


def _width(log_1_p: FloatArray, s: FloatArray, epsilon: float) -> FloatArray:
    """w(p), from log(1/p)."""
    return np.sqrt((log_1_p + math.log(2)) / (2 * s)) + log_1_p / (epsilon * s)


@dataclass(slots=True, kw_only=True)
class RobustMeans(DoublingMeans):
    """`robust-private-ucb`: decides by the smaller of two upper bounds.

    One is the agent's own, as in AdaP-UCB: v_k + sqrt(log t / s) + 2 log t / (ε s) for its last
    batch, which no lie affects. The other is from all origins with a batch of at least s = 2^i
    rewards: their trimmed mean or median plus its radius, for the i of the least radius. Each
    origin counts once, whatever count it claims. Both are above μ_k with high probability while at
    most L = `liars` agents lie.
    """

    agents: int
    liars: int = 0

    def index(self, t: int) -> FloatArray:
        counts = np.concatenate([self.counts, self.released_counts[None]])
        sums = np.concatenate([self.weighted, self.released_sums[None]])
        return upper_bounds(t, counts, sums, self.agents, self.liars, self.epsilon)


def upper_bounds(
    t: int, counts: FloatArray, sums: FloatArray, agents: int, liars: int, epsilon: float
) -> FloatArray:
    """Upper bounds of each μ_k in slot t, from what each origin released, the agent's own last.

    `counts` and `sums` have shape (origins, …, K); the result lacks the first of these.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, sums / counts, np.inf)
        own = means[-1] + episode_radius(2 * math.log(t), counts[-1], epsilon)
    radius, cut = radii(t, agents + 1, liars, epsilon)
    first = (-1, *[1] * (counts.ndim - 1))
    m = np.stack([np.count_nonzero(counts >= 2.0**i, axis=0) for i in range(radius.shape[1])])
    least = radius[m, np.arange(len(m)).reshape(first)].argmin(axis=0)
    taken = counts >= 2.0**least
    m = taken.sum(axis=0)
    ends, rank = cut[m, least], np.arange(len(counts)).reshape(first)
    means = np.sort(np.where(taken, means, np.inf), axis=0)
    kept = (rank >= ends) & (rank < m - ends)
    joint = np.where(kept, means, 0.0).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)
    bounds: FloatArray = np.minimum(own, joint + radius[m, least])
    return bounds
