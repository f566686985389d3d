"""The baselines who hear nobody: UCB1, and DP-UCB-INT, whose actions are seen.

Auer, Cesa-Bianchi and Fischer 2002; Tossou and Dimitrakakis, "Algorithms for differentially private
multi-armed bandits", AAAI 2016, as Dubey and Pentland 2020 run them.
"""

from dataclasses import dataclass, field

import numpy as np

from agent.cooperative import best, mean_release
from agent.noise import Noise
from protocol.cooperative import (
    Variant,
    confidence_bonus,
    exploration_slots,
    noise_scale,
    pulls_per_release,
)
from protocol.errors import RemoteProtocolError
from protocol.machine import (
    AgentEffect,
    AgentEffects,
    AgentEvent,
    Disclose,
    Finish,
    FloatArray,
    Pull,
    Pulled,
    Started,
)


@dataclass(slots=True)
class LoneUcb:
    """UCB1: each arm once, then argmax_k s_k/n_k + sqrt(2 log t / n_k)."""

    arms: int
    horizon: int
    ties: np.random.Generator
    t: int = 0
    pulls: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms)
        self.sums = np.zeros(self.arms)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `protocol.machine.AgentMachine`."""
        match event:
            case Pulled(arms, _, sums):
                effects = self.learn(arms[0], float(sums[0]))
                if self.t == self.horizon:
                    return [*effects, Finish("horizon", int(self.pulls.argmax()))]
                return [*effects, self._next()]
            case Started():
                return [self._next()]
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _next(self) -> Pull:
        self.t += 1
        return Pull((self.choose(self.t),), 1)

    def choose(self, t: int) -> int:
        """A_t, slots counted from 1."""
        if t <= self.arms:
            return t - 1
        return best(self.sums / self.pulls + confidence_bonus(t, self.pulls), self.ties)

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """The arm's reward; what is released by it."""
        self.pulls[arm] += 1
        self.sums[arm] += reward
        return []


@dataclass(slots=True)
class PrivateLoneUcb(LoneUcb):
    """DP-UCB-INT: the mean of an arm is noised anew at every f = ⌈1/ε⌉ pulls of it.

    t <= K f: arms in turn. Then argmax_a x_a, where for each a with n_a mod f = 0

        x_a = s_a/n_a + Lap(n_a^(v/2 - 1)) + sqrt(2 log t / n_a).

    `printed`: n_a mod f stays 0 while a is not pulled, so its noise is drawn again in every slot.
    `corrected`: once, by the pull that makes it 0; the bonus is that of the slot.
    """

    epsilon: float = 1.0
    v: float = 1.1
    variant: Variant = "corrected"
    noise: Noise | None = None
    noisy_means: FloatArray = field(init=False)
    index: FloatArray = field(init=False)
    redrawn: list[AgentEffect] = field(default_factory=list)

    def __post_init__(self) -> None:
        LoneUcb.__post_init__(self)
        self.noisy_means = np.zeros(self.arms)
        self.index = np.zeros(self.arms)

    def choose(self, t: int) -> int:
        """See `LoneUcb.choose`."""
        if t <= exploration_slots(self.arms, self.epsilon):
            return (t - 1) % self.arms
        bonus = confidence_bonus(t, self.pulls)
        if self.variant == "corrected":
            return best(self.noisy_means + bonus, self.ties)
        f = pulls_per_release(self.epsilon)
        for arm in np.flatnonzero(self.pulls % f == 0).tolist():
            self._release(arm)
            self.index[arm] = self.noisy_means[arm] + bonus[arm]
        return best(self.index, self.ties)

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """See `LoneUcb.learn`."""
        LoneUcb.learn(self, arm, reward)
        if self.variant == "corrected" and self.pulls[arm] % pulls_per_release(self.epsilon) == 0:
            self._release(arm)
        effects, self.redrawn = self.redrawn, []
        return effects

    def _release(self, arm: int) -> None:
        assert self.noise is not None
        n = int(self.pulls[arm])
        mean = self.sums[arm : arm + 1] / n
        self.noisy_means[arm] = self.noise.noisy(mean, 1 / n, noise_scale(n, self.v))[0]
        self.redrawn.append(Disclose(mean_release(arm, n, self.v)))
