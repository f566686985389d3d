"""The agents of private and byzantine-proof cooperation (Dubey and Pentland 2020).

`CooperativeAgent` goes through the slots: decide, pull, learn, send, listen. How it decides and
what it says is its learner's:

`SharedMeans`          `cooperative-ucb`, in this file
`PrivateMeans`         `private-ucb`, and `DoublingMeans` where it releases by doubling batches
`NoiseAtDestination`   `private-ucb` as Remark 2 has it, in agent/destination.py
`SharedRewards`        `byzantine-ucb`, in agent/byzantine.py

The baselines `ucb1`, `dp-ucb-int` and `adap-ucb`, who hear nobody, are in agent/lone.py.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from agent.corruption import Corruption
from agent.flooding import Faults, Flood, Mask, Records
from agent.noise import Noise
from protocol.cooperative import (
    OPTIMISM,
    Bundle,
    DuplicatesRow,
    HopsRow,
    Variant,
    confidence_bonus,
    exploration_slots,
    means_record,
    noise_scale,
)
from protocol.errors import RemoteProtocolError
from protocol.machine import (
    AgentEffect,
    AgentEffects,
    AgentEvent,
    Broadcast,
    Disclose,
    Finish,
    FloatArray,
    Note,
    Pull,
    Pulled,
    Received,
    Refuse,
    Started,
)
from protocol.privacy import Release


class Learner(Protocol):
    """What an agent makes of rewards and of messages. Slots t count from 1."""

    pulls: FloatArray
    """n_k, shape (K,)."""

    def choose(self, t: int) -> int:
        """A_t, the arm to pull."""
        ...

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """The arm's reward; what is released by it."""
        ...

    def says(self) -> Records:
        """The message of this slot, shape (1,), envelope left empty."""
        ...

    def hear(self, records: Records) -> None:
        """Messages that are new, each once."""
        ...

    def faults(self, records: Records) -> Faults:
        """What is wrong with messages: each reason and the records it holds for."""
        ...


def best(index: FloatArray, ties: np.random.Generator) -> int:
    """argmax, ties at random."""
    highest = (index == index.max()).nonzero()[0]
    return int(highest[0] if len(highest) == 1 else highest[ties.integers(len(highest))])


@dataclass(slots=True)
class CooperativeAgent:
    """One agent in lockstep with its neighbours (Algorithms 1 and 2; Algorithm 3).

    Slot t: decide by what is known, pull, learn, send the bundle of t, wait for the neighbours'
    bundles of t. No bundle is needed to decide at t = 1, and nobody waits after t = T.
    """

    horizon: int
    learner: Learner
    flood: Flood
    corruption: Corruption | None = None
    waiting: bool = False

    @property
    def awaited(self) -> int:
        """See `protocol.machine.PatientMachine`."""
        return len(self.flood.neighbours) - len(self.flood.bundles) if self.waiting else 0

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `protocol.machine.AgentMachine`."""
        match event:
            case Received(sender, Bundle() as bundle):
                self.flood.take(sender, bundle)
                return self._go_on([]) if self.waiting and self.flood.complete else ()
            case Pulled(arms, _, sums):
                effects = self.learner.learn(arms[0], float(sums[0]))
                if self.flood.neighbours:
                    effects.append(Broadcast(self._bundle()))
                return self._go_on(effects)
            case Started():
                return self._begin_slot([])
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _bundle(self) -> Bundle:
        own = self.learner.says()
        if self.corruption is not None:
            self.corruption.corrupt(own, self.flood.relayed)
        return self.flood.bundle(own)

    def _go_on(self, effects: list[AgentEffect]) -> AgentEffects:
        if self.flood.slot == self.horizon:
            return [*effects, *self._closing(), Finish("horizon", int(self.learner.pulls.argmax()))]
        self.waiting = not self.flood.complete
        if self.waiting:
            return effects
        if self.flood.neighbours:
            self.learner.hear(self.flood.merge(self.learner.faults))
            effects += [Refuse(reason, count=n) for reason, n in self.flood.refused.items()]
            self.flood.refused.clear()
        return self._begin_slot(effects)

    def _begin_slot(self, effects: list[AgentEffect]) -> AgentEffects:
        self.flood.begin_slot()
        return [*effects, Pull((self.learner.choose(self.flood.slot),), 1)]

    def _closing(self) -> list[AgentEffect]:
        """For the lab: duplicates, and messages by distance with the sum of their delays."""
        flood = self.flood
        rows = zip(flood.arrivals.tolist(), flood.delays.tolist(), strict=True)
        return [
            Note(DuplicatesRow(flood.duplicates)),
            *(Note(HopsRow(d, n, slots)) for d, (n, slots) in enumerate(rows) if n),
        ]


@dataclass(slots=True)
class SharedMeans:
    """`cooperative-ucb`: every agent sends its means and counts as they are, in each slot.

    Decides by argmax_k μ̂_k + sqrt(2 log t / N_k) with

        N_k = n_k + sum_m' n'_k,    μ̂_k = (s_k + sum_m' n'_k v'_k) / N_k

    over the latest message of every other agent m' that has a mean of arm k. An agent's own
    message is left out: Q_m contains it, and its rewards would count twice.
    """

    arms: int
    agents: int
    ties: np.random.Generator
    reward_range: tuple[float, float] | None = None
    pulls: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)
    counts: FloatArray = field(init=False)
    weighted: FloatArray = field(init=False)
    reported: FloatArray = field(init=False)
    heard: FloatArray = field(init=False)
    message: Records = field(init=False)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms)
        self.sums = np.zeros(self.arms)
        self.message = np.zeros(1, dtype=means_record(self.arms))
        self.message["means"] = np.nan
        # per origin: n', n' v' (0 where there is no mean), n' as it was sent, and when
        self.counts = np.zeros((self.agents, self.arms))
        self.weighted = np.zeros((self.agents, self.arms))
        self.reported = np.zeros((self.agents, self.arms))
        self.heard = np.zeros(self.agents)

    def choose(self, t: int) -> int:
        """See `Learner.choose`: K pulls, then the index."""
        return t - 1 if t <= self.arms else self.by_index(t)

    def by_index(self, t: int) -> int:
        """Algorithm 2, lines 6 to 8. An arm that nobody has a mean of comes first."""
        sums, pulls = self.own()
        theirs, counts = self.others()
        N = pulls + counts
        if np.count_nonzero(N) < self.arms:
            return best(-N, self.ties)
        means = (sums + theirs) / N
        return best(means + self.bonus(t, N), self.ties)

    def bonus(self, t: int, N: FloatArray) -> FloatArray:
        """What is added to the means, from the counts that they are over; shape (K,)."""
        return confidence_bonus(t, N)

    def own(self) -> tuple[FloatArray, FloatArray]:
        """s_k and n_k of the agent itself as it uses them, shape (K,) each."""
        return self.sums, self.pulls

    def others(self) -> tuple[FloatArray, FloatArray]:
        """Σ n' v' and Σ n' of all others as the agent uses them, shape (K,) each."""
        return self.weighted.sum(axis=0), self.counts.sum(axis=0)

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """See `Learner.learn`."""
        self.pulls[arm] += 1
        self.sums[arm] += reward
        self.message["means"][0, arm] = self.sums[arm] / self.pulls[arm]
        self.message["counts"][0, arm] = self.pulls[arm]
        return []

    def says(self) -> Records:
        """See `Learner.says`."""
        return self.message

    def hear(self, records: Records) -> None:
        """See `Learner.hear`."""
        origin = records["origin"]
        counts = records["counts"].astype(float)
        weighted = counts * records["means"]
        none = np.isnan(weighted)
        self.reported[origin] = counts
        self.heard[origin] = records["created"]
        if np.count_nonzero(none):
            counts = np.where(none, 0.0, counts)
            weighted = np.where(none, 0.0, weighted)
        self.counts[origin] = counts
        self.weighted[origin] = weighted

    def faults(self, records: Records) -> Faults:
        """See `Learner.faults`."""
        means, counts, created = records["means"], records["counts"], records["created"]
        if self.reward_range is None:
            if np.count_nonzero(infinite := np.isinf(means)):
                yield "not-finite", _any_arm(infinite)
        else:
            low, high = self.reward_range
            if np.count_nonzero(outside := (means < low) | (means > high)):
                yield "not-finite", _any_arm(np.isinf(means))
                yield "out-of-range", _any_arm(outside)
        origin = records["origin"]
        if np.count_nonzero(fewer := counts < self.reported[origin]):
            # a message that took another way may be older than what is known, and is then dropped
            newer: Mask = created > self.heard[origin]
            yield "counts-go-down", newer & _any_arm(fewer)
        above: Mask = counts.sum(axis=1, dtype=np.int64) > created
        yield "counts-above-time", above


def _any_arm(wrong: Mask) -> Mask:
    """Messages for which something holds of any of their arms; `wrong` has shape (messages, K)."""
    messages: Mask = np.logical_or.reduce(wrong, axis=1)
    return messages


@dataclass(slots=True)
class PrivateMeans(SharedMeans):
    """`private-ucb`: means with Laplace noise, released at W_1, W_2, … pulls of the arm.

    At n_k = W_i the mean s_k/n_k + Lap(n_k^(v/2 - 1)) is released; until the next release it is
    sent again in each slot, without a new cost.

    `corrected`: the agent itself decides by what it has released, and sends the count at the
    release; its pulls are then post-processing of the releases. `printed`: it decides by its raw
    sums, which its pulls then give away, and sends the current count with the released mean.
    """

    epsilon: float = 1.0
    v: float = 1.1
    variant: Variant = "corrected"
    noise: Noise | None = None
    releases: tuple[int, ...] = ()
    next_release: list[int] = field(init=False)
    released_sums: FloatArray = field(init=False)
    released_counts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        SharedMeans.__post_init__(self)
        self.next_release = [0] * self.arms
        self.released_sums = np.zeros(self.arms)
        self.released_counts = np.zeros(self.arms)

    def choose(self, t: int) -> int:
        """See `Learner.choose`: arms in turn for K ⌈1/ε⌉ slots, then the index.

        The print's A = t mod K numbers arms from 0; `corrected` begins with the first arm.
        """
        if t <= exploration_slots(self.arms, self.epsilon):
            return (t - 1) % self.arms if self.variant == "corrected" else t % self.arms
        return self.by_index(t)

    def own(self) -> tuple[FloatArray, FloatArray]:
        """See `SharedMeans.own`."""
        if self.variant == "printed":
            return self.sums, self.pulls
        return self.released_sums, self.released_counts

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        """See `Learner.learn`."""
        self.pulls[arm] += 1
        self.sums[arm] += reward
        n = int(self.pulls[arm])
        if self.variant == "printed":
            self.message["counts"][0, arm] = n
        index = self.next_release[arm]
        if index == len(self.releases) or n != self.releases[index]:
            return []
        self.next_release[arm] += 1
        return self.release(arm, n)

    def release(self, arm: int, n: int) -> list[AgentEffect]:
        """The arm's mean after n = W_i pulls goes into the message, once."""
        assert self.noise is not None
        scale = noise_scale(n, self.v)
        mean = float(self.noise.noisy(self.sums[arm : arm + 1] / n, 1 / n, scale)[0])
        self.released_sums[arm] = n * mean
        self.released_counts[arm] = n
        self.message["means"][0, arm] = mean
        self.message["counts"][0, arm] = n
        return [Disclose(mean_release(arm, n, self.v))]


@dataclass(slots=True)
class DoublingMeans(PrivateMeans):
    """`private-ucb` with `releases = "doubling"`: batches that double, disjoint, each noised once.

    At n_k = 1, 2, 4, 8, … pulls of an arm the mean over those since the release before is released
    with Lap(1/(ε n)) for its n = max(1, n_k / 2) rewards, and what was before is forgotten (Sajed
    and Sheffet, "An optimal private stochastic-MAB algorithm based on optimal private stopping
    rule", ICML 2019; Azize and Basu 2022). A reward is in one release, so that all of them cost ε.

    The estimate of an arm from m such means has the noise of m numbers of scale 1/(ε N_k), which
    Lemma 3.4's noise has no term for; to the index is added, as AdaP-UCB does for m = 1,

        α sqrt(m) log t / (ε N_k),

    which that noise exceeds with probability at most t^-α. `sums` are over the batch under way.
    """

    def bonus(self, t: int, N: FloatArray) -> FloatArray:
        """See `SharedMeans.bonus`."""
        m = (self.released_counts > 0) + np.count_nonzero(self.counts, axis=0)
        private: FloatArray = OPTIMISM * math.log(t) * np.sqrt(m) / (self.epsilon * N)
        return confidence_bonus(t, N) + private

    def release(self, arm: int, n: int) -> list[AgentEffect]:
        """See `PrivateMeans.release`: the mean since the release before."""
        assert self.noise is not None
        size = max(1, n // 2)
        release = batch_release(arm, n, size, self.epsilon)
        batch = self.sums[arm : arm + 1] / size
        mean = float(self.noise.noisy(batch, release.sensitivity, release.scale)[0])
        self.sums[arm] = 0.0
        self.released_sums[arm] = size * mean
        self.released_counts[arm] = size
        self.message["means"][0, arm] = mean
        self.message["counts"][0, arm] = size
        return [Disclose(release)]


def batch_release(arm: int, last: int, size: int, epsilon: float) -> Release:
    """The ledger's entry for the mean of an arm's `size` rewards up to its pull `last`.

    One reward moves it by at most 1/size; batches of one arm share no reward.
    """
    block = f"arm {arm}, rewards {last - size + 1} to {last}"
    return Release("laplace", 1 / size, 1 / (epsilon * size), epsilon, block)


def mean_release(arm: int, pulls: int, v: float) -> Release:
    """The ledger's entry for a mean of `pulls` rewards: sensitivity 1/n, cost n^(-v/2).

    Releases of one arm cover the same rewards; one reward belongs to one arm.
    """
    return Release("laplace", 1 / pulls, noise_scale(pulls, v), pulls ** (-v / 2), f"arm {arm}")
