"""Arms that all agents of a run share, with their pulls and regret."""

from math import isfinite

import numpy as np
from mypy_extensions import mypyc_attr
from numpy.typing import NDArray

from posse.arms.buffer import RewardBuffer
from posse.measure.regret import ArmCosts, Regret
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import Played, Pull, Pulled


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupArms:
    """One set of arms for the whole group, pulled by the coordinator's machine.

    Regret is the group's (Tossou and Dimitrakakis 2015, equation 2): a slot with M agents costs the
    M largest means less the payoffs of the slot. It is measured on payoffs, not on means, because a
    collision destroys payoffs. Without `means`, shape (arms,), it is unknown.

    `scale`: the values of payoffs 0 and 1 on the scale of the means, where rewards are clipped. An
    agent that pulls nothing, or collides and is not paid, earns 0 on either scale.
    """

    def __init__(
        self,
        rewards: RewardBuffer,
        agents: int,
        arms: int,
        means: FloatArray | None,
        scale: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self._rewards = rewards
        self.regret: Regret | None = None
        self.optimum = 0.0
        """The sum of the largest means, one for each agent."""
        self.scale = scale
        if means is not None:
            self.regret = Regret(ArmCosts(means))
            self.optimum = float(np.sort(means)[::-1][:agents].sum())
        self.slots = 0
        self.earned = 0.0
        self._drawn = [0] * arms
        self._sums = [0.0] * arms
        self._open = {-1}
        """Arms pulled in this slot, and -1 for agents that pull none."""
        self._pulls = [[0] * arms for _ in range(agents)]

    @property
    def drawn(self) -> NDArray[np.int64]:
        """How many rewards of each arm were used, shape (arms,)."""
        return np.array(self._drawn, dtype=np.int64)

    @property
    def sums(self) -> FloatArray:
        """The sums of the rewards of each arm that were used, shape (arms,)."""
        return np.array(self._sums)

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls so far, shape (agents, arms)."""
        return np.array(self._pulls, dtype=np.int64)

    def shortage(self, order: Pull) -> str:
        """Empty if the arms have the rewards ordered, else a sentence about one that has not."""
        return self._rewards.shortage(order.arms, order.times)

    def pull(self, order: Pull) -> Pulled:
        """Carry out an order; an arm that is named twice is pulled twice."""
        buffer, arms = self._rewards, order.arms
        self._open.update(arms)
        for k in arms:
            self._drawn[k] += order.times
        if order.times == 1 and not order.each:
            one = [buffer.take_one(k) for k in arms]
            for k, reward in zip(arms, one, strict=True):
                self._sums[k] += reward
            return Pulled(arms, 1, np.array(one))
        rewards = np.array([[buffer.take_one(k) for _ in range(order.times)] for k in order.arms])
        for k, earned in zip(arms, rewards.sum(axis=1).tolist(), strict=True):
            self._sums[k] += earned
        return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards if order.each else None)

    def played(
        self, arms: tuple[int, ...], payoffs: tuple[float, ...], winners: tuple[int, ...] = ()
    ) -> None:
        """Account for a finished slot; see `posse.protocol.machine.Played`."""
        earned = self._earned(arms, payoffs, winners)
        fits = len(self._pulls) == len(arms) == len(payoffs) and self._open.issuperset(arms)
        if not (fits and isfinite(earned)):
            raise LocalProtocolError(
                f"{Played(arms, payoffs)}: each agent needs an arm that was pulled in this slot "
                "(-1 for none), and a payoff that is a finite number"
            )
        self._open = {-1}
        self.slots += 1
        self.earned += earned
        for n, arm in enumerate(arms):
            if arm >= 0:
                self._pulls[n][arm] += 1
        if self.regret is not None:
            self.regret.add(self.optimum - earned, 1, float(self.slots))

    def ahead(self, arm: int, count: int) -> FloatArray:
        """The next rewards of an arm, for who counts by itself which of them are used."""
        rewards: FloatArray = self._rewards.take((arm,), count)[0]
        return rewards

    def moved(
        self,
        pulls: NDArray[np.int64],
        drawn: NDArray[np.int64],
        sums: FloatArray,
        earned: float,
        curve: FloatArray,
    ) -> None:
        """Take what all slots came to where arrays move all agents, as `pulls`, … would give it."""
        self._pulls, self._drawn, self._sums = pulls.tolist(), drawn.tolist(), sums.tolist()
        self.earned = earned
        if self.regret is not None:
            self.regret.moved(curve)

    def _earned(
        self, arms: tuple[int, ...], payoffs: tuple[float, ...], winners: tuple[int, ...]
    ) -> float:
        """What the group earned in a slot, on the scale of the means."""
        low, high = self.scale
        if (low, high) == (0.0, 1.0):
            return sum(payoffs)
        return sum(
            low + (high - low) * payoff
            for n, (arm, payoff) in enumerate(zip(arms, payoffs, strict=False))
            if arm >= 0 and (payoff or n in winners or arms.count(arm) == 1)
        )
