"""Two data sets that differ in one reward: arms that give them, and the cases that are tried."""

import math
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from posse.arms import Arms, ArmsContext, ArmsSpec, LabMeans
from posse.arms.base import pieces, which_open
from posse.arms.gaussian import Gaussian
from posse.arms.live import rehearsed
from posse.errors import RunFailed
from posse.gates.decode import unpacked
from posse.plan import Plan
from posse.protocol.arrays import BoolArray, FloatArray
from posse.protocol.machine import COORDINATOR
from posse.protocol.privacy import Neighbours
from posse.protocol.wire import HEADER
from posse.seeds import Purpose, generator
from posse.system.reading import MessageReader

FAR = 1e6
"""The replacement for a reward where rewards have no bound."""

_MOST_DRAWS = 500_000
"""Draws allowed to one agent in a run without a horizon: on some data such a run never ends."""

_ASKING = 100
"""Each request for rewards or a total counts as at least this many draws: it takes as long."""

_LEVELS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
"""Constant rewards around the one that differs: its own arm's, and all other arms'."""


class TooLong(RunFailed):
    """A run on an audit's rewards goes far beyond what is looked at."""


@dataclass
class _Replaced:
    """Arms with one reward replaced by `value`, number `place` of `arm`; None: with none so far.

    `pulls` lists arm and times of each draw, in order. Raises `TooLong` after more than `most`
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
        return np.array([sum(self._draw(arm, n).sum() for n in pieces(times)) for arm in arms])

    def _note(self, arms: tuple[int, ...], times: int, draws: int) -> None:
        self.draws += draws
        if self.draws > self.most:
            raise TooLong(f"on such rewards the run does not end within {self.most:,} draws")
        self.pulls += [(arm, times) for arm in arms]

    def remaining(self, arm: int) -> int | None:
        return self.inner.remaining(arm)

    def open(self, slot: int) -> BoolArray:
        """See `Arms`."""
        return which_open(self.inner, slot)

    def _draw(self, arm: int, count: int) -> FloatArray:
        rewards = self.inner.draw(arm, count)
        if arm == self.arm and self.value is not None:
            index = self.place - self.used
            self.used += count
            if 0 <= index < len(rewards):
                rewards = rewards.copy()
                rewards[index] = self.value
        return rewards


def order(run: int, arms: int) -> tuple[int, ...]:
    """The order of the run file's arms in a run without a case: entry k stands at place k."""
    return tuple(np.random.default_rng(run).permutation(arms).tolist())


@dataclass
class AuditedArms:
    """The arms of one run on data set `side`; `pulls` lists what each agent pulled, by rank.

    Without a case they are those of the run file, which gives one list of means, in an order drawn
    for the run. With `watched`, pulls are part of the view, so rewards are drawn one by one as they
    are used. `horizon` says whether the run ends whatever its rewards are.
    """

    case: Neighbours | None
    side: int
    watched: bool
    horizon: bool
    pulls: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    made: dict[int, _Replaced] = field(default_factory=dict)
    paired: bool = False
    reader: MessageReader = field(default_factory=lambda: MessageReader((), None, None))

    def hear(self, frame: bytes) -> None:
        """Find out who exchanges rewards: the case's agent, and the next one of its first group.

        All members of a group play one arm in the same rounds, and none is left out of the first of
        these. So the first rewards of both are in one sum.
        """
        case = self.case
        if case is None or not case.grouped or self.paired:
            return
        kind, *fields = unpacked(frame[HEADER.size :])
        message = self.reader.decode(kind, fields)
        group = None if message is None else self.reader.group(message)
        if group is not None and case.agent in group.members:
            after = group.members[(group.members.index(case.agent) + 1) % len(group.members)]
            for rank, side in ((case.agent, self.side), (after, 1 - self.side)):
                self.made[rank].arm, self.made[rank].value = group.arm, case.values[side]
            self.paired = True

    def arms(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """See `Sources.arms`."""
        # these are not the run file's arms, whose means the run has made once
        context = replace(context, once=None)
        case = self.case
        if case is None:
            assert isinstance(spec, LabMeans)
            assert isinstance(spec.means, list)
            means = [spec.means[k] for k in order(context.run, spec.arm_count())]
            return msgspec.structs.replace(spec, means=means).build(context)
        inner: Arms
        if case.levels:
            last = len(case.levels) - 1
            levels = np.array([case.levels[min(k, last)] for k in range(spec.arm_count())])
            inner = Gaussian(levels, sd=0.0, clip=None, generator=context.rewards)
        else:
            rewards = generator(context.seed, 0, context.rank, Purpose.REWARDS)

            def instance() -> np.random.Generator:
                return generator(context.seed, 0, COORDINATOR, Purpose.INSTANCE)

            again = replace(context, run=0, rewards=rewards, instance=instance)
            inner = rehearsed(spec, again)
        pulls = self.pulls.setdefault(context.rank, [])
        ahead = inner.simulated and not self.watched
        most = math.inf if self.horizon else _MOST_DRAWS
        ours, neighbour, place = case.values[self.side], case.values[1 - self.side], case.place
        values = {case.exchanged: neighbour, COORDINATOR: ours, case.agent: ours}
        if case.grouped:
            values, place = {}, 0  # `hear` finds out whose reward is which
        value = values.get(context.rank)
        own = _Replaced(inner, case.arm, place, value, ahead, pulls, most)
        self.made[context.rank] = own
        return own


def exchange_rewards(plan: Plan, case: Neighbours) -> Neighbours:
    """The case for a claim about sums: two agents exchange rewards, and nothing else differs.

    Where there are groups, both are of one; else they are the case's agent and agent 0 or 1.
    """
    if case.exchanged >= 0:
        return case
    if plan.system.reader.grouped:
        return msgspec.structs.replace(case, grouped=True)
    return msgspec.structs.replace(case, exchanged=int(case.agent == 0))


def propose_cases(plan: Plan) -> list[Neighbours]:
    """The data sets to try: those of the claim, and some that are bad for many systems.

    In the latter, the first reward that agent 0 gets from arm 0 differs as much as rewards can.
    """
    values = (1.0, 0.0) if plan.spec.arms.unit_interval else (FAR, 0.0)
    general = [Neighbours(levels=levels, values=values) for levels in _LEVELS]
    if plan.claim.mechanism == "aggregation":
        general = [exchange_rewards(plan, case) for case in general]
    return [*plan.claim.worst, *general]
