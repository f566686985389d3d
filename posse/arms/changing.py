"""Arms whose means change with time, and arms whose rewards come late.

A slot is one pull of an agent, over all its arms, numbered from 0. An order pulls its arms in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.arms.base import Arms, ArmsContext, LabMeans, SimulatedArms
from posse.errors import ArmsError
from posse.protocol.arrays import FloatArray

MeansAt = Callable[[NDArray[np.int64]], FloatArray]
"""The means in slots: slots of shape (n,) give means of shape (n, K)."""

DelaySlots = Annotated[int, Meta(ge=0, le=100_000, description="slots until a reward comes")]
MeanOfArm = Annotated[float, Meta(ge=0, le=1)]
_MeansOfArms = Annotated[list[MeanOfArm], Meta(min_length=2)]


class ChangingMeans(SimulatedArms, frozen=True, kw_only=True):
    """Arms whose means change from slot to slot."""

    delay: DelaySlots = 0
    unit_interval = True

    def means_at(self, instance: np.random.Generator, rank: int) -> MeansAt:
        """The law of agent `rank`'s means; `instance` draws what is random about it."""
        raise NotImplementedError

    def build(self, context: ArmsContext) -> "Timed":
        """The arms of one agent."""
        return Timed(self.means_at(context.instance(), context.rank), self.delay, context.rewards)


class PiecewiseArms(ChangingMeans, frozen=True, kw_only=True, tag_field="kind", tag="piecewise"):
    """Bernoulli arms whose means jump at given slots.

    `pieces`: a list of means for each piece, of which there is one more than `changes`, the slots.
    """

    pieces: Annotated[
        list[_MeansOfArms], Meta(min_length=1, description="a list of means for each piece")
    ]
    changes: Annotated[
        list[Annotated[int, Meta(ge=1)]],
        Meta(description="the slots in which the second piece begins, the third, …"),
    ] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        if len({len(piece) for piece in self.pieces}) > 1:
            raise ValueError("every piece must have the same number of means")
        if len(self.pieces) != len(self.changes) + 1:
            raise ValueError(
                f"pieces has {len(self.pieces)} lists of means for {len(self.changes)} changes; "
                "give one more piece than changes"
            )
        if any(later <= earlier for earlier, later in zip(self.changes, self.changes[1:])):  # noqa: B905
            raise ValueError(f"changes = {self.changes} must increase")

    def arm_count(self) -> int:
        """K."""
        return len(self.pieces[0])

    def means_at(self, instance: np.random.Generator, rank: int) -> MeansAt:
        pieces, changes = np.array(self.pieces), np.array(self.changes, dtype=np.int64)
        return lambda slots: pieces[np.searchsorted(changes, slots, side="right")]


class DriftingArms(ChangingMeans, frozen=True, kw_only=True, tag_field="kind", tag="drift"):
    """Bernoulli arms whose means drift slowly, reflected at 0 and 1.

    In slot t the mean of arm k is the reflection of `means[k]` + `speed[k]` t + `sd` W_k(t), with
    W_k a sum of t standard normal steps, the same for all agents of a run (Slivkins and Upfal 2008,
    the Brownian restless bandit).
    """

    means: Annotated[_MeansOfArms, Meta(description="the means in slot 0")]
    speed: Annotated[
        list[Annotated[float, Meta(ge=-1, le=1)]], Meta(description="what a slot adds to each mean")
    ] = msgspec.field(default_factory=list)
    sd: Annotated[float, Meta(ge=0, le=1, description="deviation of a slot's random step")] = 0.0

    def __post_init__(self) -> None:
        if self.speed and len(self.speed) != len(self.means):
            raise ValueError(f"speed has {len(self.speed)} numbers for {len(self.means)} means")
        if not (self.sd or any(self.speed)):
            raise ValueError("the means of kind 'drift' need a speed or an sd that is not 0")

    def arm_count(self) -> int:
        """K."""
        return len(self.means)

    def means_at(self, instance: np.random.Generator, rank: int) -> MeansAt:
        start, speed = np.array(self.means), np.array(self.speed or [0.0] * len(self.means))
        walk = Walk(instance, len(self.means), self.sd) if self.sd else None

        def means(slots: NDArray[np.int64]) -> FloatArray:
            moved = start + speed * slots[:, None] + (0.0 if walk is None else walk(slots))
            turned: FloatArray = 1.0 - np.abs(moved % 2.0 - 1.0)
            return turned

        return means


class Walk:
    """Random walks of `count` arms with normal steps of deviation `sd`, from 0 in slot 0."""

    _BLOCK = 1024

    def __init__(self, generator: np.random.Generator, count: int, sd: float) -> None:
        self._generator, self._sd = generator, sd
        self._path = np.zeros((1, count))

    def __call__(self, slots: NDArray[np.int64]) -> FloatArray:
        """Where the walks are in these slots, shape (slots, count)."""
        while slots.max(initial=0) >= len(self._path):
            steps = self._generator.normal(0.0, self._sd, (self._BLOCK, self._path.shape[1]))
            self._path = np.concatenate([self._path, self._path[-1] + steps.cumsum(axis=0)])
        path: FloatArray = self._path[slots]
        return path


class DelayedArms(LabMeans, frozen=True, kw_only=True, tag_field="kind", tag="delayed"):
    """Bernoulli arms whose rewards come `delay` slots late.

    `means`: as for kind bernoulli.
    """

    delay: DelaySlots
    unit_interval = True

    def build(self, context: ArmsContext) -> "Timed":
        """The arms of one agent."""
        means = self.own(context)
        return Timed(lambda slots: np.tile(means, (len(slots), 1)), self.delay, context.rewards)


@dataclass(eq=False)
class Timed(Arms):
    """One agent's Bernoulli arms, whose means depend on the slot of a pull."""

    means_at: MeansAt
    delay: int
    generator: np.random.Generator
    slot: int = 0

    def turns(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """The rewards of the next `times` turns of pulls of these arms, shape (arms, times)."""
        slots = np.arange(self.slot, self.slot + times * len(arms))
        means = self.means_at(slots)[np.arange(len(slots)), np.tile(arms, times)]
        if (closed := np.flatnonzero(means == -np.inf)).size:
            at = int(closed[0])
            raise ArmsError(
                f"arm {arms[at % len(arms)]} is closed in slot {slots[at]}, and the system pulls "
                "it; it must choose among the arms that context.open(slot) names"
            )
        self.slot += len(slots)
        rewards = (self.generator.random(len(slots)) < means).astype(float)
        turns: FloatArray = rewards.reshape(times, len(arms)).T
        return turns

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards: FloatArray = self.turns((arm,), count)[0]
        return rewards
