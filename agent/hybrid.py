"""The hybrid mechanism: a private running sum over a stream whose length nobody knows.

Chan, Shi and Song, "Private and continual release of statistics", ACM TISSEC 14(3), 2011,
Algorithm 4: the logarithmic mechanism at the times t = 2^k, and from each of them on a binary
mechanism (Algorithm 2) of horizon T_0 = 2^k for the items that follow.

The noise. The logarithmic mechanism adds one Laplace number of scale 1/ε_L at each t = 2^k, and
they accumulate. The binary mechanism of horizon T_0 keeps the nodes of a binary tree over its items
(p-sums); node j stands for 2^j items and carries Laplace noise of scale log2(T_0)/ε_B. The release
at τ = t - T_0 adds the nodes of the set bits of τ.

What it protects. One item enters one of the logarithmic mechanism's increments and at most
log2(T_0) nodes, so that ε_L + ε_B covers the whole sequence of releases: ε with `split` "half",
where ε_L = ε_B = ε/2. "tossou" is the published experiment's code, ε_L = ε and nodes of scale
ln(T_0)/ε, which is (1 + 1/ln 2) ε = 2.44 ε.

How it is kept here. A release is the true sum plus the noise of the parts it is made of, so it
suffices to keep the true sum and, per level j, the noise G_j of all parts up to the last node
that was made at that level. At τ with lowest set bit i, and i' the lowest set bit above it,
G_i = G_i' + Lap, and the release is the sum plus G_i: one addition per item, log2(T_0) + 1 numbers.
It is the same as Algorithm 4 item by item; keeping the p-sums themselves costs log2(T_0) additions.
That is `HybridSums`, for the lab. In the field noise must not be drawn first and added to a number
later (Mironov 2012): `HybridNodes` keeps the p-sums, and each is noised as a whole, once.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from agent.noise import Noise
from protocol.machine import FloatArray
from protocol.privacy import Release

_BATCH = 256
_NOTHING: list[Release] = []


@dataclass(slots=True)
class HybridSums:
    """Hybrid mechanisms over `streams` streams of rewards in [0, 1] on one clock t.

    Streams that share a clock share the shape of their trees, so a step costs the same few
    operations on arrays for one stream or for many. Memory: (log2 t + 2) numbers per stream, and
    noise drawn ahead for at most 256 steps.
    """

    streams: int
    epsilon: float
    split: Literal["half", "tossou"]
    noise: Noise
    t: int = 0
    T0: int = 0
    sums: FloatArray = field(init=False)
    levels: list[FloatArray] = field(init=False)
    batch: FloatArray = field(init=False)
    used: int = 0

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.streams)
        # levels[0]: the logarithmic mechanism's noise; levels[j + 1]: G_j
        self.levels = [np.zeros(self.streams)]
        self.batch = np.zeros((0, self.streams))

    @property
    def log_scale(self) -> float:
        """1/ε_L, the scale of one number of the logarithmic mechanism."""
        return 1.0 / self.epsilon if self.split == "tossou" else 2.0 / self.epsilon

    @property
    def node_scale(self) -> float:
        """The scale of one node's noise in the present binary mechanism (T_0 >= 2)."""
        if self.split == "tossou":
            return math.log(self.T0) / self.epsilon
        return 2.0 * math.log2(self.T0) / self.epsilon

    def insert(self, stream: int, x: float) -> FloatArray:
        """Put x into one stream and 0 into all others; the new releases, shape (streams,)."""
        self.sums[stream] += x
        t = self.t = self.t + 1
        tau = t - self.T0
        if tau == self.T0 or t == 1:
            self._double(t)
            return self.sums + self.levels[0]
        rest = tau & (tau - 1)
        if self.used == len(self.batch):
            self._draw(min(_BATCH, 2 * self.T0 - t))
        # the lowest set bit of τ, and the one above it; 0 is the logarithmic mechanism
        level = (tau ^ rest).bit_length()
        above = (rest & -rest).bit_length()
        fresh: FloatArray = self.levels[above] + self.batch[self.used]
        self.levels[level] = fresh
        self.used += 1
        released: FloatArray = self.sums + fresh
        return released

    def begun(self) -> list[Release]:
        """What the last item began: at a doubling, T_0 = t, what the releases from it on cost.

        The logarithmic mechanism's number covers the rewards (t/2, t], the new binary mechanism
        those after them, (t, 2t]; the reward 2t itself is in no node.
        """
        t = self.T0
        if self.t != t:
            return _NOTHING
        out = [_release(1.0, self.log_scale, f"rewards {t // 2 + 1} to {t}")]
        if t > 1:
            sensitivity = math.log2(t)
            out.append(_release(sensitivity, self.node_scale, f"rewards {t + 1} to {2 * t}"))
        return out

    def _double(self, t: int) -> None:
        """T = 2^k: one more number for the logarithmic mechanism, and a fresh tree."""
        self.T0 = t
        fresh = self.noise.laplace(self.log_scale, self.streams)
        self.levels[0] = self.levels[0] + fresh
        self.levels += [self.levels[0]] * (t.bit_length() - len(self.levels))

    def _draw(self, steps: int) -> None:
        flat = self.noise.laplace(self.node_scale, steps * self.streams)
        self.batch = flat.reshape(steps, self.streams)
        self.used = 0


@dataclass(slots=True)
class HybridNodes(HybridSums):
    """The same mechanism with its p-sums kept, each noised by `Noise.noisy` when it is complete.

    `beta` is the logarithmic mechanism's release, `since` the items after it; `nodes[j]` is the
    sum of 2^j items and `noisy[j]` what is released of it. A release adds what was released before.
    """

    beta: FloatArray = field(init=False)
    since: FloatArray = field(init=False)
    nodes: dict[int, FloatArray] = field(default_factory=dict)
    noisy: dict[int, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        HybridSums.__post_init__(self)
        self.beta = np.zeros(self.streams)
        self.since = np.zeros(self.streams)

    def insert(self, stream: int, x: float) -> FloatArray:
        item = np.zeros(self.streams)
        item[stream] = x
        t = self.t = self.t + 1
        tau = t - self.T0
        self.since = self.since + item
        if tau == self.T0 or t == 1:
            self.beta = self.beta + self.noise.noisy(self.since, 1.0, self.log_scale)
            self.T0, self.since = t, np.zeros(self.streams)
            self.nodes, self.noisy = {}, {}
            return self.beta
        level = (tau & -tau).bit_length() - 1
        for j in range(level):
            item = item + self.nodes.pop(j)
            del self.noisy[j]
        self.nodes[level] = item
        self.noisy[level] = self.noise.noisy(item, 1.0, self.node_scale)
        released: FloatArray = self.beta + np.sum(list(self.noisy.values()), axis=0)
        return released


def _release(sensitivity: float, scale: float, block: str) -> Release:
    return Release("laplace", sensitivity, scale, sensitivity / scale, block)
