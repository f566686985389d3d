"""Baselines without communication: UCB1; DP-UCB-INT and AdaP-UCB, whose actions are seen.

Auer, Cesa-Bianchi and Fischer 2002; Tossou and Dimitrakakis, "Algorithms for differentially private
multi-armed bandits", AAAI 2016, as Dubey and Pentland 2020 run them; Azize and Basu, "When privacy
meets partial information: a refined analysis of differentially private bandits", NeurIPS 2022.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from posse.seam.arms import Openings
from posse.seam.machines import (
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Disclose,
    Finish,
    Pull,
    Pulled,
    Started,
)
from posse.seam.messages import FloatArray, RemoteProtocolError, Variant
from posse.seam.noise import Noise
from posse_systems.dubey2020.agent import batch_release, mean_release
from posse_systems.dubey2020.flooding import argmax
from posse_systems.dubey2020.messages import (
    confidence_bonus,
    episode_radius,
    exploration_slots,
    pulls_per_release,
)


@dataclass(slots=True)
class LoneUcb(AgentMachine):
    """UCB1: each arm once, then argmax_k s_k/n_k + sqrt(2 log t / n_k).

    Of arms that are not always open, among those that are (Kleinberg et al. 2010, AUER).
    """

    arms: int
    horizon: int
    ties: np.random.Generator
    openings: Openings | None = None
    t: int = 0
    pulls: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms)
        self.sums = np.zeros(self.arms)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Pulled(arms, times, sums):
                self.t += times
                effects = self.learn(arms[0], times, float(sums[0]))
                if self.t == self.horizon:
                    return [*effects, Finish("horizon", self._answer())]
                return [*effects, self._next()]
            case Started():
                return [self._next()]
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _answer(self) -> int:
        """The arm pulled most; of arms that are not always open that of the largest mean."""
        if self.openings is None:
            return int(self.pulls.argmax())
        return int(
            np.where(self.pulls > 0, self.sums / np.maximum(self.pulls, 1), -np.inf).argmax()
        )

    def _next(self) -> Pull:
        arm = self.choose(self.t + 1)
        return Pull((arm,), self.episode(arm))

    def choose(self, t: int) -> int:
        """A_t, the arm of slot t, from 1."""
        if self.openings is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                index = np.where(self.pulls > 0, self.index_at(t), np.inf)
            return self.leader(np.where(self.openings(t - 1), index, -np.inf))
        return t - 1 if t <= self.arms else self.leader(self.index_at(t))

    def index_at(self, t: int) -> FloatArray:
        """Each arm's index in slot t."""
        return self.sums / self.pulls + confidence_bonus(math.log(t), self.pulls)

    def leader(self, index: FloatArray) -> int:
        """The argmax; ties are broken at random."""
        return argmax(index, self.ties)

    def episode(self, arm: int) -> int:
        """The slots for which the arm is pulled before the next choice."""
        return 1

    def learn(self, arm: int, times: int, total: float) -> list[AgentEffect]:
        """Learn the sum of the arm's rewards; returns the releases that follow."""
        self.pulls[arm] += times
        self.sums[arm] += total
        return []


@dataclass(slots=True, kw_only=True)
class PrivateLoneUcb(LoneUcb):
    """DP-UCB-INT: an arm's mean gets new noise after every f = ⌈1/ε⌉ pulls of the arm.

    In slots t <= K f arms are pulled in turn. Then argmax_a x_a is, where for each a with
    n_a mod f = 0

        x_a = s_a/n_a + Lap(n_a^(v/2 - 1)) + sqrt(2 log t / n_a).

    `printed`: n_a mod f stays 0 until a is pulled again, so noise is drawn in every slot.
    `corrected`: noise is drawn once, by the pull that makes it 0; the bonus is the slot's.
    """

    epsilon: float
    v: float
    variant: Variant
    noise: Noise
    noisy_means: FloatArray = field(init=False)
    index: FloatArray = field(init=False)
    redrawn: list[AgentEffect] = field(default_factory=list)

    def __post_init__(self) -> None:
        LoneUcb.__post_init__(self)
        self.noisy_means = np.zeros(self.arms)
        self.index = np.zeros(self.arms)

    def choose(self, t: int) -> int:
        if t <= exploration_slots(self.arms, self.epsilon):
            return (t - 1) % self.arms
        bonus = confidence_bonus(math.log(t), self.pulls)
        if self.variant == "corrected":
            return self.leader(self.noisy_means + bonus)
        f = pulls_per_release(self.epsilon)
        for arm in np.flatnonzero(self.pulls % f == 0).tolist():
            self._release(arm)
            self.index[arm] = self.noisy_means[arm] + bonus[arm]
        return self.leader(self.index)

    def learn(self, arm: int, times: int, total: float) -> list[AgentEffect]:
        LoneUcb.learn(self, arm, times, total)
        if self.variant == "corrected" and self.pulls[arm] % pulls_per_release(self.epsilon) == 0:
            self._release(arm)
        effects, self.redrawn = self.redrawn, []
        return effects

    def _release(self, arm: int) -> None:
        n = int(self.pulls[arm])
        release = mean_release(arm, n, self.v)
        mean = self.sums[arm : arm + 1] / n
        self.noisy_means[arm] = self.noise.noisy(mean, release.sensitivity, release.scale)[0]
        self.redrawn.append(Disclose(release))


@dataclass(slots=True, kw_only=True)
class AdapUcb(LoneUcb):
    """AdaP-UCB (Azize and Basu 2022, Algorithm 1 and equation 7).

    Each arm is pulled once. Then come episodes, in which the arm of the largest index is pulled as
    often as before in all, so that its pulls double. The mean of an episode's n rewards is released
    once with Lap(1/(ε n)) and replaces the arm's last one:

        I_a = μ̃_a + sqrt(α log t / (2 n_a)) + α log t / (ε n_a),

    where n_a is the length of the arm's last episode. An episode cut by the horizon is not
    released. Each reward is in one release, so all releases together cost ε.
    """

    epsilon: float
    alpha: float
    noise: Noise
    lengths: FloatArray = field(init=False)
    noisy_means: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        LoneUcb.__post_init__(self)
        self.lengths = np.zeros(self.arms)
        self.noisy_means = np.zeros(self.arms)

    def index_at(self, t: int) -> FloatArray:
        log = self.alpha * math.log(t)
        return self.noisy_means + episode_radius(log, self.lengths, self.epsilon)

    def episode(self, arm: int) -> int:
        return min(self._doubling(arm), self.horizon - self.t)

    def _doubling(self, arm: int) -> int:
        return max(1, int(self.pulls[arm]))

    def learn(self, arm: int, times: int, total: float) -> list[AgentEffect]:
        whole = times == self._doubling(arm)
        LoneUcb.learn(self, arm, times, total)
        if not whole:
            return []
        release = batch_release(arm, int(self.pulls[arm]), times, self.epsilon)
        mean = np.array([total / times])
        self.lengths[arm] = times
        self.noisy_means[arm] = self.noise.noisy(mean, release.sensitivity, release.scale)[0]
        return [Disclose(release)]
