"""CDP-MAB with shared noise: each agent adds a part of it, and the server sees only the sum.

As printed, an agent of CDP-MAB adds Lap(1/(M ε d)) to its own mean, so its message costs M ε. But
only the *average* needs noise. Here each agent adds a share of discrete Gaussian noise to its sums,
as whole numbers, and masks them (Kairouz, Liu and Steinke, "The distributed discrete Gaussian
mechanism for federated learning with secure aggregation", ICML 2021). The server reads the sum over
all M agents and nothing else.

What it protects. One reward in [0, 1] moves one sum of one round by at most Δ = 2^b + 1 words: b
fractional bits, and 1 for rounding. The shares of the `honest` agents alone have the deviation σ at
which Δ costs (ε, δ') by Rényi divergence, and 7 to 11 % less exactly, which is what is claimed.
Where d agents may drop out (`dropouts`), the shares of d fewer do.
Different rounds and arms have disjoint rewards. So the guarantee holds even against the server
together with all other agents, who may add no noise and tell it all they know. The sum of n
discrete Gaussians is not exactly one. It costs what N_Z(0, n σ_i²) costs, and a term of at most 10
Σ_k e^(-2 π² σ_i² k/(k+1)), k < n (their Theorem 1), negligible for σ_i >= 10 words.

`SharedLaplace` has no δ' (Chowdhury and Zhou, "Distributed differential privacy in multi-armed
bandits", ICLR 2023). A share is the difference of two Pólya numbers of shape 1/n, and n = `honest`
shares are a discrete Laplace number exactly. The other agents' shares are independent of it, so the
sum of all is a function of theirs that costs no more.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posse.seam.masking import WORD_BITS, Words
from posse.seam.messages import FloatArray, IntArray
from posse.seam.noise import FARTHEST, Losses, gaussian_deviation, polya_loss, slack
from posse_systems.li2022.messages import (
    CdpParameters,
    Schedule,
)

LEAST_SHARE = 10.0
"""Least σ_i, in words, at which the sum of shares is as private as one discrete Gaussian."""


@dataclass(frozen=True)
class SharedNoise:
    """M agents' shares of the noise in one sum; `precision` is b, `honest` h, a fraction of M.

    Up to `dropouts` agents may be lost, with their shares. `mechanism` is the law of the sum of
    those that are `enough`, and `scale` its scale, in words.
    """

    mechanism: ClassVar[str] = "discrete-gaussian"

    agents: int
    epsilon: float
    delta: float
    honest: float
    precision: int
    dropouts: int = 0

    @property
    def honest_agents(self) -> int:
        """⌈h M⌉, the number of agents that are trusted."""
        return max(1, math.ceil(self.honest * self.agents - 1e-9))

    @property
    def enough(self) -> int:
        """The number of agents whose shares alone are enough: of honest ones that are not lost."""
        return max(1, self.honest_agents - self.dropouts)

    @property
    def sensitivity(self) -> int:
        """Δ, the most by which one reward moves a sum, in words."""
        return (1 << self.precision) + 1

    @property
    def deviation(self) -> float:
        """σ of the honest agents' noise in a sum, in words."""
        return gaussian_deviation(self.sensitivity, self.epsilon, self.delta)

    @property
    def losses(self) -> Losses:
        """What one reward costs, by the noise of the honest agents alone.

        One word more than Δ makes up for the noise being whole numbers: its tails are sums, of
        which the last term is left out or added (Canonne, Kamath and Steinke 2020, Theorem 7).
        """
        return Losses(gaussian=((self.sensitivity + 1) / self.deviation) ** 2)

    @property
    def losses_alone(self) -> Losses:
        """What one reward costs if all other agents are in league: by its agent's noise alone."""
        return Losses(gaussian=((self.sensitivity + 1) / self.share) ** 2)

    @property
    def scale(self) -> float:
        """σ, of a Gaussian law."""
        return self.deviation

    @property
    def share(self) -> float:
        """σ_i of one agent's noise in its sum, in words."""
        return self.deviation / math.sqrt(self.enough)

    @property
    def total(self) -> float:
        """The deviation of all M agents' noise in a sum, in units of reward."""
        return self.share * math.sqrt(self.agents) / (1 << self.precision)

    @property
    def tail(self) -> float:
        """The scale of the exponential tail of all agents' noise in a sum, in units of reward."""
        return 0.0

    @property
    def farthest(self) -> float:
        """How far all agents' noise moves a sum at most, but once in e^41 sums, in rewards.

        The bound of `SharedSchedule`, with 41 for P_r.
        """
        return self.total * math.sqrt(2 * FARTHEST) + self.tail * FARTHEST

    def fits(self, horizon: int) -> bool:
        """Whether the largest sum plus forty deviations of noise stays below half of 2^64."""
        largest = self.agents * horizon + 40 * self.total
        return largest * (1 << self.precision) < 2.0 ** (WORD_BITS - 1)

    def to_integers(self, sums: FloatArray) -> IntArray:
        """Sums of rewards in words, rounded to the nearest."""
        return np.rint(sums * float(1 << self.precision)).astype(np.int64)

    def from_words(self, words: Words) -> FloatArray:
        """The sums of rewards that words encode; noise may make them negative."""
        return words.view(np.int64) / float(1 << self.precision)


@dataclass(frozen=True)
class SharedLaplace(SharedNoise):
    """Shares of discrete Laplace noise; δ' is 0.

    Between the losses that whole numbers can have, δ(ε) of discrete noise is a chord of that of
    Laplace noise, which is convex. One word more than Δ makes up for this in `losses`.
    """

    mechanism: ClassVar[str] = "discrete-laplace"

    @property
    def scale(self) -> float:
        """Of the honest agents' noise in a sum, P(x) ~ e^(-|x| / scale), in words."""
        return (self.sensitivity + 1) / self.epsilon

    @property
    def deviation(self) -> float:
        """At least that of the honest agents' noise, and less than a word more, in words."""
        return math.sqrt(2) * self.scale

    @property
    def losses(self) -> Losses:
        return Losses(laplace=((self.epsilon, 1),))

    @property
    def losses_alone(self) -> Losses:
        cost = polya_loss(self.scale, 1 / self.enough, self.sensitivity)
        return Losses(pure=((cost, 1),))

    @property
    def tail(self) -> float:
        # an average over n agents widens C(r) by sqrt(M/n), and its tail grows by M/n
        left = math.sqrt(self.agents / max(1, self.agents - self.dropouts))
        return left * self.scale / (1 << self.precision)


@dataclass(frozen=True, kw_only=True)
class SharedSchedule(Schedule):
    """S(r) and C(r) where the sum over the M agents has noise of deviation σ = `deviation`.

    After r rounds the average ȳ contains r independent Gaussian numbers of deviation σ / (M S(r)).
    Together they exceed their part of the radius,

        σ sqrt(2 r P_r) / (M S(r)),

    with probability at most 2 e^(-P_r). The paper asks the same of its Laplace noise, but its Fact
    2 needs P_r < M; this holds for every M and P_r. S(r) makes this part at most Δ̃_r / 4, as in the
    paper.

    With Laplace shares ȳ contains the difference of two gamma numbers instead, of scale b = `tail`
    in a sum. The logarithm of its moments at z is at most V z² / (2 (1 - b z)), V = r σ², so that
    σ sqrt(2 r P_r) + b P_r is as rarely exceeded (Boucheron, Lugosi and Massart 2013, section 2.4).
    """

    deviation: float
    tail: float = 0.0

    def private(self, r: int, log_all: float) -> float:
        return (self.deviation * math.sqrt(2 * r * log_all) + self.tail * log_all) / self.senders


def noise_of(parameters: CdpParameters, agents: int) -> SharedNoise:
    """The shared noise of M = `agents` agents, where `noise` is "shared"."""
    p = parameters
    if p.noise_law == "laplace":
        return SharedLaplace(agents, p.epsilon, 0.0, p.honest, p.precision, p.dropouts)
    delta = slack(p.delta_prime, agents * p.horizon)
    return SharedNoise(agents, p.epsilon, delta, p.honest, p.precision, p.dropouts)
