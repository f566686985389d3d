"""All agents of one run of MASE or Corrupted Elimination at once, equal to their machines."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from posse.seam.messages import FloatArray
from posse.seam.steps import LOOK_AHEAD, Declined, ManyRuns
from posse_systems.rio2023.agent import NEAR, compute_radii
from posse_systems.rio2023.messages import (
    CorruptedParameters,
    eliminable,
    local_failure,
    successive_elimination_radius,
)
from posse_systems.rio2023.steps import VoteStep

_AHEAD, _MOST = LOOK_AHEAD
_TOGETHER = 256
"""Agents whose next tests are found together."""

_NEXT = np.arange(NEAR)

_MOST_RADII = 1 << 20
"""The most that are kept, in 8 MB."""


class MaseStep(VoteStep):
    """`MaseVoter` of every agent, if arms that the coordinator eliminates leave L_n at once."""

    def __init__(self, series: ManyRuns) -> None:
        super().__init__(series)
        self.xi = getattr(self.p, "xi", 0.0)
        self.failure = local_failure(self.p, series.arms, series.variant)
        if isinstance(self.p, CorruptedParameters) and series.variant == "printed":
            raise Declined
        self.known: FloatArray = np.zeros(0)

    def begin(self) -> None:
        self.done: set[int] = set()
        self.t = np.zeros(self.turns.agents, dtype=np.int64)
        self.totals = np.zeros((self.turns.agents, self.arms))
        self.explore(range(self.turns.agents))

    def explore(self, ranks: Iterable[int]) -> None:
        """Order these agents to explore L_n until their next test that finds an arm to drop."""
        by_local = defaultdict[tuple[int, ...], list[int]](list)
        for rank in ranks:
            by_local[self.local[rank]].append(rank)
        for local, same in by_local.items():
            for first in range(0, len(same), _TOGETHER):
                part = same[first : first + _TOGETHER]
                for rank, count in zip(part, self.events(local, part), strict=True):
                    self.turns.order(rank, local, count)

    def events(self, local: tuple[int, ...], ranks: list[int]) -> list[int]:
        """How many activations each of these agents has up to its next event."""
        t = self.t[ranks]
        if t.max() + NEAR > _MOST_RADII:
            return [self.far(rank, local) for rank in ranks]
        near = np.stack([self.turns.peek(rank, local, _AHEAD)[:, :NEAR] for rank in ranks])
        means = self.totals[ranks][:, list(local), None] + near.cumsum(axis=2)
        means /= (t[:, None] + np.arange(1, NEAR + 1))[:, None]
        radii = self.radii(0, int(t.max()) + NEAR)[t[:, None] + _NEXT]
        fires = means.max(axis=1) - means.min(axis=1) >= 2 * radii
        return [
            int(first) + 1 if found else self.far(rank, local)
            for rank, first, found in zip(ranks, fires.argmax(1), fires.any(1), strict=True)
        ]

    def far(self, rank: int, local: tuple[int, ...]) -> int:
        """The same of one agent, as far as its clock looks; what was looked at is kept."""
        ahead, seen, t = _AHEAD, 0, int(self.t[rank])
        before, sums = self.totals[rank, list(local), None], np.zeros(len(local))
        while True:
            rewards = self.turns.peek(rank, local, ahead)[:, seen:]
            rewards[:, 0] += sums
            cumulative = rewards.cumsum(axis=1)
            means = (before + cumulative) / np.arange(t + seen + 1, t + ahead + 1)
            fires = means.max(axis=0) - means.min(axis=0) >= 2 * self.radii(t + seen, ahead - seen)
            first = int(fires.argmax())
            if fires[first] or ahead == _MOST:
                return seen + first + 1 if fires[first] else ahead
            seen, ahead, sums = ahead, 2 * ahead, cumulative[:, -1]

    def radii(self, t: int, count: int) -> FloatArray:
        """The radii of the `count` samples after `t`, which are kept for all agents."""
        if t + count > _MOST_RADII:
            return compute_radii(t, count, self.arms, self.failure)
        if t + count > len(self.known):
            self.known = compute_radii(0, 2 * (t + count), self.arms, self.failure)
        return self.known[t : t + count]

    def learn(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        """Add the rewards of an agent's activations."""
        rewards = self.turns.take(rank, arms, count)
        self.totals[rank, list(arms)] += np.cumsum(rewards, axis=1)[:, -1]
        self.t[rank] += count

    def act(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        self.learn(rank, arms, count)
        t = float(self.t[rank])
        width = 2 * float(successive_elimination_radius(t, self.arms, self.failure))
        losers = eliminable(arms, self.totals[rank, list(arms)] / t, width)
        vote = losers
        if losers and self.xi:
            sent = self.noise_of(rank).bernoulli(1 - self.xi, len(losers))
            vote = tuple(k for k, nu in zip(losers, sent, strict=True) if nu)
        self.local[rank] = tuple(k for k in arms if k not in losers)
        if len(self.local[rank]) > 1:
            self.explore([rank])
        some_left_all = bool(vote) and self.vote(rank, vote)
        if len(self.local[rank]) <= 1:
            self.end(rank)
        if some_left_all:
            self.hear()

    def hear(self) -> None:
        """All agents that are not done hear which arms have left G."""
        changed = []
        for rank, local in enumerate(self.local):
            if rank in self.done:
                continue
            arms, count = self.turns.interrupt(rank)
            if count:
                self.learn(rank, arms, count)
            self.local[rank] = left = tuple(k for k in local if k not in self.dead)
            if len(left) <= 1:
                self.end(rank)
            elif left != local:
                changed.append(rank)
        self.explore(changed)

    def end(self, rank: int) -> None:
        """An agent that has one arm left, or none, is done."""
        self.done.add(rank)
        self.turns.finish(rank, self.local[rank][0] if self.local[rank] else None)
