"""Private running sums over a stream of known greatest length T, by binary trees of sums.

`TreeSums`     the binary mechanism of Chan, Shi and Song 2011, Algorithm 2 (Dwork, Naor, Pitassi
               and Rothblum 2010): a node of level j is the sum of 2^j items with Laplace noise, and
               the release at t adds the nodes of the set bits of t
`HonakerSums`  the same tree, but with noise on every complete node; each node is estimated from its
               own noisy sum and from its two children, weighted by their precision. This is the
               online "estimation from below" of Honaker, "Efficient use of differentially private
               binary trees", TPDP 2015

What they protect. An item is in one node of each of the floor(log2 T) + 1 levels, so nodes of scale
(floor(log2 T) + 1)/ε cost ε for the whole sequence of releases. Honaker's estimate is computed from
the noisy nodes and costs nothing more. In units of the variance of a node's noise, its variance is
u_0 = 1 for a leaf, and 1/u_j = 1 + 1/(2 u_{j-1}) for a node of level j; u_j falls to 1/2.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from posse.protocol.arrays import FloatArray
from posse.protocol.noise import Noise
from posse.protocol.privacy import Release


@dataclass(slots=True)
class TreeSums:
    """Binary mechanisms over `streams` streams of at most `horizon` rewards in [0, 1], one clock t.

    `scale` is that of a node's noise, (floor(log2 T) + 1)/ε unless it is given. `nodes[j]` is the
    sum of 2^j items and `noisy[j]` its noisy value. Each node is noised once, as a whole, so this
    is safe in the field too.
    """

    streams: int
    epsilon: float
    horizon: int
    noise: Noise
    scale: float = 0.0
    t: int = 0
    nodes: dict[int, FloatArray] = field(default_factory=dict)
    noisy: dict[int, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scale = self.scale or self.levels / self.epsilon

    @property
    def levels(self) -> int:
        """floor(log2 T) + 1."""
        return self.horizon.bit_length()

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in the latest release."""
        return self.scale * math.sqrt(2 * sum(self._variance(j) for j in self.nodes))

    @property
    def noise_scales(self) -> tuple[float, float]:
        """Of the scales b_i of the noise in the latest release: sqrt(Σ b_i²), and the largest."""
        return self.deviation / math.sqrt(2), self.scale

    def insert(self, stream: int, x: float) -> FloatArray:
        """Insert x into one stream and 0 into all others; returns the new releases, (streams,)."""
        item = np.zeros(self.streams)
        item[stream] = x
        self.t += 1
        self._grow(item, (self.t & -self.t).bit_length() - 1)
        released: FloatArray = np.sum(list(self.noisy.values()), axis=0)
        return released

    def new_releases(self) -> list[Release]:
        """The releases that the last item began: those of the whole tree with the first item."""
        if self.t != 1:
            return []
        block = f"rewards 1 to {self.horizon}"
        return [Release("laplace", float(self.levels), self.scale, self.epsilon, block)]

    def _grow(self, item: FloatArray, level: int) -> None:
        """Complete the node of this level with the item; it absorbs all nodes below."""
        for j in range(level):
            item = item + self.nodes.pop(j)
            del self.noisy[j]
        self.nodes[level] = item
        self.noisy[level] = self.noise.noisy(item, 1.0, self.scale)

    def _variance(self, level: int) -> float:
        """u_j, the variance of a node's estimate (1 without Honaker's)."""
        return 1.0


@dataclass(slots=True)
class HonakerSums(TreeSums):
    """The tree with Honaker's estimate from below; `noisy[j]` is the estimate of `nodes[j]`."""

    variances: list[float] = field(init=False)

    def __post_init__(self) -> None:
        TreeSums.__post_init__(self)
        self.variances = [1.0]
        while len(self.variances) < self.levels:
            self.variances.append(1 / (1 + 1 / (2 * self.variances[-1])))

    def _grow(self, item: FloatArray, level: int) -> None:
        """Complete the node of this level; every node on the way up gets noise too."""
        estimate = self.noise.noisy(item, 1.0, self.scale)
        for j in range(level):
            item = item + self.nodes.pop(j)
            children = estimate + self.noisy.pop(j)
            own = self.variances[j + 1]  # u_j, its own noisy sum's share of the precision
            estimate = own * self.noise.noisy(item, 1.0, self.scale) + (1 - own) * children
        self.nodes[level] = item
        self.noisy[level] = estimate

    def _variance(self, level: int) -> float:
        return self.variances[level]
