"""All users of a run at once, equal to their machines: in groups, and with UCB1 alone.

The server's machine is the real one.
"""

import math
from collections.abc import Sequence

import numpy as np

from posse.seam.machines import Send, ServerEffects
from posse.seam.masking import TAG_BYTES, Keys, Masked, PublicKey, Unmask, Unmasked, Words
from posse.seam.messages import FloatArray, IntArray, Message
from posse.seam.steps import Crowd, Declined, ManyRuns, RunStep, Steps, Ties
from posse_systems.esfandiari2022.agent import AT_ONCE, REWARD_POINTS
from posse_systems.esfandiari2022.groups import AssignmentRound
from posse_systems.esfandiari2022.messages import (
    Assign,
    Commit,
    Forwarded,
    PlayedUngrouped,
    RewardRow,
    Sealed,
    Sums,
    schedule_length,
    to_words,
)

_KEY = bytes(32)


class AnonymousStep(RunStep):
    """`AnonymousPlayer` of every user; groups that can do without some are declined."""

    def __init__(self, series: ManyRuns) -> None:
        self.p, self.width = series.parameters, schedule_length(series.parameters.formed_size)
        if self.p.dropouts:
            raise Declined

    def carry_out(self, crowd: Crowd) -> Sequence[int]:
        self.crowd, server = crowd, crowd.server
        self.total, self.noted = np.zeros(crowd.agents), 0
        crowd.say(PublicKey(_KEY))
        crowd.told(Keys(dict.fromkeys(range(crowd.agents), _KEY)))
        effects = server.proceed()
        while current := server.current:
            arms = self.ordered(effects)
            words = self.play(arms, current.copies)
            self.count(current)
            effects = server.summed([_add_up(words[list(g.members)]) for g in current.groups])
        arms = self.ordered(effects)
        if rounds := self.p.horizon - crowd.slot:
            self.earn(crowd.pull(arms, rounds)[:, 0])
        answers: list[int] = arms.tolist()
        return answers

    def ordered(self, effects: ServerEffects) -> IntArray:
        """Carry out what the server answers; the arm that it orders each user to play."""
        arms, ranks = np.zeros(self.crowd.agents, dtype=np.int64), dict[Message, list[int]]()
        for effect in effects:
            if isinstance(effect, Send):
                ranks.setdefault(effect.message, []).append(effect.to)
        for order, users in ranks.items():
            assert isinstance(order, Assign | Commit)
            self.crowd.told(order, users)
            arms[users] = order.arm
        self.crowd.decided([effect for effect in effects if not isinstance(effect, Send)])
        return arms

    def play(self, arms: IntArray, copies: int) -> Words:
        """Let each user play its arm; its sums over the copies by round, shape (N, 2C + 2)."""
        words = np.zeros((self.crowd.agents, self.width), dtype=np.uint64)

        def take(ranks: slice, rewards: FloatArray) -> None:
            if rewards.min() < 0 or rewards.max() > 1:
                raise Declined
            of_rounds = to_words(rewards.reshape(len(rewards), -1, self.width), self.p.precision)
            words[ranks] += of_rounds.sum(axis=1, dtype=np.uint64)

        while copies:
            now = min(copies, max(1, AT_ONCE // self.width))
            copies -= now
            self.earn(self.crowd.draw(arms, now * self.width, take))
        return words

    def earn(self, rewards: FloatArray) -> None:
        """Note what users have earned in all, after these sums; see `Earnings`."""
        self.total += rewards
        played = self.crowd.slot
        mark = played * REWARD_POINTS // self.p.horizon
        if mark != self.noted:
            self.noted = mark
            self.crowd.note(*(RewardRow(played, total) for total in self.total.tolist()))

    def count(self, current: AssignmentRound) -> None:
        """Count the messages by which sums get to the server."""
        crowd, number, report = self.crowd, current.number, bytes(8 * self.width)
        grouped = [user for group in current.groups for user in group.members]
        alone = sorted(current.unanswered.difference(grouped))
        if self.p.aggregation == "masked":
            crowd.say(Masked(number, report), grouped)
            crowd.told(Unmask(number), grouped)
            crowd.say(Unmasked(number, _KEY), grouped)
        else:
            box, firsts = report + bytes(TAG_BYTES), [g.members[0] for g in current.groups]
            alone += firsts
            crowd.say(Sealed(number, box), [n for g in current.groups for n in g.members[1:]])
            for group in current.groups:
                for sender in group.members[1:]:
                    crowd.told(Forwarded(number, sender, box), group.members[:1])
            crowd.say(Sums(number, report), firsts)
        crowd.say(PlayedUngrouped(number), alone)


def _add_up(words: Words) -> Words:
    """The sums over a group in its order, whose s-th member is left out of round s."""
    steps = np.arange(len(words))
    words[steps, 1 + steps] = 0
    total: Words = words.sum(axis=0, dtype=np.uint64)
    return total


class ParallelSteps(Steps):
    """`ParallelUcb` of every row; `sums` and `counts` have shape (rows, K)."""

    def __init__(self, series: ManyRuns) -> None:
        self.slots, self.arms = series.parameters.horizon, series.arms
        self.ties, shape = Ties(series), (series.rows, series.arms)
        self.sums, self.counts, self.means = np.zeros((3, *shape))
        self.widths = np.zeros(shape)
        self.first = np.arange(series.rows) * series.arms
        self.total, self.noted = np.zeros(series.rows), 0
        self.earned: list[tuple[int, list[float]]] = []

    def choose(self, t: int) -> IntArray:
        if t <= self.arms:
            return np.full(len(self.first), t - 1)
        return self.ties.argmax(self.means + math.sqrt(2 * math.log(t - 1)) * self.widths)

    def learn(self, t: int, arms: IntArray, rewards: FloatArray) -> None:
        pulled = self.first + arms
        self.counts.ravel()[pulled] += 1
        self.sums.ravel()[pulled] += rewards
        n = self.counts.ravel()[pulled]
        self.means.ravel()[pulled] = self.sums.ravel()[pulled] / n
        self.widths.ravel()[pulled] = 1 / np.sqrt(n)
        self.total += rewards
        mark = t * REWARD_POINTS // self.slots
        if mark != self.noted:
            self.noted = mark
            self.earned.append((t, self.total.tolist()))

    def answers(self) -> list[int]:
        best: list[int] = (self.sums / np.maximum(self.counts, 1)).argmax(axis=1).tolist()
        return best

    def notes(self, row: int) -> list[RewardRow]:
        return [RewardRow(t, totals[row]) for t, totals in self.earned]
