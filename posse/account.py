"""What one agent did in one run, for the closing report of the lab."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posse.regret import Regret
from protocol.privacy import Release


@dataclass
class Account:
    """Pulls per arm, activations and slots so far, regret by reference, privacy ledger.

    `references` names the means that regret is measured against ("regret", and for heterogeneous
    arms also "regret_local"); empty where means are unknown.
    """

    arms: int
    references: dict[str, NDArray[np.float64]]
    pulls: NDArray[np.int64] = field(init=False)
    activations: int = 0
    slots: int = 0
    regret: dict[str, Regret] = field(init=False)
    releases: list[Release] = field(default_factory=list)
    log: dict[str, list[list[float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pulls = np.zeros(self.arms, dtype=np.int64)
        self.regret = {name: Regret(means) for name, means in self.references.items()}

    def pulled(self, arms: tuple[int, ...], times: int, now: float) -> None:
        """`times` activations, each pulling every one of `arms`, ended at `now`."""
        if len(arms) == 1:
            self.pulls[arms[0]] += times
        else:
            self.pulls[list(arms)] += times
        self.activations += times
        self.slots += times * len(arms)
        for regret in self.regret.values():
            regret.pulled(arms, times, times, now)
