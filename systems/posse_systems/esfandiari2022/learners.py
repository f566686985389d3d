"""How a server learns from anonymous estimates and plans the next assignments."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posse.seam.machines import Note
from posse.seam.messages import BoolArray, FloatArray, IntArray, Variant
from posse_systems.esfandiari2022.decomposition import (
    Assignment,
    Decomposition,
    at_random,
    by_flow,
    greedy,
)
from posse_systems.esfandiari2022.messages import (
    BatchRow,
    DecompositionKind,
    NoFeedbackRow,
    elimination_width,
    grid,
    schedule_length,
)


@dataclass(slots=True, kw_only=True)
class AnonymousLearner(ABC):
    """Plans assignments and learns from their estimates.

    `alive` says which arms each user may be assigned; `sums` and `counts` are those of its
    estimates, and `room` is how many more it takes. All have shape (N, K).
    """

    users: int
    arms: int
    group_size: int
    generator: np.random.Generator
    ties: np.random.Generator
    alive: BoolArray = field(init=False)
    sums: FloatArray = field(init=False)
    counts: FloatArray = field(init=False)
    room: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        shape = self.users, self.arms
        self.alive = np.ones(shape, dtype=bool)
        self.sums, self.counts, self.room = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)

    @abstractmethod
    def plan(self, active: BoolArray) -> tuple[list[Assignment], list[Note]] | None:
        """The next assignments for the active users; None when it is time to commit."""

    def learn(self, users: IntArray, arm: int | IntArray, means: FloatArray, copies: int) -> int:
        """Take these users' estimates of `arm`, each over `copies`; return how many it used.

        `arm` is one for all, or one for each, shape of `users`.
        """
        used = np.minimum(self.room[users, arm], copies)
        self.room[users, arm] -= used
        self.sums[users, arm] += used * means
        self.counts[users, arm] += used
        return int(used.sum())

    def means(self) -> FloatArray:
        """The mean estimates, shape (N, K); -∞ for arms that are not alive or have none."""
        known = self.alive & (self.counts > 0)
        return np.where(known, self.sums / np.maximum(self.counts, 1), -np.inf)

    def best(self) -> IntArray:
        """Every user's alive arm with the largest mean, shape (N,).

        Random for ties and for users without feedback.
        """
        means = self.means()
        candidates = self.alive & (means == means.max(axis=1, keepdims=True))
        drawn = self.ties.random(means.shape)
        chosen: IntArray = np.where(candidates, drawn, -1.0).argmax(axis=1)
        return chosen


@dataclass(slots=True, kw_only=True)
class BatchedElimination(AnonymousLearner):
    """Algorithm 1 of Esfandiari et al. 2022: BaSE (Gao et al. 2019) for every user.

    Batches b = 1 … B - 1: meet demand D_b = t_b - t_{b-1}, then drop arms user by user.

    User i drops arm j when max_l μ̂_il - μ̂_ij >= sqrt(c (4C+1) log(HKN) / τ), where τ is the smaller
    of the two arms' numbers of estimates. The leader stays, and so does an arm without feedback.
    Each user plays its best mean in the last batch, and in the rounds that earlier batches left.

    `feedback`: "demand" gives BaSE D estimates per user and batch, "evenly split amongst the arms"
    of A_i (section 3.3), at most ⌈D / |A_i|⌉ per pair; "all" gives it every estimate. When an arm
    is alive for 1 to C users, the decomposition's assumption fails: variant `printed` then stops
    learning; `corrected` goes on and gives that arm no feedback.
    """

    horizon: float
    rate: float
    decomposition: DecompositionKind
    cluster_size: int | None
    feedback: Literal["all", "demand"]
    variant: Variant
    batch: int = 0
    ends: list[int] = field(init=False)

    def __post_init__(self) -> None:
        AnonymousLearner.__post_init__(self)
        self.ends = [0, *grid(self.horizon)]

    def plan(self, active: BoolArray) -> tuple[list[Assignment], list[Note]] | None:
        if self.batch:
            self.eliminate()
        self.batch += 1
        undecided = self.alive[active].sum(axis=1) > 1
        if self.batch >= len(self.ends) - 1 or not undecided.any():
            return None
        demand = self.ends[self.batch] - self.ends[self.batch - 1]
        if self.feedback == "demand":
            self.room = np.ceil(demand / self.alive.sum(axis=1, keepdims=True)) * self.alive
        decomposition = self._decompose(self.alive[active], demand)
        notes = [Note(NoFeedbackRow(self.batch, j)) for j in decomposition.unserved]
        if decomposition.unserved and self.variant == "printed":
            self.batch = len(self.ends)
            return [], notes
        distinct, pairs = len(decomposition.assignments), int(self.alive[active].sum())
        notes.append(
            Note(
                BatchRow(
                    self.batch, demand, decomposition.length, distinct, decomposition.ratio, pairs
                )
            )
        )
        whole = []
        for assignment in decomposition.assignments:
            arms = np.full(self.users, -1)
            arms[active] = assignment.arms
            whole.append(Assignment(arms, assignment.copies))
        return whole, notes

    def eliminate(self) -> None:
        """For each user, drop the arms that are clearly worse than its leader."""
        means = self.means()
        leader = means.argmax(axis=1)
        rows = np.arange(self.users)
        best = means[rows, leader][:, None]
        known = np.isfinite(means) & np.isfinite(best)
        count = np.minimum(self.counts, self.counts[rows, leader][:, None])
        width = elimination_width(
            np.maximum(count, 1), self.group_size, self.horizon, self.arms, self.users, self.rate
        )
        behind = np.where(known, best, 0.0) - np.where(known, means, 0.0)
        drop = known & (behind >= width)
        drop[rows, leader] = False
        self.alive &= ~drop

    def _decompose(self, alive: BoolArray, demand: int) -> Decomposition:
        match self.decomposition:
            case "greedy":
                return greedy(alive, demand, self.group_size, self.generator)
            case "random":
                return at_random(alive, demand, self.group_size, self.generator)
            case "lp":
                return by_flow(alive, demand, self.group_size, self.cluster_size, self.generator)


@dataclass(slots=True, kw_only=True)
class ExploreThenCommit(AnonymousLearner):
    """Algorithm 2: m sweeps of K assignments, then every user's best mean.

    A sweep forms g = min(K, ⌊N / (C+1)⌋ ) random groups. In its step s, group q plays arm
    (q + s) mod K, so each user gets exactly one estimate of each arm per sweep.
    """

    sweeps: int
    sweep: int = 0

    def plan(self, active: BoolArray) -> tuple[list[Assignment], list[Note]] | None:
        if self.sweep >= self.sweeps:
            return None
        self.sweep += 1
        ranks = self.generator.permutation(np.flatnonzero(active))
        groups = min(self.arms, len(ranks) // (self.group_size + 1))
        arms = np.full((self.arms, self.users), -1)
        for q, members in enumerate(np.array_split(ranks, groups)):
            for s in range(self.arms):
                arms[s, members] = (q + s) % self.arms
        return [Assignment(row, 1) for row in arms], []


def effective_horizon(horizon: int, ratio: int, group_size: int) -> float:
    """H = T / (α (2C + 2)): the demand that T rounds can meet."""
    return horizon / (ratio * schedule_length(group_size))
