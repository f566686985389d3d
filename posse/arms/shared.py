"""The arms that all agents of a run share, and what was made of them."""

import numpy as np
from numpy.typing import NDArray

from posse.arms import ArmsContext, LabMeans
from posse.measure.regret import Regret
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec
from protocol.machine import COORDINATOR, Pull, Pulled

_READ_AHEAD = 256


class SharedArms:
    """One set of arms for the whole group, pulled by the coordinator's machine.

    Regret is the group's (Tossou and Dimitrakakis 2015, equation 2): a slot with M agents costs
    the M largest means less the payoffs of the slot. It is measured on payoffs, not on means,
    because what a collision destroys is a payoff.
    """

    def __init__(self, spec: RunSpec, run: int) -> None:
        def seeded(purpose: Purpose) -> np.random.Generator:
            return generator(spec.seed, run, COORDINATOR, purpose, field=spec.mode == "field")

        agents, arms = spec.agents.count, spec.arms.arm_count()
        context = ArmsContext(
            rank=COORDINATOR,
            agents=agents,
            run=run,
            seed=spec.seed,
            base=spec.base,
            rewards=seeded(Purpose.REWARDS),
            instance=seeded(Purpose.INSTANCE),
        )
        built = spec.arms.build(context)
        self._arms = built
        self._read = _READ_AHEAD if built.simulated else 1
        # rewards drawn and not used yet, the next one last: one of an arm per slot is wanted
        self._ahead: list[list[float]] = [[] for _ in range(arms)]
        self._finite = [k for k in range(arms) if built.remaining(k) is not None]
        self.regret: Regret | None = None
        self._optimum = 0.0
        if isinstance(spec.arms, LabMeans):
            means = spec.arms.table(agents, seeded(Purpose.INSTANCE))[0]
            self.regret = Regret(means)
            self._optimum = float(np.sort(means)[::-1][:agents].sum())
        self.slots = 0
        self._pulls = [[0] * arms for _ in range(agents)]

    @property
    def pulls(self) -> NDArray[np.int64]:
        """Pulls so far, shape (agents, arms)."""
        return np.array(self._pulls, dtype=np.int64)

    def shortage(self, order: Pull) -> str:
        """Empty if the arms have what is ordered, else a sentence about the one that lacks."""
        for k in self._finite:
            left = (self._arms.remaining(k) or 0) + len(self._ahead[k])
            needed = order.times * order.arms.count(k)
            if left < needed:
                return f"arm {k} has {left} rewards left and {needed} are needed"
        return ""

    def pull(self, order: Pull) -> Pulled:
        """Carry out an order; an arm that it names twice is pulled twice."""
        if order.times == 1 and not order.each:
            return Pulled(order.arms, 1, np.array([self._one(k) for k in order.arms]))
        rewards = np.array([[self._one(k) for _ in range(order.times)] for k in order.arms])
        return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards if order.each else None)

    def _one(self, arm: int) -> float:
        ahead = self._ahead[arm]
        if not ahead:
            ahead += self._arms.draw(arm, self._read)[::-1].tolist()
        return ahead.pop()

    def played(self, arms: tuple[int, ...], payoffs: tuple[float, ...]) -> None:
        """A slot is over; see `protocol.machine.Played`."""
        self.slots += 1
        for row, arm in zip(self._pulls, arms, strict=True):
            if arm >= 0:
                row[arm] += 1
        if self.regret is not None:
            self.regret.add(self._optimum - sum(payoffs), 1, float(self.slots))
