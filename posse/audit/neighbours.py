"""Two data sets that differ in one reward: arms that give them, and the cases that are tried."""

import math
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.arms.base import FloatArray
from posse.errors import RunFailed
from posse.plan import Plan
from posse.seeds import Purpose, generator
from protocol.anonymous import AnonymousParameters, ExploreThenCommitParameters
from protocol.machine import COORDINATOR
from protocol.privacy import Neighbours
from protocol.wire import HEADER

FAR = 1e6
"""The replacement for a reward where rewards have no bound."""

_MOST_DRAWS = 500_000
"""Draws allowed to one agent in a run without a horizon: on some data such a run never ends."""

_ASKING = 100
"""Each request for rewards or a total counts as at least so many draws: it takes as long."""

_LEVELS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
"""Constant rewards around the one that differs: its own arm's, and all other arms'."""

_decode = msgspec.msgpack.Decoder().decode


class _Levels(Arms):
    """Arms that each give one constant reward."""

    def __init__(self, levels: tuple[float, ...]) -> None:
        self._levels = levels

    def draw(self, arm: int, count: int) -> FloatArray:
        return np.full(count, self._levels[min(arm, len(self._levels) - 1)])

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        return np.array([self._levels[min(k, len(self._levels) - 1)] * times for k in arms])


@dataclass
class _Audited:
    """Arms with one reward replaced by `value`, number `place` of `arm`; None: with none so far.

    `pulls` lists arm and times of each draw, in order. Raises `RunFailed` after more than `most`
    draws.
    """

    inner: Arms
    arm: int
    place: int
    value: float | None
    simulated: bool
    pulls: list[tuple[int, int]]
    most: float
    used: int = 0
    draws: int = 0

    def draw(self, arm: int, count: int) -> FloatArray:
        self._note((arm,), count, draws=max(count, _ASKING))
        return self._draw(arm, count)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        self._note(arms, times, draws=len(arms) * _ASKING)
        if self.value is None or self.arm not in arms or self.used > self.place:
            return self.inner.totals(arms, times)
        return np.array([self._draw(arm, times).sum() for arm in arms])

    def _note(self, arms: tuple[int, ...], times: int, draws: int) -> None:
        self.draws += draws
        if self.draws > self.most:
            raise RunFailed(f"on such rewards the run does not end within {self.most:,} draws")
        self.pulls += [(arm, times) for arm in arms]

    def remaining(self, arm: int) -> int | None:
        return self.inner.remaining(arm)

    def _draw(self, arm: int, count: int) -> FloatArray:
        rewards = self.inner.draw(arm, count)
        if arm == self.arm and self.value is not None:
            at = self.place - self.used
            self.used += count
            if 0 <= at < len(rewards):
                rewards = rewards.copy()
                rewards[at] = self.value
        return rewards


class _Ordered(Arms):
    """The `inner` arms in another order: arm k is its arm `order[k]`."""

    def __init__(self, inner: Arms, order: tuple[int, ...]) -> None:
        self._inner = inner
        self._order = order
        self.simulated = inner.simulated

    def draw(self, arm: int, count: int) -> FloatArray:
        return self._inner.draw(self._order[arm], count)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        return self._inner.totals(tuple(self._order[k] for k in arms), times)

    def remaining(self, arm: int) -> int | None:
        return self._inner.remaining(self._order[arm])


def order(run: int, arms: int) -> tuple[int, ...]:
    """The order of the run file's arms in a run without a case: entry k stands at place k."""
    return tuple(np.random.default_rng(run).permutation(arms).tolist())


@dataclass
class World:
    """The arms of one run on data set `side`; `pulls` lists what each agent pulled, by rank.

    Without a case they are the run file's own, in an order drawn for the run. With `watched`, pulls
    are part of the view, so rewards are drawn one by one as they are used. `horizon` says whether
    the run ends whatever its rewards are.
    """

    case: Neighbours | None
    side: int
    watched: bool
    horizon: bool
    pulls: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    made: dict[int, _Audited] = field(default_factory=dict)
    paired: bool = False

    def hear(self, frame: bytes) -> None:
        """Find out who exchanges rewards: the case's agent, and the next one of its first group.

        All members of a group play one arm in the same rounds, and none is left out of the first of
        these. So the first rewards of both are in one sum.
        """
        case = self.case
        if case is None or not case.grouped or self.paired:
            return
        match _decode(frame[HEADER.size :]):
            case ["Assign", _, arm, _, list(group)] if case.agent in group:
                after = group[(group.index(case.agent) + 1) % len(group)]
                for rank, side in ((case.agent, self.side), (after, 1 - self.side)):
                    self.made[rank].arm, self.made[rank].value = arm, case.values[side]
                self.paired = True

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """See `Sources.arms`."""
        case = self.case
        if case is None:
            return _Ordered(spec.build(context), order(context.run, spec.arm_count()))
        inner: Arms
        if case.levels:
            inner = _Levels(case.levels)
        else:
            rewards = generator(context.seed, 0, context.rank, Purpose.REWARDS)
            instance = generator(context.seed, 0, COORDINATOR, Purpose.INSTANCE)
            inner = spec.build(replace(context, run=0, rewards=rewards, instance=instance))
        pulls = self.pulls.setdefault(context.rank, [])
        ahead = inner.simulated and not self.watched
        most = math.inf if self.horizon else _MOST_DRAWS
        one, other, place = case.values[self.side], case.values[1 - self.side], case.place
        values = {case.exchanged: other, COORDINATOR: one, case.agent: one}
        if case.grouped:
            values, place = {}, 0  # `hear` finds out whose reward is which
        value = values.get(context.rank)
        own = _Audited(inner, case.arm, place, value, ahead, pulls, most)
        self.made[context.rank] = own
        return own


def by_groups(plan: Plan) -> bool:
    """Whether rewards are added up over groups that change."""
    return isinstance(plan.parameters, AnonymousParameters | ExploreThenCommitParameters)


def exchanging(plan: Plan, case: Neighbours) -> Neighbours:
    """The case for a claim about sums: two agents exchange rewards, and nothing else differs.

    Where there are groups, both are of one; else they are the case's agent and agent 0 or 1.
    """
    if case.exchanged >= 0:
        return case
    if by_groups(plan):
        return msgspec.structs.replace(case, grouped=True)
    return msgspec.structs.replace(case, exchanged=int(case.agent == 0))


def proposed(plan: Plan) -> list[Neighbours]:
    """The data sets to try: those of the claim, and some that are bad for many systems.

    In the latter, the first reward that agent 0 gets from arm 0 differs as much as rewards can.
    """
    values = (1.0, 0.0) if plan.spec.arms.unit_interval else (FAR, 0.0)
    general = [Neighbours(levels=levels, values=values) for levels in _LEVELS]
    if plan.claim.mechanism == "aggregation":
        general = [exchanging(plan, case) for case in general]
    return [*plan.claim.worst, *general]
