"""Private cooperation with the noise at the destination (Dubey and Pentland 2020, Remark 2).

The protocol that the remark sets against its own: agents send their means without noise, and who
receives them adds one sample for them all. It protects nobody from a receiver that does not.
"""

from dataclasses import dataclass, field

import numpy as np

from agent.cooperative import PrivateMeans
from agent.ways import News
from protocol.machine import AgentEffect, FloatArray


@dataclass(slots=True)
class NoiseAtDestination(PrivateMeans):
    """Means leave at W_1, W_2, … pulls as they are; the mean of all that was heard gets the noise.

    When something new is heard of arm k, the mean over the others' N'_k = Σ n' rewards is noised
    once: one sample for all senders, where at the source each adds its own. "Appropriately scaled"
    is taken for the least scale at which no reward costs more than in its message at the source,
    1/(N'_k b) <= n'^(-v/2) for every sender:

        b = max n'^(v/2) / N'_k.

    The agent's own rewards are its own business, and it uses them as they are.
    """

    noised: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        PrivateMeans.__post_init__(self)
        # N'_k, and the others' sums with the noise that was drawn for it
        self.noised = np.zeros_like(self.mine)

    def own(self) -> FloatArray:
        return self.mine

    def others(self) -> FloatArray:
        return self.noised

    def release(self, arm: int, n: int, row: int) -> list[AgentEffect]:
        """See `PrivateMeans.release`: the mean as it is, which costs the agent all it protects."""
        self.said_means[row, arm] = self.sums[row, arm] / n
        self.said_counts[row, arm] = n
        return []

    def hear(self, news: News) -> None:
        PrivateMeans.hear(self, news)
        counts, sums = self.halves(PrivateMeans.others(self))
        behind, noised = self.halves(self.noised)
        for one, arm in np.argwhere(counts != behind).tolist():
            n = int(counts[one, arm])
            mean = sums[one, arm : arm + 1] / n
            scale = float(self.counts[:, one, arm].max() ** (self.v / 2) / n)
            noisy = self.noise[one].noisy(mean, 1 / n, scale)
            behind[one, arm], noised[one, arm] = n, n * noisy[0]
