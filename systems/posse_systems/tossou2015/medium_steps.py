"""All runs of a series of players at once, equal to the medium's machine and `RandomPlayer`."""

import numpy as np

from posse.seam.machines import COORDINATOR, Finish, Note
from posse.seam.messages import BoolArray, FloatArray, IntArray
from posse.seam.steps import Groups, GroupStep, ManyRuns, Sent, measure_payloads
from posse.seam.system import Purpose
from posse_systems.tossou2015.agent import AHEAD
from posse_systems.tossou2015.messages import (
    Choice,
    CollisionsRow,
    Outcome,
    RewardsRow,
    one_sample,
)

_TOGETHER = 4_096
"""Messages whose sizes are measured at once."""


class MediumStep(GroupStep):
    """`Medium` of every run, with players that a subclass moves, until the horizon."""

    def __init__(self, series: ManyRuns) -> None:
        self.p, self.series, self.variant = series.parameters, series, series.variant
        self.runs, self.M, self.N = len(series.runs), series.agents, series.arms
        self.shared_sample = one_sample(self.p, field=False)
        self.arms_of_run = np.repeat(np.arange(self.runs) * self.N, self.M)
        self.rewards, self.collisions = np.zeros(series.rows), np.zeros(series.rows, dtype=int)

    def carry_out(self, groups: Groups) -> None:
        self.groups, T = groups, self.p.horizon
        every = groups.server(0).every
        self.begin()
        for t in range(1, T + 1):
            arms = self.choose(t)
            samples, collided = self.play(arms)
            self.learn(t, arms, samples, collided)
            if t % every == 0 or t == T:
                self.note()
        self.end()
        self.count_messages(T)
        for place in range(self.runs):
            groups.decided(place, [Finish("horizon")])

    def begin(self) -> None:
        """What players do before the first slot."""

    def choose(self, t: int) -> IntArray:
        """The arm that each row pulls in slot t, shape (rows,)."""
        raise NotImplementedError

    def learn(self, t: int, arms: IntArray, samples: FloatArray, collided: BoolArray) -> None:
        """Take what each row sees in slot t."""

    def end(self) -> None:
        """What players do after the last slot."""

    def play(self, arms: IntArray) -> tuple[FloatArray, BoolArray]:
        """Play a slot: the sample that each row sees, and whether it collided."""
        queues = self.arms_of_run + arms
        crowds = np.bincount(queues, minlength=self.runs * self.N)
        collided: BoolArray = crowds[queues] > 1
        samples = self.deal_samples(arms, queues, crowds)
        paid = ~collided
        if self.p.collision == 1:
            paid[self.draw_winners(queues, crowds, collided)] = True
        payoffs = np.where(paid, samples, 0.0)
        self.rewards += payoffs
        self.collisions += collided
        self.groups.played(arms, payoffs, paid)
        return samples, collided

    def deal_samples(self, arms: IntArray, queues: IntArray, crowds: IntArray) -> FloatArray:
        """Pull each chosen arm, once for all or for each; arms of a run are pulled in order."""
        if self.shared_sample:
            pulled, seen = crowds.nonzero()[0], np.zeros(len(crowds))
            seen[pulled] = self.groups.pull(pulled)
            return seen[queues]
        order = arms.reshape(-1, self.M).argsort(axis=1, kind="stable")
        samples = np.zeros(len(arms))
        for rows in (order + np.arange(0, len(arms), self.M)[:, None]).T:
            samples[rows] = self.groups.pull(queues[rows])
        return samples

    def draw_winners(self, queues: IntArray, crowds: IntArray, collided: BoolArray) -> IntArray:
        """Of the rows that meet on an arm, one, for each such arm in order."""
        rows = collided.nonzero()[0]
        rows = rows[queues[rows].argsort(kind="stable")]
        met = (crowds > 1).nonzero()[0]
        sizes = crowds[met]
        drawn = [
            int(self.groups.server(place).winners.integers(size))
            for place, size in zip((met // self.N).tolist(), sizes.tolist(), strict=True)
        ]
        winners: IntArray = rows[sizes.cumsum() - sizes + np.array(drawn, dtype=int)]
        return winners

    def note(self) -> None:
        """Note each player's payoffs and collisions so far."""
        for place in range(self.runs):
            own = slice(place * self.M, (place + 1) * self.M)
            met = CollisionsRow(tuple(self.collisions[own].tolist()))
            paid = RewardsRow(tuple(self.rewards[own].tolist()))
            self.groups.decided(place, [Note(met), Note(paid)])

    def count_messages(self, T: int) -> None:
        """Count the choices and outcomes of all slots; a choice is as long as its arm's number."""
        choices = outcomes = 0
        for first in range(1, T + 1, _TOGETHER):
            slots = range(first, min(first + _TOGETHER, T + 1))
            choices += measure_payloads([Choice(t, 0) for t in slots])
            outcomes += measure_payloads([Outcome(t, 0.0, 0.0, False) for t in slots])
        sizes = np.array([measure_payloads([Choice(1, k)]) for k in range(self.N)])
        for row, more in enumerate((self.groups.pulls @ (sizes - sizes[0])).tolist()):
            self.groups.sent(row, Sent(Choice, (COORDINATOR,), T, choices + more))
        for place in range(self.runs):
            self.groups.told(place, Sent(Outcome, range(self.M), T, outcomes))


class RandomSteps(MediumStep):
    """`RandomPlayer` of every row."""

    def begin(self) -> None:
        self.draws = self.series.generators(Purpose.PROTOCOL)

    def choose(self, t: int) -> IntArray:
        at = (t - 1) % AHEAD
        if at == 0:
            ahead = [own.integers(self.N, size=AHEAD) for own in self.draws]
            self.ahead = np.array(ahead).T[::-1].copy()
        arms: IntArray = self.ahead[at]
        return arms
