"""Who is active when: independent Poisson processes of rate P_N(n).

The order of the activations of independent Poisson processes with rates P_N(n) has the law of
"sample the active agent n ~ P_N, restricted to the agents that are not done" (Rio et al. 2023,
Algorithm 1, line 5), so an agent can run ahead to its next decision in one draw.
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.errors import SpecError


class ActivitySpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[agents] activity`: "uniform", "power" (P(n) ∝ (n + offset)^-gamma, n from 1), "weights"."""

    kind: str = "uniform"
    gamma: float = 0.8
    offset: float = 0.0
    weights: list[float] | None = None

    def rates(self, agents: int) -> NDArray[np.float64]:
        """P_N, shape (agents,), summing to 1."""
        match self.kind:
            case "uniform":
                weights = np.ones(agents, dtype=np.float64)
            case "power":
                if self.offset <= -1:
                    raise SpecError("agents.activity.offset", "must be greater than -1")
                weights = np.power(np.arange(1, agents + 1) + self.offset, -self.gamma)
            case "weights":
                weights = np.asarray(self.weights or [], dtype=float)
                if len(weights) != agents or not (weights > 0).all():
                    raise SpecError(
                        "agents.activity.weights", f"needs {agents} positive numbers, one per agent"
                    )
            case other:
                raise SpecError(
                    "agents.activity.kind", f"'{other}' is not one of uniform, power, weights"
                )
        rates: NDArray[np.float64] = weights / weights.sum()
        return rates


class Activity:
    """One agent's Poisson process, known only at the times that matter."""

    def __init__(self, rate: float, generator: np.random.Generator) -> None:
        self._rate = rate
        self._generator = generator

    def due(self, now: float, count: int) -> float:
        """The time of the `count`-th activation after `now`: a Gamma(count) sum of gaps."""
        return now + float(self._generator.gamma(count)) / self._rate

    def elapsed(self, start: float, due: float, count: int, now: float) -> int:
        """How many activations fell before `now`, given that the `count`-th after `start` is `due`.

        Given the last one, the others are uniform in between: a binomial draw.
        """
        if now >= due:
            return count
        if math.isinf(due) or count <= 1:
            return 0
        return int(self._generator.binomial(count - 1, (now - start) / (due - start)))
