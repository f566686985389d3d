"""Messages, parameters, the round schedule and formulas of anonymous bandits.

Esfandiari, Mirrokni and Schneider, "Anonymous bandits for multi-user systems", NeurIPS 2022.
Symbols: N users, K arms, T rounds, C the anonymity (each observation covers at least C users), U
the cluster size (each arm is optimal for at least U users), A_i the arms alive for user i, D the
demand of a batch, α the approximation ratio of a decomposition.

In the feedback-eliciting sub-algorithm every user plays its arm for 2C + 2 rounds. The users of an
arm form groups of C + 1 to 2C + 1. Round 0 reports R_G, the sum of rewards over group G. Round s
reports R_G^s, the sum without the s-th member (over all of G if s > |G|). R_G - R_G^s is an
unbiased estimate of the s-th member's mean. Both ends derive the members of each round from the
order of the group (`removed_in`), so a group crosses the wire once.

An assignment may be played `copies` times in a row with the same groups. The agent then adds up its
rewards over the copies, separately for each round of the schedule, before it reports.
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from posse.seam.masking import (
    MASKED_TO_AGENT,
    MASKED_TO_COORDINATOR,
    MAX_WORDS,
    TAG_BYTES,
    Dropouts,
    Index,
    ReportWords,
    Unsigned48,
    Words,
)
from posse.seam.messages import FloatArray, Message, Parameters, PublicRow, Row

MAX_GROUP_SIZE = (MAX_WORDS - 2) // 2
"""Largest C: a report has 2C + 2 words."""

Box = Annotated[bytes, Meta(max_length=8 * MAX_WORDS + TAG_BYTES)]


class Assign(Message, frozen=True):
    """Coordinator to agent: play `arm` for `copies` times 2C + 2 rounds.

    `group` has the ranks of the agent's group in the order of removal; empty for a user without
    one. `number` counts assignments and never repeats: masks are derived from it.
    """

    reveals = "the agent's arm, how often, and who else is in its group"

    number: Unsigned48
    arm: Index
    copies: Annotated[int, Meta(ge=1, le=1 << 48)]
    group: Annotated[tuple[Index, ...], Meta(max_length=2 * MAX_GROUP_SIZE + 1)]


class PlayedUngrouped(Message, frozen=True, tag="Played"):
    """Agent to coordinator: an assignment was played outside any group."""

    reveals = "that the agent has played its assignment"

    number: Unsigned48


class Sealed(Message, frozen=True):
    """Agent to coordinator, `sink` only: its report, readable by the group's first member alone."""

    reveals = "with `sink`: the agent's sums, readable by the first of its group alone"

    number: Unsigned48
    box: Box


class Forwarded(Message, frozen=True):
    """Coordinator to a group's first member, `sink` only: what `sender` sealed for it."""

    reveals = "with `sink`: another's sealed report, to the first of the group"

    number: Unsigned48
    sender: Index
    box: Box


class Sums(Message, frozen=True):
    """Agent to coordinator, `sink` only: one sum over the group per round of the schedule."""

    reveals = "with `sink`: the group's sums"

    number: Unsigned48
    words: ReportWords


class Commit(Message, frozen=True):
    """Coordinator to agent: commit to `arm` and play it for the `rounds` that are left."""

    reveals = "the arm to play until T"

    arm: Index
    rounds: Unsigned48


TO_COORDINATOR = (*MASKED_TO_COORDINATOR, PlayedUngrouped, Sealed, Sums)
TO_AGENT = (*MASKED_TO_AGENT, Assign, Forwarded, Commit)

Horizon = Annotated[int, Meta(ge=1, le=1 << 40, description="T, rounds that every user plays")]
GroupSize = Annotated[
    int, Meta(ge=2, le=MAX_GROUP_SIZE, description="C, users that an observation covers at least")
]
Aggregation = Annotated[
    Literal["masked", "sink"],
    Meta(description="masked: secure aggregation; sink: the group's first member adds up"),
]
DecompositionKind = Annotated[
    Literal["greedy", "random", "lp"], Meta(description="how a batch becomes assignments of users")
]
Precision = Annotated[int, Meta(ge=0, le=52, description="fractional bits of a reported reward")]


class GroupParameters(Parameters, frozen=True, kw_only=True):
    """What both algorithms have.

    With `dropouts` = d groups are formed as for C + d, and each can do without d of its members: at
    least C are left in each of its sums.
    """

    horizon: Horizon
    group_size: GroupSize = 5
    dropouts: Dropouts = 0
    aggregation: Aggregation = "masked"
    precision: Precision = 16

    @property
    def formed_size(self) -> int:
        """C + d."""
        return self.group_size + self.dropouts


class AnonymousParameters(GroupParameters, frozen=True, kw_only=True):
    """Algorithm 1: batched successive elimination per user, fed by anonymous observations."""

    cluster_size: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="U, if it is known that every arm keeps this many users"),
    ] = None
    decomposition: DecompositionKind = "lp"
    learning_rate: Annotated[
        float, Meta(gt=0, description="c, the factor inside BaSE's threshold (12 is proved)")
    ] = 0.02
    feedback: Annotated[
        Literal["all", "demand"],
        Meta(description="demand: D estimates per user and batch, evenly split; all: every one"),
    ] = "demand"


class ExploreThenCommitParameters(GroupParameters, frozen=True, kw_only=True):
    """Algorithm 2: explore by sweeps, then commit."""

    learning_rate: Annotated[float, Meta(gt=0, description="c, scales the number of sweeps")] = 0.2


class ParallelUcbParameters(Parameters, frozen=True, kw_only=True):
    """UCB1 per user, without anonymity."""

    horizon: Horizon


def schedule_length(group_size: int) -> int:
    """2C + 2: the rounds of one feedback-eliciting sub-algorithm."""
    return 2 * group_size + 2


def removed_in(step: int, group: tuple[int, ...]) -> int | None:
    """The member of `group` left out of round `step`; None in round 0 and in rounds after |G|."""
    return group[step - 1] if 1 <= step <= len(group) else None


def roster(step: int, group: tuple[int, ...]) -> tuple[int, ...]:
    """The members of `group` whose rewards round `step` adds up."""
    absent = removed_in(step, group)
    return tuple(user for user in group if user != absent)


def estimates(sums: FloatArray, size: int) -> FloatArray:
    """R_G - R_G^s for s = 1..|G|, shape (|G|,), from the `sums` of all rounds of the schedule."""
    differences: FloatArray = sums[0] - sums[1 : size + 1]
    return differences


def to_words(rewards: FloatArray, precision: int) -> Words:
    """Rewards in [0, 1] as whole multiples of 2^-precision, rounded to the nearest."""
    return np.rint(rewards * float(1 << precision)).astype(np.uint64)


def from_words(words: Words, precision: int) -> FloatArray:
    """The sums of rewards that words encode."""
    return words.astype(np.float64) / float(1 << precision)


def largest_sum(group_size: int, copies: int, precision: int) -> int:
    """The largest sum that a group of 2C + 1 can report, in units of 2^-precision."""
    return ((2 * group_size + 1) * copies) << precision


def batches(horizon: float) -> int:
    """B = ⌈log2 log2 H⌉."""
    return math.ceil(math.log2(math.log2(horizon)) - 1e-12) if horizon > 2 else 0


def grid(horizon: float) -> list[int]:
    """The ends t_1 < … < t_B = H of BaSE's batches (Gao et al. 2019, minimax grid).

    t_1 = a, t_m = a sqrt(t_{m-1}), a = H^(1 / (2 - 2^(1-B))), so that t_B = H.
    """
    count = batches(horizon)
    a = horizon ** (1.0 / (2.0 - 2.0 ** (1 - count)))
    ends = [a]
    while len(ends) < count:
        ends.append(a * math.sqrt(ends[-1]))
    return [math.floor(end + 1e-9) for end in ends]


def elimination_width(
    count: FloatArray, group_size: int, horizon: float, arms: int, users: int, rate: float
) -> FloatArray:
    """sqrt(c (4C+1) log(HKN) / τ): an estimate adds up to 4C + 1 independent rewards."""
    scale = rate * (4 * group_size + 1) * math.log(horizon * arms * users)
    return np.sqrt(scale / count)


def sweeps(horizon: int, arms: int, users: int, group_size: int, rate: float) -> int:
    """Sweeps of Algorithm 2: ⌈c (T sqrt(C log(NKT)) / KC)^(2/3)⌉, at most as many as fit into T."""
    spread = math.sqrt(group_size * math.log(users * arms * horizon))
    wanted = math.ceil(rate * math.pow(horizon * spread / (arms * group_size), 2.0 / 3.0))
    return min(wanted, horizon // (arms * schedule_length(group_size)))


class BatchRow(PublicRow, frozen=True):
    """A batch was planned. `ratio` is α; `alive_pairs` sums |A_i| over all users."""

    table: ClassVar[str] = "batch"
    batch: int
    demand: int
    assignments: int
    distinct: int
    ratio: int
    alive_pairs: int


class NoFeedbackRow(PublicRow, frozen=True):
    """No group could be formed for an arm in a batch."""

    table: ClassVar[str] = "no-feedback"
    batch: int
    arm: int


class GroupSizeRow(PublicRow, frozen=True):
    """`groups` of this `size` were formed during exploration."""

    table: ClassVar[str] = "group-size"
    size: int
    groups: int


class CommitRow(PublicRow, frozen=True):
    """Exploration ended, with these totals."""

    table: ClassVar[str] = "commit"
    assignments: int
    explored_rounds: int
    feedback_used: int


class ImplausibleRow(PublicRow, frozen=True):
    """A sum over a group was one that rewards in [0, 1] cannot give."""

    table: ClassVar[str] = "implausible"
    assignment: int
    arm: int


class RepeatedRow(PublicRow, frozen=True):
    """Groups for these arms broke and are formed again."""

    table: ClassVar[str] = "repeated"
    assignment: int
    arm: tuple[int, ...]


class LostRow(PublicRow, frozen=True):
    """Groups for these arms broke, and too few users are left to form them again."""

    table: ClassVar[str] = "lost"
    assignment: int
    arm: tuple[int, ...]


class VanishedRow(PublicRow, frozen=True):
    """A user is gone."""

    table: ClassVar[str] = "vanished"
    user: int


class ExpelledRow(PublicRow, frozen=True):
    """A user answered with a wrong length and takes no further part."""

    table: ClassVar[str] = "expelled"
    user: int


class RewardRow(Row, frozen=True):
    """A user's total reward up to this round."""

    table: ClassVar[str] = "reward"
    round: int
    total: float
