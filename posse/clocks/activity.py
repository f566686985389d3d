"""Who is active when: independent Poisson processes of rate P_N(n).

The order of the activations of independent Poisson processes with rates P_N(n) has the law of
"sample the active agent n ~ P_N, restricted to the agents that are not done" (Rio et al. 2023,
Algorithm 1, line 5), so an agent can run ahead to its next decision in one draw.
"""

import math

import numpy as np


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
