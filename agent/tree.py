"""Private running sums over a stream whose greatest length T is known: binary trees of sums.

`TreeSums`     the binary mechanism of Chan, Shi and Song 2011, Algorithm 2 (Dwork, Naor, Pitassi
               and Rothblum 2010): node j of the tree over the items is the sum of 2^j of them with
               Laplace noise, and the release at t adds the nodes of the set bits of t
`HonakerSums`  the same tree with every complete node noised, and each node estimated from its own
               noisy sum and from its two children, weighted by their precision: the online
               estimate of Honaker, "Efficient use of differentially private binary trees", TPDP
               2015, "estimation from below"

What they protect. An item is in one node of each of the floor(log2 T) + 1 levels, so that nodes of
scale (floor(log2 T) + 1)/ε cost ε for the whole sequence of releases. Honaker's estimate costs
nothing more: it is computed from the noisy nodes. With a node's variance as the unit, a leaf has
u_0 = 1 and a node of level j has 1/u_j = 1 + 1/(2 u_{j-1}), which falls to 1/2.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from agent.noise import Noise
from protocol.machine import FloatArray
from protocol.privacy import Release


@dataclass(slots=True)
class TreeSums:
    """Binary mechanisms over `streams` streams of at most `horizon` rewards in [0, 1], one clock t.

    `nodes[j]` is the sum of 2^j items, `noisy[j]` what is released of it. In the field too each
    node is noised as a whole, once.
    """

    streams: int
    epsilon: float
    horizon: int
    noise: Noise
    t: int = 0
    nodes: dict[int, FloatArray] = field(default_factory=dict)
    noisy: dict[int, FloatArray] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """floor(log2 T) + 1, the nodes that one item is in."""
        return self.horizon.bit_length()

    @property
    def scale(self) -> float:
        """The scale of one node's noise."""
        return self.levels / self.epsilon

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in the latest release."""
        return self.scale * math.sqrt(2 * sum(self._variance(j) for j in self.nodes))

    def insert(self, stream: int, x: float) -> FloatArray:
        """Put x into one stream and 0 into all others; the new releases, shape (streams,)."""
        item = np.zeros(self.streams)
        item[stream] = x
        self.t += 1
        self._grow(item, (self.t & -self.t).bit_length() - 1)
        released: FloatArray = np.sum(list(self.noisy.values()), axis=0)
        return released

    def begun(self) -> list[Release]:
        """What the last item began: with the first one the tree, for the ledger."""
        if self.t != 1:
            return []
        block = f"rewards 1 to {self.horizon}"
        return [Release("laplace", float(self.levels), self.scale, self.epsilon, block)]

    def _grow(self, item: FloatArray, level: int) -> None:
        """The item completes the node of this level, and all below it are in that."""
        for j in range(level):
            item = item + self.nodes.pop(j)
            del self.noisy[j]
        self.nodes[level] = item
        self.noisy[level] = self.noise.noisy(item, 1.0, self.scale)

    def _variance(self, level: int) -> float:
        """The variance of a node's estimate, in that of a node's noise."""
        return 1.0


@dataclass(slots=True)
class HonakerSums(TreeSums):
    """The tree with Honaker's estimate from below; `noisy[j]` is the estimate of a node."""

    variances: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.variances = [1.0]
        while len(self.variances) < self.levels:
            self.variances.append(1 / (1 + 1 / (2 * self.variances[-1])))

    def _grow(self, item: FloatArray, level: int) -> None:
        """See `TreeSums._grow`; every node on the way up is noised too."""
        estimate = self.noise.noisy(item, 1.0, self.scale)
        for j in range(level):
            item = item + self.nodes.pop(j)
            children = estimate + self.noisy.pop(j)
            own = self.variances[j + 1]  # its own noisy sum's share of the precision
            estimate = own * self.noise.noisy(item, 1.0, self.scale) + (1 - own) * children
        self.nodes[level] = item
        self.noisy[level] = estimate

    def _variance(self, level: int) -> float:
        return self.variances[level]
