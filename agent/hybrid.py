"""The hybrid mechanism: a private running sum over a stream of unknown length.

Chan, Shi and Song, "Private and continual release of statistics", ACM TISSEC 14(3), 2011,
Algorithm 4: the logarithmic mechanism releases at the times t = 2^k. From each of these times on, a
binary mechanism (Algorithm 2) of horizon T_0 = 2^k covers the items that follow.

    def algorithm_4(stream, epsilon, split, generator):
        epsilon_L = epsilon_B = epsilon if split == "tossou" else epsilon / 2
        log = math.log if split == "tossou" else math.log2
        beta, T0 = 0.0, 0                      # the logarithmic mechanism's sum and last release
        alpha, noisy = {}, {}                  # the p-sums of the binary mechanism, by level
        releases = []
        for t, x in enumerate(stream, start=1):
            beta += x
            if t & (t - 1) == 0:
                beta += generator.laplace(0, 1 / epsilon_L)
                released, T0, alpha, noisy = beta, t, {}, {}
                releases.append(released)
                continue
            tau = t - T0
            i = (tau & -tau).bit_length() - 1
            alpha[i] = x + sum(alpha.pop(j) for j in range(i))
            for j in range(i):
                del noisy[j]
            noisy[i] = alpha[i] + generator.laplace(0, log(T0) / epsilon_B)
            releases.append(released + sum(noisy[j] for j in noisy if tau >> j & 1))
        return releases

The noise. The logarithmic mechanism adds one Laplace number of scale 1/ε_L at each t = 2^k, and
these accumulate. The binary mechanism of horizon T_0 keeps the nodes of a binary tree over its
items (p-sums). A node of level j is the sum of 2^j items, with Laplace noise of scale
log2(T_0)/ε_B. The release at τ = t - T_0 adds the nodes of the set bits of τ.

What it protects. One item enters one increment of the logarithmic mechanism and at most log2(T_0)
nodes, so the whole sequence of releases costs ε_L + ε_B. With `split` "half" this is ε, since
ε_L = ε_B = ε/2. "tossou" is the code of the published experiment: ε_L = ε and nodes of scale
ln(T_0)/ε, which cost (1 + 1/ln 2) ε = 2.44 ε.

How it is computed. A release is the true sum plus the noise of its parts. So `HybridSums` keeps the
true sum and, for each level j, G_j: the noise of all parts up to the last node made at that level.
At τ with lowest set bit i, and i' the lowest set bit above it, G_i = G_i' + Lap, and the release is
the sum plus G_i. That is one addition per item and log2(T_0) + 1 numbers, and item by item the same
as Algorithm 4; keeping the p-sums costs log2(T_0) additions. The noise does not depend on the
items, so it is drawn and added up for up to 256 steps at once.

`HybridSums` is for the lab. In the field, noise must not be drawn first and added to a number later
(Mironov 2012). `HybridNodes` keeps the p-sums (`posse.agent.tree`), each noised once, as a whole.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posse.agent.tree import TreeSums
from posse.protocol.arrays import FloatArray
from posse.protocol.noise import Noise
from posse.protocol.privacy import Release

_BATCH = 256
_NOTHING: list[Release] = []


@dataclass(slots=True)
class HybridSums:
    """Hybrid mechanisms over `streams` streams of rewards in [0, 1] on one clock t.

    Streams on one clock have trees of the same shape, so a step costs the same few array operations
    for one stream or for many. Memory: log2 t + 2 numbers per stream, and noise drawn ahead for at
    most 256 steps.
    """

    streams: int
    epsilon: float
    split: Literal["half", "tossou"]
    noise: Noise
    t: int = 0
    T0: int = 0
    sums: FloatArray = field(init=False)
    levels: list[FloatArray] = field(init=False)
    ahead: FloatArray = field(init=False)
    last: FloatArray = field(init=False)
    used: int = 0
    drawn: int = 0

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.streams)
        # levels[0]: the logarithmic mechanism's noise; levels[j + 1]: G_j, of whole batches only
        self.levels = [np.zeros(self.streams)]
        self.ahead = np.zeros((0, self.streams))
        self.last = np.zeros((1, self.streams))

    @property
    def at_once(self) -> int:
        """Steps whose noise is drawn at once, at most."""
        return _BATCH

    @property
    def log_scale(self) -> float:
        """1/ε_L, the scale of one number of the logarithmic mechanism."""
        return 1.0 / self.epsilon if self.split == "tossou" else 2.0 / self.epsilon

    @property
    def node_scale(self) -> float:
        """The scale of a node's noise in the present binary mechanism, T_0 >= 2."""
        if self.split == "tossou":
            return math.log(self.T0) / self.epsilon
        return 2.0 * math.log2(self.T0) / self.epsilon

    @property
    def noise_scales(self) -> tuple[float, float]:
        """Of the scales b_i of the noise in the latest release: sqrt(Σ b_i²), and the largest."""
        nodes = (self.t - self.T0).bit_count()
        node = self.node_scale if nodes else 0.0
        squares = self.T0.bit_length() * self.log_scale**2 + nodes * node**2
        return math.sqrt(squares), max(self.log_scale, node)

    def insert(self, stream: int, x: float) -> FloatArray:
        """Insert x into one stream and 0 into all others; returns the new releases, (streams,)."""
        self.sums[stream] += x
        self.t += 1
        if self.used == len(self.ahead):
            self.ahead, self.used = self.look_ahead(), 0
        released: FloatArray = self.sums + self.ahead[self.used]
        self.used += 1
        return released

    def look_ahead(self) -> FloatArray:
        """The noise of the next releases, shape (steps, streams), at most `at_once` steps.

        At a doubling it is that of one release. `t` is then the time of the first of them.
        """
        t = self.t = self.drawn + 1
        if t == 2 * self.T0 or t == 1:
            # draw the logarithmic mechanism's next number, and begin a new tree
            self.T0 = t
            self.levels[0] = self.levels[0] + self.noise.laplace(self.log_scale, self.streams)
            self.levels += [self.levels[0]] * (t.bit_length() - len(self.levels))
            noise = self.levels[0][None]
        else:
            noise = self._nodes(t - self.T0)
        self.drawn += len(noise)
        self.last = noise[-1:].copy()  # not a view, which keeps the batch
        return noise

    def _nodes(self, tau: int) -> FloatArray:
        """Draw the noise of the next steps, the first of them τ, and add it up along the tree.

        All nodes of a level are added at once, from the highest level down. Only the last step of a
        full batch may have its next higher bit in an earlier batch.
        """
        steps = min(_BATCH, self.T0 - tau)
        flat = self.noise.laplace(self.node_scale, steps * self.streams)
        # one row a step, the first of them made before
        noise = np.concatenate([self.last, flat.reshape(steps, self.streams)])
        node = _BATCH // 2
        while node:
            nodes = noise[node : _BATCH : 2 * node]
            nodes += noise[0 : _BATCH : 2 * node][: len(nodes)]
            node //= 2
        if steps == _BATCH:
            last = tau - 1 + steps
            higher = last & (last - 1)
            # counting from 1, the lowest set bit of τ and the one above it; 0 for no bit
            level = (last ^ higher).bit_length()
            above = (higher & -higher).bit_length()
            noise[steps] += self.levels[above]
            self.levels[level] = noise[steps].copy()
        return noise[1:]

    def new_releases(self) -> list[Release]:
        """The releases that the last item began; none unless it was a doubling, t = T_0.

        The logarithmic mechanism's number covers the rewards (t/2, t]. The new binary mechanism
        covers the next ones, (t, 2t], though reward 2t itself is in no node.
        """
        t = self.T0
        if self.t != t:
            return _NOTHING
        releases = [_release(1.0, self.log_scale, f"rewards {t // 2 + 1} to {t}")]
        if t > 1:
            sensitivity = math.log2(t)
            releases.append(_release(sensitivity, self.node_scale, f"rewards {t + 1} to {2 * t}"))
        return releases


@dataclass(slots=True)
class HybridNodes(HybridSums):
    """The same mechanism for the field: every release is a sum of noisy values only.

    `beta` is the logarithmic mechanism's last release, `since` the sum of the items after it, and
    `tree` the present binary mechanism, of T_0 - 1 items.
    """

    beta: FloatArray = field(init=False)
    since: FloatArray = field(init=False)
    tree: TreeSums = field(init=False)

    def __post_init__(self) -> None:
        HybridSums.__post_init__(self)
        self.beta = np.zeros(self.streams)
        self.since = np.zeros(self.streams)
        self.tree = TreeSums(self.streams, self.epsilon, 0, self.noise)

    def insert(self, stream: int, x: float) -> FloatArray:
        self.since[stream] += x
        t = self.t = self.t + 1
        if t == 2 * self.T0 or t == 1:
            self.beta = self.beta + self.noise.noisy(self.since, 1.0, self.log_scale)
            self.T0, self.since = t, np.zeros(self.streams)
            self.tree = TreeSums(self.streams, self.epsilon, t - 1, self.noise, self.node_scale)
            return self.beta
        return self.beta + self.tree.insert(stream, x)


def _release(sensitivity: float, scale: float, block: str) -> Release:
    return Release("laplace", sensitivity, scale, sensitivity / scale, block)
