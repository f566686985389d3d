"""Arms that are closed in some slots; agents are told before a pull which are open.

Kleinberg, Niculescu-Mizil and Sharma, "Regret bounds for sleeping experts and bandits", Machine
Learning 80, 2010: in slot t a set A_t of arms is open, and regret is against the best of A_t.
"""

from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.arms.changing import ChangingMeans, MeanOfArm, MeansAt
from posse.protocol.arrays import BoolArray

_BLOCK = 64
"""Slots whose sets A_t are drawn at once."""

_Slot = Annotated[int, Meta(ge=0)]
_Window = Annotated[list[_Slot], Meta(min_length=1, max_length=2)]
_Chance = Annotated[float, Meta(ge=0, lt=1)]


class SleepingArms(ChangingMeans, frozen=True, kw_only=True, tag_field="kind", tag="sleeping"):
    """Bernoulli arms of which some are closed in a slot.

    `asleep`: the probability that an arm is closed in a slot, drawn anew for each agent; one number
    per arm, or one for all. `windows`: for each arm [first, end] slots in which it may be open,
    where [first] has no end; always, if it has none. If all arms of a slot were asleep, all whose
    window is open are awake.
    """

    means: Annotated[list[MeanOfArm], Meta(min_length=2, description="the means of open arms")]
    asleep: Annotated[
        _Chance | list[_Chance], Meta(description="the probability of being closed in a slot")
    ] = 0.0
    windows: Annotated[
        list[list[_Window]], Meta(description="by arm, slots [first, end] in which it may be open")
    ] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        if self.delay:
            raise ValueError("delay would pull arms until rewards come, open or not; delete it")
        if isinstance(self.asleep, list) and len(self.asleep) != len(self.means):
            raise ValueError(f"asleep has {len(self.asleep)} numbers for {len(self.means)} means")
        if not np.any(self.asleep) and not any(self.windows):
            raise ValueError("arms of kind 'sleeping' need asleep, or windows")
        if self.windows and len(self.windows) != len(self.means):
            raise ValueError(f"windows has {len(self.windows)} lists for {len(self.means)} means")
        spans = [window for arm in self.windows for window in arm]
        if any(len(span) == 2 and span[0] >= span[1] for span in spans):
            raise ValueError("windows must be [first, end] with first < end")
        openings = self.openings(np.random.default_rng(0), 0)
        edges = np.array(sorted({0, *(edge for span in spans for edge in span)}))
        if not (some := openings.may_open(edges).any(axis=1)).all():
            raise ValueError(f"windows leave no arm open in slot {edges[~some][0]}")

    @property
    def closes(self) -> bool:
        return True

    def arm_count(self) -> int:
        """K."""
        return len(self.means)

    def openings(self, instance: np.random.Generator, rank: int) -> "DrawnOpenings":
        """The sets A_t of agent `rank`; `instance` is at the start of its stream."""
        asleep = np.broadcast_to(np.array(self.asleep, dtype=float), len(self.means)).copy()
        windows = tuple(
            tuple((span[0], span[1] if len(span) == 2 else None) for span in arm)
            for arm in self.windows or [[]] * len(self.means)
        )
        return DrawnOpenings(windows, asleep, int(instance.integers(2**62)), rank)

    def means_at(self, instance: np.random.Generator, rank: int) -> MeansAt:
        """The means in slots; -inf for an arm that is closed."""
        openings, means = self.openings(instance, rank), np.array(self.means)
        return lambda slots: np.where(openings.table(slots), means, -np.inf)


@dataclass
class DrawnOpenings:
    """The sets A_t of one agent, by slot; plain data, so that a machine may keep it."""

    windows: tuple[tuple[tuple[int, int | None], ...], ...]
    asleep: NDArray[np.float64]
    seed: int
    rank: int
    block: int = -1
    drawn: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = np.zeros((0, len(self.asleep)), dtype=bool)

    def __call__(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        row: BoolArray = self.table(np.array([slot]))[0]
        return row

    def table(self, slots: NDArray[np.int64]) -> BoolArray:
        """Which arms are open in these slots, shape (slots, K)."""
        may, rows = self.may_open(slots), np.empty((len(slots), len(self.asleep)), dtype=bool)
        for block in np.unique(slots // _BLOCK).tolist():
            if block != self.block:
                stream = np.random.default_rng([self.seed, self.rank, block])
                self.drawn = stream.random((_BLOCK, len(self.asleep))) >= self.asleep
                self.block = block
            here = slots // _BLOCK == block
            rows[here] = self.drawn[slots[here] % _BLOCK]
        rows &= may
        none = ~rows.any(axis=1)
        rows[none] = may[none]
        return rows

    def may_open(self, slots: NDArray[np.int64]) -> BoolArray:
        """Which arms have an open window in these slots, shape (slots, K)."""
        may = np.ones((len(slots), len(self.windows)), dtype=bool)
        for arm, spans in enumerate(self.windows):
            if spans:
                may[:, arm] = np.any(
                    [(slots >= first) & (end is None or slots < end) for first, end in spans],
                    axis=0,
                )
        return may
