"""The agents of private and byzantine-proof cooperation (Dubey and Pentland 2020).

`CooperativeAgent` goes through the slots: decide, pull, learn, send, listen. Its learner decides
what to pull and what to send:

`SharedMeans`          `cooperative-ucb`, in this file
`PrivateMeans`         `private-ucb`; `DoublingMeans` if `releases` is "doubling"
`TreeMeans`            `private-ucb` if `releases` is "trees", in tree_means.py
`NoiseAtDestination`   `private-ucb` with the noise of Remark 2, in destination.py
`SharedRewards`        `byzantine-ucb`, in byzantine.py
`RobustMeans`          `robust-private-ucb`, in robust.py

The baselines without communication, `ucb1`, `dp-ucb-int` and `adap-ucb`, are in lone.py.

Algorithm 2 without noise, in plain Python, for M agents on a graph; yields the arms A_t of a slot.
`spread` is the loop in `flooding`, `pull(m, k)` an agent's reward of an arm:

    def cooperate(neighbours, gamma, T, K, pull, ties):
        agents = range(len(neighbours))
        n = [[0] * K for m in agents]          # n_k, the agent's own pulls
        s = [[0.0] * K for m in agents]        # s_k, the sum of its own rewards
        def message(m, t):                     # v', n': its means and counts
            return [(s[m][k] / n[m][k] if n[m][k] else None, n[m][k]) for k in range(K)]
        slots = spread(neighbours, gamma, T, message)
        known = [{} for m in agents]           # Q_m, without the agent's own message
        for t in range(1, T + 1):
            A = []
            for m in agents:
                if t <= K:
                    A.append(t - 1)
                    continue
                index = []
                for k in range(K):
                    heard = [known[m][other][1][k] for other in sorted(known[m])]
                    heard = [(v, count) for v, count in heard if count]
                    N = n[m][k] + sum(count for v, count in heard)
                    mean = (s[m][k] + sum(count * v for v, count in heard)) / N
                    index.append(mean + math.sqrt(2 * math.log(t) / N))
                best = [k for k in range(K) if index[k] == max(index)]
                A.append(best[0] if len(best) == 1 else best[ties[m].integers(len(best))])
            for m in agents:
                n[m][A[m]] += 1
                s[m][A[m]] += pull(m, A[m])
            known = next(slots)
            yield A
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np

from posse.seam.arms import Openings
from posse.seam.machines import (
    AgentEffect,
    AgentEffects,
    AgentEvent,
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
)
from posse.seam.messages import (
    BoolArray,
    FloatArray,
    IntArray,
    RemoteProtocolError,
    Variant,
)
from posse.seam.noise import Noise, Release
from posse_systems.dubey2020.corruption import Corruption
from posse_systems.dubey2020.flooding import CooperativeLearner, Faults, Flood, argmax
from posse_systems.dubey2020.messages import (
    OPTIMISM,
    Bundle,
    DuplicatesRow,
    HopsRow,
    Records,
    confidence_bonus,
    exploration_slots,
    means_record,
    noise_scale,
)

LARGEST_REWARD: Final = 1e12
"""Larger rewards are refused as infinite: the honest ones would be lost in a sum with them."""


@dataclass(slots=True)
class CooperativeAgent:
    """One agent in lockstep with its neighbours (Algorithms 1 and 2; Algorithm 3).

    In slot t the agent decides by what it knows, pulls, learns, sends its bundle of t and waits for
    its neighbours' bundles of t, except after t = T. It does not wait for a lost neighbour, but
    keeps using its last messages.
    """

    horizon: int
    learner: CooperativeLearner
    flood: Flood
    corruption: Corruption | None = None
    waiting: bool = False

    @property
    def awaited(self) -> int:
        """How many of its neighbours' bundles of this slot are still to come."""
        return len(self.flood.neighbours) - len(self.flood.bundles) if self.waiting else 0

    def keep(self, received: Sequence[Received]) -> bool:
        """Take bundles before the last one of a slot; False if one might be refused."""
        return self.flood.take_all(received)

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        """Go one step through the slot; see `posse.protocol.machine` for what may come when."""
        if type(event) is Pulled:
            return self._learn(event.arms[0], float(event.sums[0]))
        if type(event) is Started:
            return self._act()
        if type(event) is PeerLost:
            self.flood.lose(event.peer)
        elif type(event) is Received and isinstance(event.message, Bundle):
            self.flood.take(event.sender, event.message)
        else:
            refused = event.message if isinstance(event, Received) else event
            raise RemoteProtocolError("out-of-turn", type(refused).__name__)
        return self._act() if self.waiting and self.flood.complete else ()

    def _act(self) -> AgentEffects:
        self.waiting, flood = False, self.flood
        if flood.slot and flood.neighbours:
            self.learner.hear(flood.merge(self.learner))
        flood.begin_slot()
        refused = [Refuse(reason, count=n) for reason, n in flood.refused.items()]
        refused += [Refuse("equivocation", proof=proof) for proof in flood.proofs]
        flood.refused.clear()
        flood.proofs.clear()
        return [*refused, Pull((self.learner.choose(flood.slot),), 1)]

    def _learn(self, arm: int, reward: float) -> AgentEffects:
        flood = self.flood
        effects = self.learner.learn(arm, reward)
        if flood.neighbours:
            own = self.learner.message
            if self.corruption is not None:
                own = own.copy()  # the agent's own record stays true
                self.corruption.corrupt(own, flood.relayed, flood.slot)
            effects.append(Broadcast(flood.bundle(own)))
        if flood.slot == self.horizon:
            return [*effects, *self._closing(), Finish("horizon", self.learner.answer())]
        self.waiting = not flood.complete
        return effects if self.waiting else [*effects, *self._act()]

    def _closing(self) -> list[AgentEffect]:
        """For the lab: duplicates, and messages and delays by distance."""
        flood = self.flood
        by_hops = enumerate(flood.hop_counts.tolist())
        return [
            Note(DuplicatesRow(flood.duplicates)),
            *(Note(HopsRow(d, n, d * n)) for d, n in by_hops if n),
        ]


@dataclass(slots=True)
class SharedMeans(CooperativeLearner):
    """`cooperative-ucb`: every agent sends its raw means and counts in each slot.

    It pulls argmax_k μ̂_k + sqrt(2 log t / N_k) with

        N_k = n_k + sum_m' n'_k,    μ̂_k = (s_k + sum_m' n'_k v'_k) / N_k

    over the latest message of every other agent m' that has a mean of arm k. The agent's own
    message, which Q_m contains, is left out: its rewards would count twice. Of arms that are not
    always open it pulls that of the largest index among the open, and its answer is that of the
    largest mean.

    Counts and sums are kept side by side as 2K numbers. `own_numbers` has the agent's own n_k and
    s_k, of which `pulls` and `sums` are views. `heard[i]` has the n'_k and n'_k v'_k of
    `origins[i]`, 0 where there is no mean; `counts` and `weighted` are its views, shape
    (origins, K). `placed` has the last origins asked for, and their rows. `sent_means` and
    `sent_counts` are views of `message`.
    """

    reward_range: tuple[float, float] | None = None
    openings: Openings | None = None
    own_numbers: FloatArray = field(init=False)
    sums: FloatArray = field(init=False)
    heard: FloatArray = field(init=False)
    counts: FloatArray = field(init=False)
    weighted: FloatArray = field(init=False)
    origins: IntArray = field(init=False)
    placed: tuple[bytes, IntArray] = field(init=False)
    sent_means: FloatArray = field(init=False)
    sent_counts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.own_numbers = np.zeros(2 * self.arms)
        self.pulls, self.sums = self.halves(self.own_numbers)
        self.message = np.zeros(1, dtype=means_record(self.arms))
        self.sent_means, self.sent_counts = self.message["means"][0], self.message["counts"][0]
        self.sent_means[:] = np.nan
        self.origins = np.zeros(0, dtype=np.int64)
        self.add_origins(self.origins)

    def add_origins(self, origins: IntArray) -> None:
        """Extend `heard` to these origins, which are sorted and contain the present ones."""
        heard = np.zeros((len(origins), 2 * self.arms))
        if len(self.origins):
            heard[np.searchsorted(origins, self.origins)] = self.heard
        self.origins, self.heard = origins, heard
        self.counts, self.weighted = self.halves(heard)
        self.placed = b"", self.origins[:0]

    def halves(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views of the counts and the sums, K each, in arrays of 2K."""
        return numbers[..., : self.arms], numbers[..., self.arms :]

    def choose(self, t: int) -> int:
        if self.openings is None:
            return CooperativeLearner.choose(self, t)
        N, sums = self.halves(self.own() + self.others())
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.where(N > 0, sums / N + self.bonus(math.log(t), N), np.inf)
        return argmax(np.where(self.openings(t - 1), index, -np.inf), self.ties)

    def answer(self) -> int:
        if self.openings is None:
            return CooperativeLearner.answer(self)
        N, sums = self.halves(self.own() + self.others())
        return int(np.where(N > 0, sums / np.maximum(N, 1), -np.inf).argmax())

    def index(self, t: int) -> FloatArray:
        """Algorithm 2, lines 6 to 8. An arm without a mean from anybody comes first."""
        N, sums = self.halves(self.own() + self.others())
        if np.count_nonzero(N) < self.arms:
            return -N
        index: FloatArray = sums / N + self.bonus(math.log(t), N)
        return index

    def bonus(self, log: float, N: FloatArray) -> FloatArray:
        """What is added to the means, shape (K,); `log` is log t, `N` has the counts N_k."""
        return confidence_bonus(log, N)

    def own(self) -> FloatArray:
        """The n_k and s_k of its own by which the agent decides, shape (2K,)."""
        return self.own_numbers

    def others(self) -> FloatArray:
        """The Σ n' and Σ n' v' of all others by which it decides, shape (2K,)."""
        total: FloatArray = np.add.reduce(self.heard, axis=0)
        return total

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        n = self.pulls[arm] = self.pulls[arm] + 1
        s = self.sums[arm] = self.sums[arm] + reward
        self.sent_means[arm], self.sent_counts[arm] = s / n, n
        return []

    def hear(self, records: Records) -> None:
        counts = records["counts"].astype(float)
        numbers = np.concatenate((counts, counts * records["means"].copy()), axis=1)
        without_mean = np.isnan(numbers)
        if np.count_nonzero(without_mean):
            without_mean[:, : self.arms] |= without_mean[:, self.arms :]
            numbers[without_mean] = 0.0
        rows = self.find_rows(records)
        self.heard[rows] = numbers

    def find_rows(self, records: Records) -> IntArray:
        """The rows of `heard` that these messages go to, which are made if missing."""
        origins = records["origin"].astype(np.int64)
        said = origins.tobytes()
        if said != self.placed[0]:  # mostly it is as in the slot before
            if len(np.setdiff1d(origins, self.origins)):
                self.add_origins(np.union1d(self.origins, origins))
            self.placed = said, self.origins.searchsorted(origins)
        return self.placed[1]

    def find_faults(self, records: Records) -> Faults:
        # copied, because arithmetic on the fields of records is slow
        means, counts = records["means"].copy(), records["counts"].astype(float)
        low, high = self.reward_range or (-LARGEST_REWARD, LARGEST_REWARD)
        low, high = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
        if np.count_nonzero(outside := (means < low) | (means > high)):
            yield "not-finite", _any_arm(np.abs(means) > LARGEST_REWARD)
            yield "out-of-range", _any_arm(outside)
        yield "counts-above-time", np.add.reduce(counts, axis=1) > records["created"]

    def find_contradictions(self, records: Records) -> BoolArray | None:
        """Which of the new messages have a count that went down; None if none has."""
        rows = self.find_rows(records)
        fewer = records["counts"].copy() < self.counts.take(rows, axis=0)
        return _any_arm(fewer) if np.count_nonzero(fewer) else None


def _any_arm(wrong: BoolArray) -> BoolArray:
    """The messages with any arm in `wrong`, which has shape (messages, K)."""
    messages: BoolArray = np.logical_or.reduce(wrong, axis=1)
    return messages


@dataclass(slots=True, kw_only=True)
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
    noise: Noise
    releases: tuple[int, ...] = ()
    next_release: list[int] = field(init=False)
    released: FloatArray = field(init=False)
    released_counts: FloatArray = field(init=False)
    released_sums: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        SharedMeans.__post_init__(self)
        self.next_release = [0] * self.arms
        self.released = np.zeros_like(self.own_numbers)
        self.released_counts, self.released_sums = self.halves(self.released)

    def round_robin(self, t: int) -> int | None:
        """The arm to pull in slot t <= K ⌈1/ε⌉; None afterwards.

        As printed, A = t mod K, where arms count from 0; `corrected` begins with the first arm.
        """
        if t > exploration_slots(self.arms, self.epsilon):
            return None
        return (t - 1) % self.arms if self.variant == "corrected" else t % self.arms

    def own(self) -> FloatArray:
        return self.own_numbers if self.variant == "printed" else self.released

    def learn(self, arm: int, reward: float) -> list[AgentEffect]:
        self.pulls[arm] += 1
        self.sums[arm] += reward
        n = int(self.pulls[arm])
        if self.variant == "printed":
            self.sent_counts[arm] = n
        due = self.next_release[arm]
        if due == len(self.releases) or n != self.releases[due]:
            return []
        self.next_release[arm] += 1
        return self.release(arm, n)

    def release(self, arm: int, n: int) -> list[AgentEffect]:
        """Release the arm's mean after n = W_i pulls: noised once, it goes into the message."""
        size, release = self.covers(arm, n)
        mean = self.sums[arm : arm + 1] / size
        noisy = float(self.noise.noisy(mean, release.sensitivity, release.scale)[0])
        self.released_sums[arm], self.released_counts[arm] = size * noisy, size
        self.sent_means[arm], self.sent_counts[arm] = noisy, size
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

    def bonus(self, log: float, N: FloatArray) -> FloatArray:
        m = (self.released_counts > 0) + np.count_nonzero(self.counts, axis=0)
        private: FloatArray = OPTIMISM * log * np.sqrt(m) / (self.epsilon * N)
        return confidence_bonus(log, N) + private

    def release(self, arm: int, n: int) -> list[AgentEffect]:
        effects = PrivateMeans.release(self, arm, n)
        self.sums[arm] = 0.0
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
