"""Messages, parameters and formulas of players that share arms and collide.

Tossou and Dimitrakakis, "Differentially private, multi-agent multi-armed bandits", EWRL 2015, on
the time-division fair sharing (TDFS) of Liu and Zhao, "Distributed learning in multi-armed bandit
with multiple players", IEEE Trans. Signal Processing 58(11), 2010. Symbols: N arms, M players, o_i
the offset of player i, j the rank it targets, t the slot, n_a a player's pulls of arm a, s_a the
sum of its samples there, ε the privacy level.

Players exchange nothing. The only messages are those of the world: a player's choice of an arm, and
the answer of the arms' medium.
"""

import math
from typing import Annotated, ClassVar, Literal, TypeVar

from msgspec import Meta

from posse.seam.messages import (
    MOST_PULLS,
    Arm,
    Count,
    IntArray,
    Message,
    Parameters,
    Plane,
    PublicRow,
    Row,
    Variant,
)
from posse.seam.noise import Epsilon

Split = Literal["half", "tossou"]
CounterKind = Literal["hybrid", "tree", "honaker"]
Offsets = Literal["agreed", "found"] | tuple[int, ...]


class WorldMessage(Message, frozen=True, gc=False):
    """Base of messages between a player and the arms, which the paper does not have."""

    plane: ClassVar[Plane] = Plane.WORLD


class Choice(WorldMessage, frozen=True):
    """Player to medium: in slot `slot`, counted from 1, I pull `arm`."""

    reveals = (
        "the arm that the player pulls: for the private systems a function of noisy sums, covered "
        "by the claim"
    )

    slot: Annotated[int, Meta(ge=1, le=MOST_PULLS)]
    arm: Arm


class Outcome(WorldMessage, frozen=True):
    """Medium to player: your arm's sample in `slot`, your payoff, and whether you collided."""

    reveals = "what the player saw of its arm, what it got, whether it collided"

    follows = {"sample": "rewards", "payoff": "rewards"}  # noqa: RUF012  (typed by the base)

    slot: Count
    sample: float
    payoff: float
    collided: bool


TO_MEDIUM = (Choice,)
TO_PLAYER = (Outcome,)


class PlayerParameters(Parameters, frozen=True, kw_only=True):
    """Parameters of every system of this family; `random-player` has no others."""

    horizon: Annotated[int, Meta(ge=1, description="T, slots")]
    collision: Annotated[
        Literal[1, 2],
        Meta(description="1: one collider, drawn at random, gets the reward; 2: none does"),
    ] = 1
    shared_sample: Annotated[
        bool | None,
        Meta(
            description="one sample per arm and slot, or one per player; by default one per arm in "
            "the lab, as in the paper, and one per player in the field"
        ),
    ] = None
    deadline: Annotated[
        float, Meta(gt=0, description="seconds that a player may leave a slot unanswered")
    ] = 10.0


class TdfsParameters(PlayerParameters, frozen=True, kw_only=True):
    """TDFS: players take turns on the ranks."""

    offsets: Annotated[
        Offsets,
        Meta(description="agreed (1 to M, by rank), found by collisions, or a list of them"),
    ] = "agreed"


class PrivateTdfsParameters(TdfsParameters, frozen=True, kw_only=True):
    """TDFS with noisy sums."""

    epsilon: Annotated[Epsilon, Meta(description="ε, privacy of one reward")]
    counter: Annotated[
        CounterKind,
        Meta(
            description="what keeps the noisy sums: the paper's hybrid mechanism, a binary tree "
            "over the known horizon, or the tree with Honaker's estimate"
        ),
    ] = "hybrid"
    split: Annotated[
        Split, Meta(description="how the hybrid mechanism divides ε between its two parts")
    ] = "half"


def one_sample(parameters: PlayerParameters, *, field: bool) -> bool:
    """Whether colliding players see the same sample.

    If so, it enters the sums of all of them and costs up to M ε. In the field each player has its
    own sample unless the run file says otherwise.
    """
    shared = parameters.shared_sample
    return not field if shared is None else shared


Offset = TypeVar("Offset", int, IntArray)
"""That of one player, or those of many."""


def target_rank(slot: int, offset: Offset, players: int) -> Offset:
    """The rank j = ((t - 1) + (o - 1)) mod M + 1 that a player targets in slot t (t from 1)."""
    return (slot - 1 + offset - 1) % players + 1


def first_arm(slot: int, offset: Offset, arms: int) -> Offset:
    """The arm (o + t) mod N, counted from 0, that a player pulls in slots t <= N."""
    return (offset + slot) % arms


def privacy_factor(pulls: int, variant: Variant) -> float:
    """log^1.5(n) / n, the part of UCB-Private-Bound's privacy term that depends on n.

    As printed it is 0 at n = 1, although the noise there is not: an arm with a very negative first
    noise is never pulled again. `corrected` takes log(max(n, 2)).
    """
    least = 2 if variant == "corrected" else 1
    return math.pow(math.log(max(pulls, least)), 1.5) / pulls


def deviation_factor(deviation: float, epsilon: float, pulls: int) -> float:
    """ε σ / (sqrt(8) n), in place of `privacy_factor` for a counter whose noise has deviation σ.

    With the weight 4 log t / ε the privacy term becomes sqrt(2) σ log t / n, which one Laplace
    number exceeds with probability t^-2. For the hybrid mechanism this is about the
    printed term after 20,000 pulls.
    """
    return epsilon * deviation / (math.sqrt(8) * pulls)


def privacy_weight(slot: int, epsilon: float) -> float:
    """4 log t / ε, the weight of `privacy_factor` in slot t (δ = t^-4)."""
    return 4.0 * math.log(slot) / epsilon


def jain(rewards: list[float]) -> float | None:
    """Jain's index (Σx)² / (M Σx²): 1 if all are equal, 1/M if one has all, None for zeros."""
    squares = sum(x * x for x in rewards)
    return sum(rewards) ** 2 / (len(rewards) * squares) if squares else None


class CollisionsRow(PublicRow, frozen=True):
    """Collisions of each player so far."""

    table: ClassVar[str] = "collisions"
    player: tuple[int, ...]


class RewardsRow(Row, frozen=True):
    """Rewards of each player so far."""

    table: ClassVar[str] = "rewards"
    player: tuple[float, ...]


class DismissedRow(PublicRow, frozen=True):
    """The medium went on without a player from this slot on."""

    table: ClassVar[str] = "dismissed"
    player: int
    slot: int


class OffsetRow(Row, frozen=True):
    """A player drew its offset."""

    table: ClassVar[str] = "offsets"
    offset: int
