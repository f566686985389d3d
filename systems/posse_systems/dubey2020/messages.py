"""Messages, parameters and formulas of private and byzantine-proof cooperation on a graph.

Dubey and Pentland, "Private and byzantine-proof cooperative decision-making", AAMAS 2020. Symbols:
M agents on a graph, K arms, T the horizon, γ the life of a message in hops, ε the privacy level (in
Algorithm 3 the contamination), v the exponent of the noise, n_k the pulls of arm k, δ' the slack of
composition.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.seam.messages import FloatArray, Message, Parameters, Row
from posse.seam.noise import LEAST_EPSILON, Epsilon

Records = NDArray[np.void]
Releases = Literal["intervals", "doubling", "trees"]
SlotNumber = Annotated[int, Meta(ge=0, le=0xFFFF_FFFF)]
Items = Annotated[bytes, Meta(max_length=1 << 20)]

MOST_HOPS = 0xFFFF


class Bundle(Message, frozen=True):
    """Agent to neighbour, one per slot: its own message of this slot and those it passes on.

    `items` is an array of records, `means_record` or `reward_record`, one per message:

        origin   u4   the agent that created it
        created  u4   the slot in which it did
        life     u2   the hops that it may still travel, this one included
        …             the content

    In lockstep the life equals γ - (slot - created), so it is redundant. It is sent because
    Algorithm 1 sends it; a message whose life differs from this is refused.
    """

    reveals = (
        "the agent's own message and those that it passes on, each readable by all agents within "
        "γ hops. `private-ucb`: noisy means and the counts at their release, covered by the "
        "claim; a mean is sent again as it is until the next is released; `robust-private-ucb` "
        "likewise, each reward in one mean. `cooperative-ucb`: means and counts as they are, so "
        "every reward. `byzantine-ucb`: every reward as it is. The last two claim nothing"
    )

    slot: SlotNumber
    items: Items


def means_record(arms: int) -> np.dtype[np.void]:
    """<m, t, v, n>: one mean (NaN while there is none) and one count of pulls per arm."""
    return np.dtype([*ENVELOPE, ("means", "<f8", (arms,)), ("counts", "<u4", (arms,))])


def reward_record() -> np.dtype[np.void]:
    """<m, t, A, X>: the arm that was pulled, of 60,000 at most, and its reward (Algorithm 3)."""
    return np.dtype([*ENVELOPE, ("arm", "<u2"), ("reward", "<f8")])


ENVELOPE = [("origin", "<u4"), ("created", "<u4"), ("life", "<u2")]


class AloneParameters(Parameters, frozen=True, kw_only=True):
    """`ucb1`: every agent by itself."""

    horizon: Annotated[int, Meta(ge=1, description="T, slots")]


MOST_LISTED = 10_000_000
"""Longest horizon with releases at intervals: listing them all takes seconds before a run."""


def _require_listed(horizon: int, remedy: str) -> None:
    if horizon > MOST_LISTED:
        raise ValueError(
            f"horizon = {horizon:,} is too long: all releases at intervals are listed before a "
            f"run, for {MOST_LISTED:,} slots at most; take no more, or {remedy}"
        )


class PrivateAloneParameters(AloneParameters, frozen=True, kw_only=True):
    """`dp-ucb-int`: every agent by itself; the adversary sees its actions."""

    epsilon: Annotated[
        float, Meta(ge=LEAST_EPSILON, le=1, description="ε; f = ⌈1/ε⌉ pulls per release")
    ]
    v: Annotated[float, Meta(gt=1, le=1.5, description="v, exponent of the noise")] = 1.1
    delta_prime: (
        Annotated[
            float,
            Meta(gt=0, lt=1, description="δ' of all releases; default 1/(100 M T), <= 1e-6"),
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        _require_listed(self.horizon, "system = 'adap-ucb'")


OPTIMISM = 3.1
"""α > 3 of AdaP-UCB as its authors run it: an index is too small with probability t^-α."""


class AdapParameters(AloneParameters, frozen=True, kw_only=True):
    """`adap-ucb`: every agent by itself, in doubling episodes; the adversary sees its actions."""

    epsilon: Annotated[Epsilon, Meta(description="ε, privacy of one reward")]
    alpha: Annotated[float, Meta(gt=3, description="α, optimism of the index")] = OPTIMISM


Gamma = Annotated[
    Annotated[int, Meta(ge=0, le=MOST_HOPS)] | Literal["diameter", "diameter/2"],
    Meta(description="γ, how many hops a message travels; half the diameter is rounded up"),
]
Range = Annotated[
    tuple[float, float] | None,
    Meta(description="[lo, hi]: rewards and means outside are refused"),
]


class CooperativeParameters(AloneParameters, frozen=True, kw_only=True):
    """`cooperative-ucb`: means and counts without noise.

    A γ of "diameter/2" is rounded up. Means outside `reward_range` are refused; it is [0, 1] by
    default where the arms are bounded.
    """

    gamma: Gamma = "diameter/2"
    reward_range: Range = None


class PrivateParameters(PrivateAloneParameters, frozen=True, kw_only=True):
    """`private-ucb`: noisy means at intervals (Algorithms 1 and 2).

    `noise_at` "destination" is the protocol of Remark 2, for comparison: means leave without noise,
    and the receiver is trusted to add it.
    """

    gamma: Gamma = "diameter/2"
    noise_at: Annotated[
        Literal["source", "destination"],
        Meta(description="who adds the noise: the sender, or (Remark 2) who receives"),
    ] = "source"
    releases: Annotated[
        Releases,
        Meta(
            description="when an arm's mean is released: at the intervals of Lemma 3.4; over "
            "disjoint batches that double, each noised once, which costs ε in all; or after each "
            "pull by a binary tree for each agent (section 3.2), which costs ε in all"
        ),
    ] = "intervals"

    def __post_init__(self) -> None:
        if self.releases == "intervals":
            _require_listed(self.horizon, "releases = 'doubling'")


class Contamination(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What byzantine agents do: each reward becomes a draw from Q with probability `rate`.

    `agents`  how many (drawn at random), which ones, or "all"
    `law`     Q. "point": the point mass at `value`, by default 1. "outlier": the same, by default
              10. "uniform": on [0, 1]. "opposite": 1 - x. "informed", for means only: 0 for the
              best arm and 1 for the others, with as many pulls as time allows; then `rate` is 1
    `form`    "source": in the agent's own messages; "relay": in those it passes on
    """

    rate: Annotated[float, Meta(ge=0, le=1)] = 1e-3
    agents: Literal["all"] | Annotated[int, Meta(ge=0)] | tuple[Annotated[int, Meta(ge=0)], ...] = (
        "all"
    )
    law: Literal["point", "uniform", "opposite", "outlier", "informed"] = "point"
    value: float | None = None
    form: Literal["source", "relay"] = "source"

    def liars(self, agents: int, draw: Callable[[int], Iterable[int]] = range) -> list[int]:
        """The ranks of the byzantine agents among `agents`, sorted; `draw` picks a given number."""
        if self.rate == 0:
            return []
        match self.agents:
            case "all":
                return list(range(agents))
            case int(number):
                return sorted(draw(number))
            case named:
                return sorted(set(named))


_LIES = Meta(description="what byzantine agents do (lab only)")


class ContaminatedParameters(AloneParameters, frozen=True, kw_only=True):
    """`contamination` is what byzantine agents do, `assumed_contamination` what agents believe."""

    gamma: Gamma = "diameter/2"
    contamination: Annotated[Contamination, _LIES] = Contamination()
    assumed_contamination: Annotated[
        Annotated[float, Meta(ge=0, lt=0.5)] | None,
        Meta(description="the share of lies that the estimator bears; default: what is true"),
    ] = None


class RobustParameters(ContaminatedParameters, frozen=True, kw_only=True):
    """`robust-private-ucb`: noisy means over doubling batches, some of which are lies.

    `assumed_contamination` is f, the share of agents that may lie, so that L = ⌊f M⌋; by default
    the true share. `estimator` "mean" is that of `private-ucb`, for comparison.
    """

    epsilon: Annotated[Epsilon, Meta(description="ε, privacy of one reward")]
    contamination: Annotated[Contamination, _LIES] = Contamination(rate=0.0, agents=0)
    estimator: Annotated[
        Literal["robust", "mean"], Meta(description="mean: that of private-ucb, for comparison")
    ] = "robust"


class ByzantineParameters(ContaminatedParameters, frozen=True, kw_only=True):
    """`byzantine-ucb`: single rewards and a trimmed mean (Algorithm 3).

    `assumed_contamination` is the ε that the estimator assumes, by default the true rate. Rewards
    outside `reward_range` are refused. By default all finite rewards are taken, since the estimator
    is there to bear outliers.
    """

    sigma: Annotated[float, Meta(gt=0, description="σ, deviation of a reward")] = 0.5
    winsor: Annotated[bool, Meta(description="clip to quantiles instead of trimming")] = False
    reward_range: Range = None


def most_liars(share: float, agents: int) -> int:
    """L = ⌊f M⌋; a share f = k/M gives k despite rounding."""
    return math.floor(share * agents + 1e-9)


def hops(gamma: int | str, diameter: int) -> int:
    """γ as a number of hops; "diameter/2" is rounded up."""
    match gamma:
        case "diameter":
            return diameter
        case "diameter/2":
            return -(-diameter // 2)
        case _:
            return int(gamma)


@lru_cache(maxsize=8)
def release_counts(
    epsilon: float, v: float, last: int, *, as_printed: bool = False
) -> tuple[int, ...]:
    """W_1 < W_2 < … <= `last`: the pulls of an arm after which its mean is released (Lemma 3.4).

    W_0 = 0 and W_{n+1} = min { x > W_n : sum_{i = W_n + 1}^{x} i^(-v/2) >= x^(-v/2) / ε }.

    `as_printed`, the lemma to the letter, has 1/(ε x^v), with which the intervals shrink. Lemma 3.6
    holds for our reading: a release costs x^(-v/2), at most ε times the sum over its interval, so
    all releases up to t cost at most ε t^(1-v/2) / (1-v/2).
    """
    counts = []
    total = 0.0
    for x in range(1, last + 1):
        cost = x ** (-v / 2)
        total += cost
        due = 1 / (epsilon * x**v) if as_printed else cost / epsilon
        if total >= due - _TOLERANCE:
            counts.append(x)
            total = 0.0
    return tuple(counts)


_TOLERANCE = 1e-12


def doubling_counts(last: int) -> tuple[int, ...]:
    """1, 2, 4, 8, … <= `last`: the pulls of an arm after which a batch ends."""
    return tuple(1 << k for k in range(last.bit_length()))


def noise_scale(pulls: int, v: float) -> float:
    """The scale n^(v/2 - 1) of the Laplace noise on a mean of n = `pulls` rewards.

    One reward in [0, 1] moves the mean by at most 1/n, so a release costs n^(-v/2).
    """
    return float(pulls ** (v / 2 - 1))


def zeta(s: float) -> float:
    """Riemann's ζ(s) = sum_n n^-s, s > 1, by Euler and Maclaurin's formula."""
    n = 50
    head = sum(k**-s for k in range(1, n))
    tail = n ** (1 - s) / (s - 1) + n**-s / 2 + s * n ** (-s - 1) / 12
    return float(head + tail)


def privacy_bound(epsilon: float, v: float, pulls: int, delta_prime: float) -> float:
    """ε' of all releases of one arm over t = `pulls` of its pulls, by Lemma 3.6.

    It is the smaller of

        ε t^(1-v/2) / (1-v/2)                       (the costs add up)
        2 ε ζ(v) + sqrt(2 ε ζ(v) log(1/δ'))         (advanced composition, with slack δ')
    """
    added = epsilon * pulls ** (1 - v / 2) / (1 - v / 2)
    squares = epsilon * zeta(v)
    advanced = 2 * squares + math.sqrt(2 * squares * math.log(1 / delta_prime))
    return float(min(added, advanced))


def confidence_bonus(log: float | FloatArray, counts: FloatArray) -> FloatArray:
    """sqrt(2 log t / N_k), from log t and the counts N_k (Algorithm 2, line 6)."""
    return np.sqrt(2 * log / counts)


def episode_radius(log: float, length: FloatArray, epsilon: float) -> FloatArray:
    """sqrt(x / 2n) + x / (ε n), x = α log t, for a mean of n rewards with Lap(1/(ε n)).

    Azize and Basu 2022, equation 7. The mean is farther off with probability at most 2 t^-α.
    """
    return np.sqrt(log / (2 * length)) + log / (epsilon * length)


def exploration_slots(arms: int, epsilon: float) -> int:
    """K ⌈1/ε⌉, the slots in which arms are pulled in turn (Algorithm 2, line 2)."""
    return arms * pulls_per_release(epsilon)


def pulls_per_release(epsilon: float) -> int:
    """⌈1/ε⌉, called f in DP-UCB-INT."""
    return math.ceil(1 / epsilon - _TOLERANCE)


class DuplicatesRow(Row, frozen=True):
    """The messages that an agent received again after the first time."""

    table: ClassVar[str] = "duplicates"
    messages: int


class HopsRow(Row, frozen=True):
    """The messages that reached an agent over this many hops, and the sum of their slots."""

    table: ClassVar[str] = "hops"
    distance: int
    messages: int
    slots: int


class ToldAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a cooperative agent is told of the graph: γ as a number, and the range of rewards."""

    gamma: Annotated[int, Meta(ge=0, le=MOST_HOPS)]
    reward_range: tuple[float, float] | None = None


class ToldLiar(ToldAgent, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """And the share of lies that it assumes; in the lab a liar is told what it does."""

    assumed: Annotated[float, Meta(ge=0, le=1)]
    contamination: Contamination | None = None
