"""How a run stands while it goes on, and what a family says of it on the line that moves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from posse.spec.runfile import Clock
from protocol.log import Log


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the coordinator knows of a run that goes on.

    `now` is in the unit of `clock`, `rounds` the activations to be expected by now where the clock
    is virtual; `finished` agents will not act any more. `log` has what the server noted.
    """

    agents: int
    arms: int
    parameters: Any
    clock: Clock
    now: float
    rounds: float
    finished: int
    log: Log

    @property
    def share(self) -> float:
        """How much of the run is done, where that is known: the horizon's slots. Else 0."""
        horizon = getattr(self.parameters, "horizon", None) if self.clock == "slots" else None
        return min(self.now / horizon, 1.0) if horizon else 0.0

    def time(self, unit: str = "slot") -> str:
        """How far the run is; a `unit` is one step of lockstep clocks."""
        if self.clock == "wall":
            return f"{self.now:,.0f} s"
        if self.clock == "virtual":
            return f"{self.rounds:,.0f} rounds"
        horizon = getattr(self.parameters, "horizon", None)
        return f"{unit} {self.now:,.0f}" + ("" if horizon is None else f" of {horizon:,}")

    def arms_left(self, left: int) -> str:
        """Of all arms."""
        return f"{left} of {self.arms} arms left"


Says = Callable[[Standing], Sequence[str]]
"""The parts of the line, the most telling first."""


def agents_done(standing: Standing) -> Sequence[str]:
    """Of systems that end when their agents do, each for itself."""
    return [f"{standing.finished} of {standing.agents} agents done", standing.time()]
