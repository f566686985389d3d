"""The record of what one agent did in one run, for its closing report in the lab."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.measure.regret import Regret
from posse.protocol.arrays import FloatArray
from posse.protocol.privacy import Release


def entered(releases: Iterable[Release]) -> list[Release]:
    """A ledger of these, in the order of first entry; but for `times` equal ones share a row."""
    rows: dict[Release, int] = {}
    for release in releases:
        times = release.times
        one = release if times == 1 else msgspec.structs.replace(release, times=1)
        rows[one] = rows.get(one, 0) + times
    return _with_times(rows)


def _with_times(rows: dict[Release, int]) -> list[Release]:
    return [msgspec.structs.replace(release, times=times) for release, times in rows.items()]


@dataclass
class Account:
    """Activations and slots so far, regret by reference, privacy ledger.

    At the end `answer` is the agent's own arm, or `exhausted` says which arm has no rewards left;
    in the field `lifetime` says what all runs over these rewards cost.

    `regret` is measured as "regret" and for heterogeneous arms also "regret_local"; it is empty if
    the arms' means are unknown.
    """

    arms: int
    regret: dict[str, Regret]
    activations: int = 0
    slots: int = 0
    answer: int | None = None
    exhausted: str = ""
    lifetime: str = ""
    _releases: dict[Release, int] = field(default_factory=dict)
    _pulls: list[int] = field(init=False)
    _given: list[int] = field(init=False)
    _earned: list[float] = field(init=False)
    _costs: dict[str, float] = field(default_factory=dict)
    log: dict[str, list[list[float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pulls = [0] * self.arms
        self._given = [0] * self.arms
        self._earned = [0.0] * self.arms

    @property
    def pulls(self) -> NDArray[np.int64]:
        """How often each arm was pulled."""
        return np.array(self._pulls, dtype=np.int64)

    def disclosed(self, release: Release) -> None:
        """Enter a release; equal releases share a row, to keep a long run's report small."""
        self._releases[release] = self._releases.get(release, 0) + 1
        self._costs[release.block] = self._costs.get(release.block, 0.0) + release.epsilon

    @property
    def exposed(self) -> float:
        """The total ε of all releases for the most exposed reward.

        If the claim has a δ they compose to less, see `posse.protocol.privacy.spent`.
        """
        return max(self._costs.values(), default=0.0)

    @property
    def releases(self) -> list[Release]:
        """The ledger, in the order of first entry."""
        return _with_times(self._releases)

    def measured(self) -> dict[str, Any]:
        """What a closing report says of this account, by field."""
        return {
            "pulls": struct.pack(f"<{self.arms}q", *self._pulls),
            "activations": self.activations,
            "slots": self.slots,
            "regret": {name: regret.total for name, regret in self.regret.items()},
            "curve": {name: regret.packed() for name, regret in self.regret.items()},
            "releases": self.releases,
            "log": self.log,
            "rewards": struct.pack(
                f"<{2 * self.arms}d",
                *chain.from_iterable(zip(self._given, self._earned, strict=True)),
            ),
        }

    def given(self, arms: tuple[int, ...], times: int, sums: FloatArray) -> None:
        """Add up `times` rewards of each of `arms`, by their sums, shape (len(arms),)."""
        for arm, earned in zip(arms, sums.tolist(), strict=True):
            self._given[arm] += times
            self._earned[arm] += earned

    def pulled(self, arms: tuple[int, ...], times: int, now: float) -> None:
        """Count `times` activations that ended at `now`, each a pull of every arm in `arms`."""
        for arm in arms:
            self._pulls[arm] += times
        self.activations += times
        self.slots += times * len(arms)
        for regret in self.regret.values():
            regret.pulled(arms, times, times, now)
