"""`[agents] activity`: how often each agent is active."""

from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.errors import SpecError


class ActivitySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[agents] activity`: "uniform", "power" (P(n) ∝ (n + offset)^-gamma, n from 1), "weights"."""

    kind: Annotated[
        Literal["uniform", "power", "weights"], Meta(description="how activity is given")
    ] = "uniform"
    gamma: Annotated[
        float, Meta(description="power: agent n, from 1, is active like (n + offset)^-gamma")
    ] = 0.8
    offset: Annotated[float, Meta(description="power: see gamma")] = 0.0
    weights: Annotated[
        list[float] | None, Meta(description="weights: how active, a number for each agent")
    ] = None

    def rates(self, agents: int) -> NDArray[np.float64]:
        """P_N, shape (agents,), summing to 1."""
        match self.kind:
            case "uniform":
                weights = np.ones(agents, dtype=np.float64)
            case "power":
                if self.offset <= -1:
                    raise SpecError("agents.activity.offset", "must be greater than -1")
                with np.errstate(over="ignore", under="ignore"):
                    weights = np.power(np.arange(1, agents + 1) + self.offset, -self.gamma)
            case "weights":
                weights = np.asarray(self.weights or [], dtype=float)
                if len(weights) != agents or not (weights > 0).all():
                    raise SpecError(
                        "agents.activity.weights", f"needs {agents} positive numbers, one per agent"
                    )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            rates: NDArray[np.float64] = weights / weights.sum()
        if not (rates >= np.finfo(float).tiny).all():
            raise SpecError(
                "agents.activity",
                "has numbers so far apart, or so large, that some agent would never be active; "
                "bring them closer together",
            )
        return rates
