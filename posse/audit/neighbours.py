"""Two data sets that differ in one reward: arms that give them, and which of them are tried."""

from dataclasses import dataclass, replace

import numpy as np

from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.arms.base import FloatArray
from posse.plan import Plan
from posse.seeds import Purpose, generator
from protocol.machine import COORDINATOR
from protocol.privacy import Neighbours

FAR = 1e6
"""What takes a reward's place where rewards have no bound."""

_LEVELS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
"""Of the rewards around the one that differs: its own arm's, and all others'."""


class _Levels(Arms):
    """Arms of which each always gives the same reward."""

    def __init__(self, levels: tuple[float, ...]) -> None:
        self._levels = levels

    def draw(self, arm: int, count: int) -> FloatArray:
        return np.full(count, self._levels[min(arm, len(self._levels) - 1)])

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        return np.array([self._levels[min(k, len(self._levels) - 1)] * times for k in arms])


@dataclass
class _Audited:
    """Arms of which one reward is another; `pulls` has what was drawn, arm and times, in order."""

    inner: Arms
    case: Neighbours
    value: float | None
    simulated: bool
    pulls: list[tuple[int, int]]
    used: int = 0

    def draw(self, arm: int, count: int) -> FloatArray:
        self.pulls.append((arm, count))
        return self._draw(arm, count)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        self.pulls += [(arm, times) for arm in arms]
        case = self.case
        if self.value is None or case.arm not in arms or self.used > case.place:
            return self.inner.totals(arms, times)
        return np.array([self._draw(arm, times).sum() for arm in arms])

    def remaining(self, arm: int) -> int | None:
        return self.inner.remaining(arm)

    def _draw(self, arm: int, count: int) -> FloatArray:
        rewards = self.inner.draw(arm, count)
        if arm == self.case.arm and self.value is not None:
            at = self.case.place - self.used
            self.used += count
            if 0 <= at < len(rewards):
                rewards = rewards.copy()
                rewards[at] = self.value
        return rewards


@dataclass
class World:
    """The arms of one run on data set `side`; `pulls` has what each agent pulled, by its rank.

    Without a case they are the run file's own. With `watched` pulls rewards are drawn one by one,
    as they are used.
    """

    case: Neighbours | None
    side: int
    watched: bool
    pulls: dict[int, list[tuple[int, int]]]

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """See `Sources.arms`."""
        case = self.case
        if case is None:
            return spec.build(context)
        inner: Arms
        if case.levels:
            inner = _Levels(case.levels)
        else:
            rewards = generator(context.seed, 0, context.rank, Purpose.REWARDS)
            instance = generator(context.seed, 0, COORDINATOR, Purpose.INSTANCE)
            inner = spec.build(replace(context, run=0, rewards=rewards, instance=instance))
        value = None
        if context.rank in (case.agent, COORDINATOR):
            value = case.values[self.side]
        elif context.rank == case.exchanged:
            value = case.values[1 - self.side]
        pulls = self.pulls.setdefault(context.rank, [])
        return _Audited(inner, case, value, inner.simulated and not self.watched, pulls)


def proposed(plan: Plan) -> list[Neighbours]:
    """The data sets that are tried: those of the claim, and some that are worst for many systems.

    In all of them the first reward of arm 0 differs that agent 0 gets, as much as rewards can.
    """
    values = (1.0, 0.0) if plan.spec.arms.unit_interval else (FAR, 0.0)
    exchanged = 1 if plan.claim.mechanism == "aggregation" else -1
    general = [Neighbours(levels=levels, values=values, exchanged=exchanged) for levels in _LEVELS]
    return [*plan.claim.worst, *general]
