"""The agents of private and byzantine-proof cooperation (Dubey and Pentland 2020).

`CooperativeAgent` goes through the slots: decide, pull, learn, send, listen. Its learner decides
what to pull and what to send. One learner serves all agents of a process (`posse.agent.cohort`):

`SharedMeans`          `cooperative-ucb`, in this file
`PrivateMeans`         `private-ucb`; `DoublingMeans` if `releases` is "doubling"
`NoiseAtDestination`   `private-ucb` with the noise of Remark 2, in agent/destination.py
`SharedRewards`        `byzantine-ucb`, in agent/byzantine.py
`RobustMeans`          `robust-private-ucb`, in agent/robust.py

The baselines without communication, `ucb1`, `dp-ucb-int` and `adap-ucb`, are in agent/lone.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np

from posse.agent.corruption import Corruption
from posse.agent.flooding import CooperativeLearner, Faults, Flood, Known
from posse.agent.noise import Noise
from posse.agent.ways import News, Records
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.cooperative import (
    OPTIMISM,
    Bundle,
    DuplicatesRow,
    HopsRow,
    confidence_bonus,
    exploration_slots,
    means_record,
    noise_scale,
)
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import (
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AwaitTurn,
    Broadcast,
    Disclose,
    Finish,
    Note,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Refuse,
    Started,
    Turn,
    Variant,
)
from posse.protocol.privacy import Release

try:
    from posse.agent import kernel
except ImportError:  # not compiled
    kernel = None  # type: ignore[assignment]


def best(index: FloatArray, ties: Sequence[np.random.Generator]) -> list[int]:
    """The argmax of each row; ties are broken at random."""
    arms = []
    for row, of in zip(index.tolist(), ties, strict=True):
        highest = max(row)
        if row.count(highest) == 1:
            arms.append(row.index(highest))
        else:
            leaders = [arm for arm, value in enumerate(row) if value == highest]
            arms.append(leaders[of.integers(len(leaders))])
    return arms


@dataclass(slots=True)
class Cooperation:
    """The shared state of a cohort; `due` are the agents that have heard all of their slot."""

    learner: CooperativeLearner
    known: Known
    due: list["CooperativeAgent"] = field(default_factory=list)

    def decide(self) -> None:
        """Every agent that is due learns what it heard, begins its next slot and chooses an arm."""
        due = sorted(self.due, key=lambda agent: agent.flood.row)
        self.due.clear()
        heard = [agent.flood for agent in due if agent.flood.slot and agent.flood.neighbours]
        for slot in sorted({flood.slot for flood in heard}):
            of_slot = [flood for flood in heard if flood.slot == slot]
            if len(of_slot) > 1 or not self.known.hear_steady(of_slot[0], self.learner):
                self.learner.hear(self.known.merge(of_slot, self.learner))
        for agent in due:
            agent.flood.begin_slot()
        slots = [agent.flood.slot for agent in due]
        arms = self.learner.choose(slots, [agent.flood.row for agent in due])
        for agent, arm in zip(due, arms, strict=True):
            agent.arm = arm


_AWAIT_TURN: Final[AgentEffects] = (AwaitTurn(),)


@dataclass(slots=True)
class CooperativeAgent:
    """One agent in lockstep with its neighbours (Algorithms 1 and 2; Algorithm 3).

    In slot t the agent decides by what it knows, pulls, learns, sends its bundle of t and waits for
    its neighbours' bundles of t, except after t = T. It does not wait for a lost neighbour, but
    keeps using its last messages.
    """

    horizon: int
    cohort: Cooperation
    flood: Flood
    corruption: Corruption | None = None
    waiting: bool = False
    arm: int | None = None

    @property
    def awaited(self) -> int:
        """See `posse.protocol.machine.PatientMachine`."""
        return len(self.flood.neighbours) - len(self.flood.bundles) if self.waiting else 0

    def keep(self, received: Sequence[Received]) -> bool:
        """See `posse.protocol.machine.PatientMachine`."""
        return self.flood.take_all(received)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """See `posse.protocol.machine.AgentMachine`."""
        if type(event) is Turn:
            return self._act()
        if type(event) is Pulled:
            return self._learn(event.arms[0], float(event.sums[0]))
        if type(event) is Started:
            return self._go_on()
        if type(event) is PeerLost:
            self.flood.lose(event.peer)
        elif type(event) is Received and isinstance(event.message, Bundle):
            self.flood.take(event.sender, event.message)
        else:
            told = event.message if isinstance(event, Received) else event
            raise RemoteProtocolError("out-of-turn", type(told).__name__)
        return self._go_on() if self.waiting and self.flood.complete else ()

    def _learn(self, arm: int, reward: float) -> AgentEffects:
        flood = self.flood
        effects = self.cohort.learner.learn(arm, reward, flood.row)
        if flood.neighbours:
            own = self.cohort.learner.message[flood.row : flood.row + 1]
            if self.corruption is not None:
                own = own.copy()  # the agent's own record stays true
                self.corruption.corrupt(own, flood.relayed, flood.slot)
            effects.append(Broadcast(flood.bundle(own)))
        if flood.slot == self.horizon:
            most = int(self.cohort.learner.pulls[flood.row].argmax())
            return [*effects, *self._closing(), Finish("horizon", most)]
        self.waiting = not flood.complete
        return effects if self.waiting else [*effects, *self._go_on()]

    def _go_on(self) -> AgentEffects:
        self.waiting = False
        self.cohort.due.append(self)
        return _AWAIT_TURN

    def _act(self) -> AgentEffects:
        if self.arm is None:
            self.cohort.decide()
        arm, self.arm = self.arm, None
        if arm is None:
            raise LocalProtocolError("it was given a turn that it did not ask for")
        refused = [Refuse(reason, count=n) for reason, n in self.flood.refused.items()]
        self.flood.refused.clear()
        return [*refused, Pull((arm,), 1)]

    def _closing(self) -> list[AgentEffect]:
        """For the lab: duplicates, and messages and delays by distance."""
        known, row = self.cohort.known, self.flood.row
        known.settle()
        rows = zip(known.arrivals[row].tolist(), known.delays[row].tolist(), strict=True)
        return [
            Note(DuplicatesRow(int(known.duplicates[row]))),
            *(Note(HopsRow(d, n, slots)) for d, (n, slots) in enumerate(rows) if n),
        ]


@dataclass(slots=True)
class Told:
    """What was new in a slot, kept because the next slot's news often go to the same places.

    `at` is `News.at`. `places` are the flat rows of `SharedMeans.heard` that the news go to, and
    `counts` those in their messages. `straight`: the messages are one for each row, in order, and
    can be copied without an index.
    """

    at: IntArray
    places: IntArray
    straight: bool
    counts: FloatArray


@dataclass(slots=True)
class SharedMeans(CooperativeLearner):
    """`cooperative-ucb`: every agent sends its raw means and counts in each slot.

    It pulls argmax_k μ̂_k + sqrt(2 log t / N_k) with

        N_k = n_k + sum_m' n'_k,    μ̂_k = (s_k + sum_m' n'_k v'_k) / N_k

    over the latest message of every other agent m' that has a mean of arm k. The agent's own
    message, which Q_m contains, is left out: its rewards would count twice.

    Counts and sums are kept side by side as 2K numbers. `mine`, shape (rows, 2K), has the agents'
    own n_k and s_k, of which `pulls` and `sums` are views. `heard[i]`, shape (rows, 2K), has the
    n'_k and n'_k v'_k of `origins[i]`, 0 where there is no mean; `counts` and `weighted` are its
    views. `read` caches the numbers of the latest records, `last` what was new in the slot before.
    A product with `ones`, K of them, adds up counts.
    """

    agents: int
    reward_range: tuple[float, float] | None = None
    rows: int = 1
    mine: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)
    heard: FloatArray = field(init=False)
    counts: FloatArray = field(init=False)
    weighted: FloatArray = field(init=False)
    origins: IntArray = field(init=False)
    read: tuple[Records, FloatArray, FloatArray] | None = None
    last: Told | None = None
    ones: FloatArray = field(init=False)
    said_means: FloatArray = field(init=False)
    said_counts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.mine = np.zeros((self.rows, 2 * self.arms))
        self.pulls, self.sums = self.halves(self.mine)
        self.message = np.zeros(self.rows, dtype=means_record(self.arms))
        self.ones = np.ones(self.arms)
        self.said_means, self.said_counts = self.message["means"], self.message["counts"]
        self.said_means[:] = np.nan
        self.origins = np.zeros(0, dtype=np.int64)
        self.make_room(self.origins)

    def make_room(self, origins: IntArray) -> None:
        """Extend `heard` to these origins, which are sorted and contain the present ones."""
        heard = np.zeros((len(origins), self.rows, 2 * self.arms))
        if len(self.origins):
            heard[np.searchsorted(origins, self.origins)] = self.heard
        self.origins, self.heard, self.last = origins, heard, None
        self.counts, self.weighted = self.halves(heard)

    def halves(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of the counts and the sums, K each, in arrays of 2K."""
        return numbers[..., : self.arms], numbers[..., self.arms :]

    def by_index(self, slots: Sequence[int], rows: Sequence[int] = (0,)) -> list[int]:
        """Algorithm 2, lines 6 to 8. An arm without a mean from anybody comes first."""
        if self.rows == 1 and (arm := self.best_alone(math.log(slots[0]))) >= 0:
            return [arm]
        log: float | FloatArray = math.log(slots[0])
        if slots.count(slots[0]) < len(slots):
            log = np.array([math.log(t) for t in slots])[:, None]
        of, known = list(rows), self.own() + self.others()
        N, sums = self.halves(known if self.rows == 1 else known.take(of, axis=0))
        unknown = np.count_nonzero(N) < N.size
        least = np.maximum(N, 1.0) if unknown else N
        index = sums / least + self.bonus(log, least, of)
        if unknown:
            index = np.where((N == 0).any(axis=1)[:, None], -N, index)
        return best(index, [self.ties[row] for row in of])

    def best_alone(self, log: float) -> int:
        """The best arm by index, for one agent and by compiled code; -1: `by_index` decides."""
        return kernel.best(self.own(), self.heard, log) if kernel is not None else -1

    def bonus(self, log: float | FloatArray, N: FloatArray, rows: list[int]) -> FloatArray:
        """What is added to the means of these agents, shape (len(rows), K).

        `log` is log t, shape (len(rows), 1) or one number for all; `N` has the counts N_k.
        """
        return confidence_bonus(log, N)

    def own(self) -> FloatArray:
        """The n_k and s_k of its own by which each agent decides, shape (rows, 2K)."""
        return self.mine

    def others(self) -> FloatArray:
        """The Σ n' and Σ n' v' of all others by which each agent decides, shape (rows, 2K)."""
        total: FloatArray = np.add.reduce(self.heard, axis=0)
        return total

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        at = row, arm
        n = self.pulls[at] = self.pulls[at] + 1
        s = self.sums[at] = self.sums[at] + reward
        self.said_means[at] = s / n
        self.said_counts[at] = n
        return []

    def hear(self, news: News) -> None:
        means, counts = self.numbers(news.records)
        told = np.concatenate((counts, counts * means), axis=1)
        none = np.isnan(told)
        if np.count_nonzero(none):
            none[:, : self.arms] |= none[:, self.arms :]
            told[none] = 0.0
        last, counts = self.last, told[:, : self.arms]
        if last is not None and news.at is last.at:
            last.counts = counts
        else:
            places = self.places(news)
            last = self.last = Told(news.at, places, self.straight(places, news), counts)
        heard = self.heard.reshape(-1, 2 * self.arms)
        if last.straight:
            heard[:] = told
        else:
            heard[last.places] = told.take(news.pick, axis=0)

    def hear_steady(self, bundles: list[bytes], slot: int, at: IntArray) -> bool:
        last = self.last
        if kernel is None or last is None or not last.straight or last.at is not at:
            return False
        low, high = self.reward_range or (-math.inf, math.inf)
        if not kernel.hear(bundles, self.origins, slot, low, high, self.heard):
            return False
        last.counts = self.counts[:, 0]
        return True

    def numbers(self, records: Records) -> tuple[FloatArray, FloatArray]:
        """Means and counts of these messages, each of shape (messages, K)."""
        if self.read is None or self.read[0] is not records:
            # copied, because arithmetic on the fields of records is slow
            self.read = records, records["means"].copy(), records["counts"].astype(float)
        return self.read[1:]

    def places(self, news: News) -> IntArray:
        """The flat rows of `heard` that these news go to."""
        origins = news.at // self.rows
        missing = np.setdiff1d(origins, self.origins)
        if len(missing):
            self.make_room(np.union1d(self.origins, missing))
        places: IntArray = np.searchsorted(self.origins, origins) * self.rows + news.at % self.rows
        return places

    def straight(self, places: IntArray, news: News) -> bool:
        """See `Told`."""
        heard, said = len(self.origins) * self.rows, len(news.records)
        return np.array_equal(places, range(heard)) and np.array_equal(news.pick, range(said))

    def faults(self, records: Records) -> Faults:
        means, counts = self.numbers(records)
        if self.reward_range is None:
            if np.count_nonzero(infinite := np.isinf(means)):
                yield "not-finite", _any_arm(infinite)
        else:
            low, high = self.reward_range
            if np.count_nonzero(outside := (means < low) | (means > high)):
                yield "not-finite", _any_arm(np.isinf(means))
                yield "out-of-range", _any_arm(outside)
        yield "counts-above-time", counts.dot(self.ones) > records["created"]

    def contradictions(self, news: News) -> BoolArray | None:
        """See `CooperativeLearner.contradictions`: an origin's counts never go down."""
        _, counts = self.numbers(news.records)
        last = self.last
        if last is not None and news.at is last.at and not np.count_nonzero(counts < last.counts):
            return None  # same places as in the slot before, so `last` has all that agents know
        places = self.places(news)
        before, _ = self.halves(self.heard.reshape(-1, 2 * self.arms).take(places, axis=0))
        fewer = counts.take(news.pick, axis=0) < before
        return _any_arm(fewer) if np.count_nonzero(fewer) else None


def _any_arm(wrong: BoolArray) -> BoolArray:
    """The messages with any arm in `wrong`, which has shape (messages, K)."""
    messages: BoolArray = np.logical_or.reduce(wrong, axis=1)
    return messages


@dataclass(slots=True)
class PrivateMeans(SharedMeans):
    """`private-ucb`: means with Laplace noise, released after W_1, W_2, … pulls of the arm.

    At n_k = W_i the mean s_k/n_k + Lap(n_k^(v/2 - 1)) is released. Until the next release it is
    sent again in each slot, at no further cost.

    `corrected`: the agent decides by its own released means too, and sends the count at the
    release. Its pulls are then post-processing of the releases. `printed`: it decides by its raw
    sums, which its pulls then reveal, and sends the current count with the released mean.
    """

    epsilon: float = 1.0
    v: float = 1.1
    variant: Variant = "corrected"
    noise: list[Noise] = field(default_factory=list)
    releases: tuple[int, ...] = ()
    next_release: list[list[int]] = field(init=False)
    released: FloatArray = field(init=False)
    released_counts: FloatArray = field(init=False)
    released_sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        SharedMeans.__post_init__(self)
        self.next_release = [[0] * self.arms for _ in range(self.rows)]
        self.released = np.zeros_like(self.mine)
        self.released_counts, self.released_sums = self.halves(self.released)

    def in_turn(self, t: int) -> int | None:
        """The arm to pull in slot t <= K ⌈1/ε⌉; None afterwards.

        As printed, A = t mod K, where arms count from 0; `corrected` begins with the first arm.
        """
        if t > exploration_slots(self.arms, self.epsilon):
            return None
        return (t - 1) % self.arms if self.variant == "corrected" else t % self.arms

    def own(self) -> FloatArray:
        return self.mine if self.variant == "printed" else self.released

    def learn(self, arm: int, reward: float, row: int = 0) -> list[AgentEffect]:
        at = row, arm
        self.pulls[at] += 1
        self.sums[at] += reward
        n = int(self.pulls[at])
        if self.variant == "printed":
            self.said_counts[at] = n
        index = self.next_release[row][arm]
        if index == len(self.releases) or n != self.releases[index]:
            return []
        self.next_release[row][arm] += 1
        return self.release(arm, n, row)

    def release(self, arm: int, n: int, row: int) -> list[AgentEffect]:
        """Release the arm's mean after n = W_i pulls: noised once, it goes into the message."""
        size, release = self.covers(arm, n)
        at, mean = (row, arm), self.sums[row, arm : arm + 1] / size
        noisy = float(self.noise[row].noisy(mean, release.sensitivity, release.scale)[0])
        self.released_sums[at], self.released_counts[at] = size * noisy, size
        self.said_means[at], self.said_counts[at] = noisy, size
        return [Disclose(release)]

    def covers(self, arm: int, n: int) -> tuple[int, Release]:
        """How many rewards the release after n pulls covers, and its entry in the account."""
        return n, mean_release(arm, n, self.v)


@dataclass(slots=True)
class DoublingMeans(PrivateMeans):
    """`private-ucb` with `releases = "doubling"`: disjoint doubling batches, each noised once.

    At n_k = 1, 2, 4, 8, … pulls the mean of the arm's n = max(1, n_k / 2) rewards since its last
    release is released with Lap(1/(ε n)). It replaces the release before (Sajed and Sheffet, "An
    optimal private stochastic-MAB algorithm based on optimal private stopping rule", ICML 2019;
    Azize and Basu 2022). Each reward is in one release, so all releases together cost ε.

    An arm's estimate from m such means has the noise of m Laplace numbers of scale 1/(ε N_k), for
    which the paper's index has no term. As AdaP-UCB does for m = 1, we add to the index

        α sqrt(m) log t / (ε N_k),

    which that noise exceeds with probability at most t^-α. `sums` are over the present batch.
    """

    def best_alone(self, log: float) -> int:
        return -1  # its bonus differs

    def bonus(self, log: float | FloatArray, N: FloatArray, rows: list[int]) -> FloatArray:
        m = (self.released_counts > 0) + np.count_nonzero(self.counts, axis=0)
        private: FloatArray = OPTIMISM * log * np.sqrt(m[rows]) / (self.epsilon * N)
        return confidence_bonus(log, N) + private

    def release(self, arm: int, n: int, row: int) -> list[AgentEffect]:
        effects = PrivateMeans.release(self, arm, n, row)
        self.sums[row, arm] = 0.0
        return effects

    def covers(self, arm: int, n: int) -> tuple[int, Release]:
        size = max(1, n // 2)
        return size, batch_release(arm, n, size, self.epsilon)


def batch_release(arm: int, last: int, size: int, epsilon: float) -> Release:
    """The account's entry for the mean of an arm's `size` rewards up to its pull `last`.

    One reward moves the mean by at most 1/size; the batches of an arm share no reward.
    """
    block = f"arm {arm}, rewards {last - size + 1} to {last}"
    return Release("laplace", 1 / size, 1 / (epsilon * size), epsilon, block)


@lru_cache(maxsize=1 << 13)
def mean_release(arm: int, pulls: int, v: float) -> Release:
    """The account's entry for a mean of n = `pulls` rewards: sensitivity 1/n, cost n^(-v/2).

    All releases of an arm cover the same rewards; a reward belongs to one arm only.
    """
    return Release("laplace", 1 / pulls, noise_scale(pulls, v), pulls ** (-v / 2), f"arm {arm}")
