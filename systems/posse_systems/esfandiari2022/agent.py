"""The agents of anonymous bandits (Esfandiari, Mirrokni and Schneider 2022)."""

import math
from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import (
    COORDINATOR,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Finish,
    Note,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse.seam.masking import (
    WORD_BITS,
    Keys,
    Masker,
    PublicKey,
    Question,
    Words,
    pack_words,
    unpack_words,
)
from posse.seam.messages import FloatArray, LocalProtocolError, RemoteProtocolError
from posse_systems.esfandiari2022.messages import (
    Aggregation,
    Assign,
    Commit,
    Forwarded,
    PlayedUngrouped,
    RewardRow,
    Sealed,
    Sums,
    largest_sum,
    schedule_length,
    to_words,
)

REWARD_POINTS = 200

AT_ONCE = 1 << 20
"""Rewards that are drawn at once, as assignments have any number of copies."""


@dataclass(slots=True)
class Earnings:
    """The agent's total reward so far, noted at about 200 points of the horizon (lab only)."""

    horizon: int
    total: float = 0.0
    noted: int = 0

    def add(self, amount: float, played: int) -> list[AgentEffect]:
        """Add `amount`, earned since the last call; `played` rounds are over."""
        self.total += amount
        mark = played * REWARD_POINTS // self.horizon
        if mark == self.noted:
            return []
        self.noted = mark
        return [Note(RewardRow(played, self.total))]


@dataclass(slots=True)
class AnonymousPlayer(AgentMachine):
    """A user: plays π(i) in all 2C + 2 rounds of every assignment and reports within its group.

    The report has one word per round of the schedule, 0 for the round that leaves the user out.
    `masked`: the user masks it (`posse.agent.masking`). `sink`: the user seals it for the group's
    first member, who adds up all reports and sends on the sums.
    """

    rank: int
    arms: int
    horizon: int
    precision: int
    aggregation: Aggregation
    masker: Masker
    earnings: Earnings
    played: int = 0
    order: Assign | None = None
    playing: bool = False
    left: int = 0
    """Copies of the assignment's schedule that are still to be played."""
    words: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    """The sum of those that were."""
    committed: Commit | None = None
    reports: dict[int, Words] = field(default_factory=dict)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                return [Send(COORDINATOR, PublicKey(self.masker.public))]
            case Pulled(_, times, sums, rewards):
                return self._finish_playing(times, sums, rewards)
            case Received(sender, message) if sender == COORDINATOR:
                match message:
                    case Keys(keys) if not self.masker.keys:
                        self.masker.take_keys(keys)
                        return []
                    case Assign() if not self.playing:
                        return self._begin(message)
                    case _ if isinstance(message, Question):
                        return self._answer(message)
                    case Forwarded() if self.aggregation == "sink":
                        return self._collect(message)
                    case Commit() if not self.playing:
                        return self._commit(message)
            case _:
                pass
        message_name = type(event.message if isinstance(event, Received) else event).__name__
        raise RemoteProtocolError("out-of-turn", message_name)

    def _answer(self, asked: Question) -> AgentEffects:
        if self.aggregation != "masked":
            raise RemoteProtocolError("out-of-turn", type(asked).__name__)
        return [Send(COORDINATOR, self.masker.answer(asked, self._width))]

    @property
    def _width(self) -> int:
        return schedule_length(self.masker.group_size)

    def _begin(self, order: Assign) -> AgentEffects:
        if order.arm >= self.arms:
            raise RemoteProtocolError("no-such-arm", str(order.arm))
        rounds = order.copies * self._width
        if self.played + rounds > self.horizon:
            raise RemoteProtocolError("past-horizon", f"{rounds} rounds after {self.played}")
        if largest_sum(self.masker.group_size, order.copies, self.precision) >> WORD_BITS:
            raise RemoteProtocolError("overflow", f"{order.copies} copies")
        self.masker.begin(order.number, order.group)
        self.order, self.playing = order, True
        self.reports = {}
        self.left, self.words = order.copies, np.zeros(self._width, dtype=np.uint64)
        return [self._next(order)]

    def _next(self, order: Assign) -> Pull:
        """The next of the assignment's copies."""
        copies = min(self.left, max(1, AT_ONCE // self._width))
        self.left -= copies
        return Pull((order.arm,), copies * self._width, each=True)

    def _commit(self, order: Commit) -> AgentEffects:
        if order.arm >= self.arms:
            raise RemoteProtocolError("no-such-arm", str(order.arm))
        if self.played + order.rounds > self.horizon:
            raise RemoteProtocolError("past-horizon", f"{order.rounds} after {self.played}")
        if not order.rounds:
            return [Finish("done", order.arm)]
        self.committed, self.playing = order, True
        return [Pull((order.arm,), order.rounds)]

    def _finish_playing(
        self, times: int, sums: FloatArray, rewards: FloatArray | None
    ) -> AgentEffects:
        self.played += times
        noted = self.earnings.add(float(sums[0]), self.played)
        if self.committed is not None:
            return [*noted, Finish("done", self.committed.arm)]
        order = self.order
        if order is None or rewards is None:
            raise LocalProtocolError("it was given rewards that it did not order")
        if order.group:
            if rewards.min() < 0 or rewards.max() > 1:
                raise LocalProtocolError("a masked reward must lie in [0, 1]")
            words = to_words(rewards.reshape(-1, self._width), self.precision)
            self.words += words.sum(axis=0, dtype=np.uint64)
        if self.left:
            return [*noted, self._next(order)]
        self.playing = False
        if not order.group:
            return [*noted, Send(COORDINATOR, PlayedUngrouped(order.number))]
        self.words[1 + order.group.index(self.rank)] = 0
        return [*noted, *self._report(order, self.words)]

    def _report(self, order: Assign, words: Words) -> list[AgentEffect]:
        number, group = order.number, order.group
        if self.aggregation == "masked":
            return [Send(COORDINATOR, self.masker.make_report(number, words))]
        if group[0] != self.rank:
            box = self.masker.seal(number, group, pack_words(words))
            return [Send(COORDINATOR, Sealed(number, box))]
        self.reports[self.rank] = words
        return [Send(COORDINATOR, PlayedUngrouped(number)), *self._pass_on(order)]

    def _collect(self, forwarded: Forwarded) -> AgentEffects:
        """`sink`: take another member's report."""
        number, sender = forwarded.number, forwarded.sender
        order = self.order
        if order is None or order.number != number or order.group[:1] != (self.rank,):
            raise RemoteProtocolError("out-of-turn", f"a report of assignment {number}")
        if sender not in order.group or sender in self.reports or sender == self.rank:
            raise RemoteProtocolError("wrong-member", f"agent {sender}")
        report = self.masker.open(number, order.group, sender, forwarded.box)
        self.reports[sender] = unpack_words(report, self._width)
        return self._pass_on(order)

    def _pass_on(self, order: Assign) -> list[AgentEffect]:
        if len(self.reports) < len(order.group):
            return []
        sums = np.zeros(self._width, dtype=np.uint64)
        for words in self.reports.values():
            sums += words
        return [Send(COORDINATOR, Sums(order.number, pack_words(sums)))]


@dataclass(slots=True)
class ParallelUcb(AgentMachine):
    """UCB1 (Auer et al. 2002): each arm once, then the largest μ̂_k + sqrt(2 log t) / sqrt(n_k).

    t is the number of pulls so far. Ties are broken at random.
    """

    arms: int
    horizon: int
    ties: np.random.Generator
    earnings: Earnings
    t: int = 0
    sums: FloatArray = field(init=False)
    counts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.sums, self.counts = np.zeros((2, self.arms))

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                return [Pull((0,), 1)]
            case Pulled((arm,), _, rewards):
                self.sums[arm] += rewards[0]
                self.counts[arm] += 1
                self.t += 1
                noted = self.earnings.add(float(rewards[0]), self.t)
                if self.t == self.horizon:
                    means = self.sums / np.maximum(self.counts, 1)
                    return [*noted, Finish("done", int(means.argmax()))]
                return [*noted, Pull((self._choose(),), 1)]
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _choose(self) -> int:
        if self.t < self.arms:
            return self.t
        bonus = math.sqrt(2 * math.log(self.t)) * (1 / np.sqrt(self.counts))
        index = self.sums / self.counts + bonus
        leaders = np.flatnonzero(index == index.max())
        return int(leaders[0] if len(leaders) == 1 else leaders[self.ties.integers(len(leaders))])
