"""Private cooperation with the noise at the destination (Dubey and Pentland 2020, Remark 2).

The remark compares the paper's protocol with this one: agents send their means without noise, and
the receiver adds one noise sample for all. It does not protect against a receiver that adds none.
"""

from dataclasses import dataclass, field

import numpy as np

from posse.agent.cooperative import PrivateMeans
from posse.agent.ways import News
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import AgentEffect


@dataclass(slots=True)
class NoiseAtDestination(PrivateMeans):
    """Sends raw means after W_1, W_2, … pulls, and adds noise to the mean of all that it receives.

    When an agent hears something new of arm k, it adds noise once to the mean over the others'
    N'_k = Σ n' rewards: one sample for all senders, where at the source each adds its own. The
    remark's "appropriately scaled" is read as the least scale b at which no reward costs more than
    it does with noise at the source, 1/(N'_k b) <= n'^(-v/2) for every sender:

        b = max n'^(v/2) / N'_k.

    The agent uses its own rewards without noise.
    """

    noised: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        PrivateMeans.__post_init__(self)
        # N'_k, and the noisy sum of the others' rewards at that N'_k
        self.noised = np.zeros_like(self.mine)

    def own(self) -> FloatArray:
        return self.mine

    def others(self) -> FloatArray:
        return self.noised

    def release(self, arm: int, n: int, row: int) -> list[AgentEffect]:
        """See `PrivateMeans.release`: the raw mean, which protects nothing."""
        self.said_means[row, arm] = self.sums[row, arm] / n
        self.said_counts[row, arm] = n
        return []

    def hear_steady(self, bundles: list[bytes], slot: int, at: IntArray) -> bool:
        return False

    def best_alone(self, log: float) -> int:
        return -1

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
