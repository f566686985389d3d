"""The players of time-division fair sharing (Tossou and Dimitrakakis 2015).

A player learns from its arm's sample, which it sees even if it collided. It never learns from its
payoff: a collision would count as a reward of 0 and bias the mean. Statistics are pooled over all
ranks that the player targeted ("total number of times").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from posse.seam.machines import (
    COORDINATOR,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    Disclose,
    Note,
    Received,
    Send,
    Started,
)
from posse.seam.messages import RemoteProtocolError, Variant
from posse.seam.noise import HybridSums, Release, TreeSums
from posse.seam.results import Estimate, counted_privately
from posse_systems.tossou2015.messages import (
    Choice,
    OffsetRow,
    Outcome,
    deviation_factor,
    first_arm,
    privacy_factor,
    privacy_weight,
    target_rank,
)

AHEAD = 1024
"""Arms that a random player draws at once."""

_NOTHING: list[Release] = []

ContinualCounter = HybridSums | TreeSums
"""Private running sums of one or several streams of rewards on one clock t."""


@dataclass(slots=True)
class Ucb:
    """The index of TDFS-UCB, s_a / n_a + sqrt(2 log t / n_a), and the statistics it needs.

    `mean` and `width` = 1/sqrt(n_a) change for only one arm per slot, so they are kept. They are
    lists, because for some ten arms numpy costs more than it saves.
    """

    arms: int
    n: list[int] = field(init=False)
    s: list[float] = field(init=False)
    mean: list[float] = field(init=False)
    width: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.n = [0] * self.arms
        self.s = [0.0] * self.arms
        self.mean = [0.0] * self.arms
        self.width = [math.inf] * self.arms

    def observe(self, arm: int, sample: float) -> list[Release]:
        """Learn one more sample of one arm; returns the noisy releases that this begins."""
        n = self.n[arm] + 1
        s = self.s[arm] + sample
        self.n[arm], self.s[arm] = n, s
        self.mean[arm], self.width[arm] = s / n, 1 / math.sqrt(n)
        return _NOTHING

    def estimates(self) -> list[Estimate]:
        """What may be told of each arm; nothing, as the sums are not private."""
        return []

    def value(self, slot: int) -> list[float]:
        """The index of each arm in `slot`; infinite for an arm not seen yet."""
        weight = math.sqrt(2 * math.log(slot))
        width = self.width
        return [m + weight * width[a] for a, m in enumerate(self.mean)]


@dataclass(slots=True)
class UcbPrivateBound(Ucb):
    """UCB-Private-Bound: s_a from a counter with clock n_a, and a term for the counter's error.

    s_a / n_a + sqrt(2 log t / n_a) + (4 log t / ε) f(n_a)

    `sums` has a counter of one stream for each arm. With the hybrid mechanism, that of the paper,
    f is `privacy_factor`, on a tree `deviation_factor`.
    """

    epsilon: float
    variant: Variant
    sums: Sequence[ContinualCounter]
    factors: list[float] = field(init=False)

    def __post_init__(self) -> None:
        Ucb.__post_init__(self)
        self.factors = [0.0] * self.arms

    def observe(self, arm: int, sample: float) -> list[Release]:
        counter = self.sums[arm]
        total = counter.insert(0, sample).item()
        n = counter.t
        self.mean[arm], self.width[arm] = total / n, 1 / math.sqrt(n)
        if isinstance(counter, TreeSums):
            self.factors[arm] = deviation_factor(counter.deviation, self.epsilon, n)
        else:
            self.factors[arm] = privacy_factor(n, self.variant)
        return releases_of(arm, counter)

    def estimates(self) -> list[Estimate]:
        """The noisy means, which spend nothing more."""
        return [
            noisy_estimate(a, self.mean[a], counter.t, self.arms, counter)
            for a, counter in enumerate(self.sums)
            if counter.t
        ]

    def value(self, slot: int) -> list[float]:
        weight = privacy_weight(slot, self.epsilon)
        factors = self.factors
        return [u + weight * factors[a] for a, u in enumerate(Ucb.value(self, slot))]


@dataclass(slots=True)
class UcbPrivate(Ucb):
    """UCB-Private: in each slot the sample enters its arm's counter, and 0 enters all others.

    The counters' clock is t, but n_a counts real pulls only. The index has no privacy term:
    s_a / n_a + sqrt(2 log t / n_a), `share` = 1/n_a. `sums` has a stream for each arm. Section 3.3
    calls the noise of all arms the same: it is in the sums, and n times as small in the means.
    """

    sums: ContinualCounter
    share: list[float] = field(init=False)

    def __post_init__(self) -> None:
        Ucb.__post_init__(self)
        self.share = [0.0] * self.arms

    def observe(self, arm: int, sample: float) -> list[Release]:
        self.s = self.sums.insert(arm, sample).tolist()
        n = self.n[arm] + 1
        self.n[arm], self.share[arm], self.width[arm] = n, 1 / n, 1 / math.sqrt(n)
        return self.sums.new_releases()

    def estimates(self) -> list[Estimate]:
        """The noisy sums by the numbers of pulls, which spend nothing more."""
        return [
            noisy_estimate(a, self.s[a] / n, n, self.arms, self.sums)
            for a, n in enumerate(self.n)
            if n
        ]

    def value(self, slot: int) -> list[float]:
        weight = math.sqrt(2 * math.log(slot))
        s, share = self.s, self.share  # means are not kept: in each slot all would change
        return [s[a] * share[a] + weight * w for a, w in enumerate(self.width)]


def releases_of(arm: int, counter: ContinualCounter) -> list[Release]:
    """The releases that the last sample of an arm began in its counter."""
    return [
        msgspec.structs.replace(release, block=f"arm {arm}, {release.block}")
        for release in counter.new_releases()
    ]


def noisy_estimate(arm: int, mean: float, n: int, arms: int, counter: ContinualCounter) -> Estimate:
    """What may be told of an arm of which this counter has the sum."""
    spread, largest = counter.noise_scales
    return counted_privately(arm, mean, n, arms, look=counter.t, spread=spread, largest=largest)


def find_ranked(index: list[float], j: int) -> int:
    """The arm with the j-th largest index, j from 1; equal indices rank in the order of arms."""
    if j == 1:
        return index.index(max(index))
    falling = sorted(index, reverse=True)
    value = falling[j - 1]
    arm = index.index(value)
    for _ in range(falling.index(value), j - 1):
        arm = index.index(value, arm + 1)
    return arm


def _check_outcome(event: AgentEvent, slot: int) -> Outcome:
    """The medium's answer to the choice of `slot`, checked."""
    if type(event) is not Received:
        raise RemoteProtocolError("out-of-turn", type(event).__name__)
    outcome = event.message
    if event.sender != COORDINATOR or not isinstance(outcome, Outcome):
        raise RemoteProtocolError("out-of-turn", type(outcome).__name__)
    if outcome.slot != slot:
        raise RemoteProtocolError("out-of-turn", f"slot {outcome.slot} in slot {slot}")
    if not math.isfinite(outcome.sample):
        raise RemoteProtocolError("not-finite", "a sample is NaN or infinite")
    return outcome


@dataclass(slots=True)
class TdfsPlayer:
    """Time-division fair sharing: in slot t pull the arm ranked j-th, j = target_rank(t, o, M).

    In slots t <= N the player sweeps all arms, starting by its offset, so that players with
    different offsets never meet. Afterwards it ranks all N arms by their index. With agreed offsets
    no player reacts to a collision.

    Without an `offset` (0) the player draws one at random, and again after each round of M slots in
    which it collided (Liu and Zhao 2010, section V on dropping the pre-agreement). An arm that it
    has not seen by t = N has an infinite index.
    """

    players: int
    arms: int
    horizon: int
    index: Ucb
    offset: int = 0
    draws: np.random.Generator | None = None
    slot: int = 1
    arm: int = 0
    collided: bool = False

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Choose the first arm at `Started`, and the next at each of the medium's answers."""
        if type(event) is Started:
            return [self._choose()] if self.offset else [self._draw_offset(), self._choose()]
        outcome = _check_outcome(event, self.slot)
        effects: list[AgentEffect] = []
        if releases := self.index.observe(self.arm, outcome.sample):
            effects += map(Disclose, releases)
        if self.draws is not None:
            self.collided |= outcome.collided
            if self.slot % self.players == 0:
                if self.collided:
                    effects.append(self._draw_offset())
                self.collided = False
        self.slot += 1
        if self.slot <= self.horizon:
            effects.append(self._choose())
        else:
            effects += map(Note, self.index.estimates())
        return effects

    def _choose(self) -> Send:
        slot = self.slot
        if slot <= self.arms:
            self.arm = first_arm(slot, self.offset, self.arms)
        else:
            j = target_rank(slot, self.offset, self.players)
            self.arm = find_ranked(self.index.value(slot), j)
        return Send(COORDINATOR, Choice(slot, self.arm))

    def _draw_offset(self) -> Note:
        assert self.draws is not None
        self.offset = int(self.draws.integers(1, self.players + 1))
        return Note(OffsetRow(self.offset))


@dataclass(slots=True)
class RandomPlayer:
    """Pulls a uniformly random arm in each slot and learns nothing."""

    arms: int
    horizon: int
    draws: np.random.Generator
    slot: int = 1
    ahead: list[int] = field(default_factory=list)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Choose an arm at `Started` and at each of the medium's answers."""
        if type(event) is not Started:
            _check_outcome(event, self.slot)
            self.slot += 1
        if self.slot > self.horizon:
            return []
        if not self.ahead:
            self.ahead = self.draws.integers(self.arms, size=AHEAD).tolist()
        return [Send(COORDINATOR, Choice(self.slot, self.ahead.pop()))]
