"""The interface of all kinds of arms, and how the lab states their means."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

import msgspec
import numpy as np
from msgspec import Meta

from posse.arms.persons import Persons
from posse.errors import ArmsError
from posse.measure.numbers import counted
from posse.protocol.arrays import BoolArray, FloatArray
from posse.protocol.machine import MOST_ARMS, peer_name

NO_NUMBER = (
    "Everybody also sees if a reward is not a number in [0, 1], because that ends the run too; "
    "with arms.clip the nearer end takes its place, or the lower end if it is no number at all."
)
"""What the end of a run reveals of real rewards that are not clipped."""


@dataclass(frozen=True)
class ArmsContext:
    """For whom arms are built: agent `rank` of `agents`, in run `run`.

    Rank -1 is the coordinator, which keeps shared arms. `base` is the run file's folder. `instance`
    makes the stream that all agents of a run share, anew at each call; `once` makes what is the
    same for them, once if they share this process. `persons` says who is behind each reward, and
    how many of one person are used.
    """

    rank: int
    agents: int
    run: int
    seed: int
    base: str
    rewards: np.random.Generator
    instance: Callable[[], np.random.Generator]
    once: Callable[[str, Callable[[], Any]], Any] | None = None
    persons: Persons | None = None

    @property
    def owner(self) -> str:
        """The owner of the arms, for a sentence."""
        return peer_name(self.rank)


PIECE = 1 << 20
"""No array of rewards is longer where only their sum is asked for: orders have any size."""


def pieces(count: int) -> Iterator[int]:
    """Counts of at most `PIECE` that add up to `count`; one of 0 if it is 0."""
    for first in range(0, max(count, 1), PIECE):
        yield min(PIECE, count - first)


class Arms(Protocol):
    """The arms of one agent; by default they never run out."""

    simulated: bool = True
    """Whether rewards may be drawn before they are used: drawing has no effect in the world."""

    def draw(self, arm: int, count: int) -> FloatArray:
        """`count` rewards of one arm; fewer only if the arm has no more."""
        ...

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """The sum of `times` rewards of each arm, shape (len(arms),); drawn `PIECE` at a time."""
        return np.array(
            [sum(self.draw(k, count).sum() for count in pieces(times)) for k in arms], dtype=float
        )

    def remaining(self, arm: int) -> int | None:
        """How many rewards are left; None if there is no end."""
        return None


Openings = Callable[[int], BoolArray]
"""Which arms are open in a slot of the agent, shape (K,)."""


@runtime_checkable
class OpensArms(Protocol):
    """Arms that say which of them are open in a slot of the agent, shape (K,)."""

    def open(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        ...


def which_open(arms: Arms, slot: int) -> BoolArray:
    """Ask arms of a table that `closes` some."""
    assert isinstance(arms, OpensArms)
    return arms.open(slot)


@dataclass
class AskedOpen:
    """Asks an agent's arms which are open; a machine may keep it."""

    arms: Arms

    def __call__(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        return which_open(self.arms, slot)


_MOST_DRAWS = 1000

_FARTHEST = 1e300
_Mean = Annotated[float, Meta(ge=-_FARTHEST, le=_FARTHEST)]
"""Bounded, so that the difference of two such means is a finite number."""


class RandomMeans(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Means drawn at random: U[low, high], or by cosine similarity.

    `uniform` draws one instance for all agents, or with `per_agent` one row for each. `cosine`:
    μ_ij = (1 + cos(u_i, v_j)) / 2 with u_i and v_j uniform on the unit sphere in `dimensions`
    dimensions, one u per agent and one v per arm (Esfandiari et al. 2022, Appendix B).

    With `seed`, all runs of a `repeat` share one instance; else each draws its own. `spread` > 0
    adds to each agent's mean an offset from U[-spread, spread], centred so that the average over
    agents stays the drawn mean (Li and Song 2022, heterogeneous rewards).
    """

    random: Literal["uniform", "cosine"] = "uniform"
    count: Annotated[int, Meta(ge=2, le=MOST_ARMS)]
    low: _Mean = 0.0
    high: _Mean = 1.0
    per_agent: bool = False
    dimensions: Annotated[int, Meta(ge=1, le=10_000)] = 10
    spread: Annotated[float, Meta(ge=0, le=_FARTHEST)] = 0.0
    seed: Annotated[int, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.spread and (self.per_agent or self.random == "cosine"):
            raise ValueError(
                "spread needs means that agents share, but here each agent has its own"
            )
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} must be less than high = {self.high}")

    @property
    def differ(self) -> bool:
        """Whether each agent has its own means."""
        return bool(self.spread) or self.per_agent or self.random == "cosine"

    def table(
        self,
        agents: int,
        generator: np.random.Generator,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> FloatArray:
        """Means, shape (agents, count). Arms that `spread` moves out of `bounds` are drawn again;
        `ArmsError` if that never ends.
        """
        if self.seed is not None:
            generator = np.random.default_rng(self.seed)
        if self.random == "cosine":
            return self._cosine(agents, generator)
        if self.per_agent:
            return generator.uniform(self.low, self.high, (agents, self.count))
        means = np.broadcast_to(
            generator.uniform(self.low, self.high, self.count), (agents, self.count)
        )
        if not self.spread:
            return means
        low, high = bounds
        for _ in range(_MOST_DRAWS):
            offsets = generator.uniform(-self.spread, self.spread, means.shape)
            table: FloatArray = means + offsets - offsets.mean(axis=0)
            outside = (table < low) | (table > high)
            if not outside.any():
                return table
            means = np.where(
                outside.any(axis=0), generator.uniform(self.low, self.high, self.count), means
            )
        raise ArmsError(
            f"spread = {self.spread:g}: of {_MOST_DRAWS:,} drawn instances of {agents} agents none "
            f"lies inside [{low:g}, {high:g}]; use a smaller spread, or means further inside"
        )

    def _cosine(self, agents: int, generator: np.random.Generator) -> FloatArray:
        users = generator.standard_normal((agents, self.dimensions))
        arms = generator.standard_normal((self.count, self.dimensions))
        users /= np.linalg.norm(users, axis=1, keepdims=True)
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        return np.clip((1.0 + users @ arms.T) / 2.0, 0.0, 1.0)


MeansSpec = list[float | list[float]] | RandomMeans


Clip = Annotated[
    tuple[float, float] | None,
    Meta(description="[lo, hi]: rewards are cut to it, and it is mapped onto [0, 1]"),
]
"""None, or [lo, hi] with lo < hi; `check_clip` refuses others."""


class ArmsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[arms]` of a run file: a subclass per kind, with its keys as fields."""

    @property
    def closes(self) -> bool:
        """Whether some arms are closed in some slots."""
        return False


class SimulatedArms(ArmsTable, frozen=True, kw_only=True):
    """Arms whose rewards the lab draws: no record is behind them, and they need no file."""

    records: ClassVar[str] = ""
    """The meaning of a guarantee per reward for a record; empty, as rewards are simulated."""
    ends: ClassVar[str] = ""
    """What the end of a run may reveal of rewards; nothing here."""

    def missing(self, base: str, ranks: Sequence[int]) -> str:
        """What these agents lack on this machine; nothing."""
        return ""

    def check_agents(self, agents: int) -> None:
        """Raise ValueError if the arms are not those of this many agents; they are."""


class LabMeans(SimulatedArms, frozen=True, kw_only=True):
    """Arms with known means: one list for all agents, one list per agent, or `RandomMeans`."""

    means: Annotated[
        MeansSpec,
        Meta(description="one list for all agents, one list per agent, or drawn at random"),
    ]

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    """The interval in which means may lie."""

    def __post_init__(self) -> None:
        low, high = self.bounds
        if isinstance(self.means, RandomMeans):
            if self.means.low < low or self.means.high > high:
                raise ValueError(f"random means must lie in [{low}, {high}]")
            return
        rows = [row for row in self.means if isinstance(row, list)]
        if rows and len(rows) != len(self.means):
            raise ValueError("means must be numbers, or one list of numbers per agent, not both")
        if rows and len({len(row) for row in rows}) > 1:
            raise ValueError("every agent's list of means must have the same length")
        count = len(rows[0]) if rows else len(self.means)
        if count < 2:
            raise ValueError(f"means names {count} arm(s); a bandit needs at least 2")
        for index, mean in enumerate(self.means):
            for value in mean if isinstance(mean, list) else [mean]:
                if not low <= value <= high:
                    raise ValueError(f"means[{index}] has {value}; it must lie in [{low}, {high}]")

    @property
    def scale(self) -> tuple[float, float]:
        """The values of rewards 0 and 1 on the scale of the means."""
        return 0.0, 1.0

    def arm_count(self) -> int:
        """K."""
        if isinstance(self.means, RandomMeans):
            return self.means.count
        first = self.means[0]
        return len(first) if isinstance(first, list) else len(self.means)

    def table(self, agents: int, instance: np.random.Generator) -> FloatArray:
        """The means of every agent, shape (agents, K)."""
        if isinstance(self.means, RandomMeans):
            return self.means.table(agents, instance, self.bounds)
        table = np.asarray(self.means, dtype=float)
        return np.broadcast_to(table, (agents, table.shape[-1])) if table.ndim == 1 else table

    def own(self, context: ArmsContext) -> FloatArray:
        """The means of one agent, shape (K,)."""

        def make() -> FloatArray:
            return self.table(context.agents, context.instance())

        table: FloatArray = make() if context.once is None else context.once("means", make)
        means: FloatArray = table[context.rank]
        return means

    def check_agents(self, agents: int) -> None:
        """Raise ValueError if the means are given by agent, but not for each agent."""
        if isinstance(self.means, RandomMeans) or not isinstance(self.means[0], list):
            return
        if len(self.means) != agents:
            rows = counted(len(self.means), "row")
            raise ValueError(f"means has {rows} for {agents} agents; give one row per agent")


def rescale(rewards: FloatArray, clip: tuple[float, float] | None) -> FloatArray:
    """Clip to [lo, hi] and map that interval onto [0, 1]; unchanged without `clip`.

    NaN counts as lo, because ending the run would reveal that there was one.
    """
    if clip is None:
        return rewards
    low, high = clip
    numbers = np.where(np.isnan(rewards), low, rewards)
    return (np.clip(numbers, low, high) - low) / (high - low)


def check_clip(clip: Any) -> None:
    """Raise ValueError unless `clip` is None or [lo, hi] with lo < hi."""
    if clip is not None and not clip[0] < clip[1]:
        raise ValueError(f"clip = {list(clip)} must be [lo, hi] with lo < hi")
