"""Private cooperation with the noise at the destination (Dubey and Pentland 2020, Remark 2).

The remark compares the paper's protocol with this one: agents send their means without noise, and
the receiver adds one noise sample for all. It does not protect against a receiver that adds none.
"""

from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import AgentEffect
from posse.seam.messages import FloatArray
from posse_systems.dubey2020.agent import PrivateMeans
from posse_systems.dubey2020.messages import Records


@dataclass(slots=True, kw_only=True)
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
        self.noised = np.zeros_like(self.own_numbers)

    def own(self) -> FloatArray:
        return self.own_numbers

    def others(self) -> FloatArray:
        return self.noised

    def release(self, arm: int, n: int) -> list[AgentEffect]:
        """Put the raw mean, which protects nothing, into the message; no release follows."""
        self.sent_means[arm], self.sent_counts[arm] = self.sums[arm] / n, n
        return []

    def hear(self, records: Records) -> None:
        PrivateMeans.hear(self, records)
        counts, sums = self.halves(PrivateMeans.others(self))
        noised_counts, noised_sums = self.halves(self.noised)
        for arm in np.flatnonzero(counts != noised_counts).tolist():
            n = int(counts[arm])
            scale = float(self.counts[:, arm].max() ** (self.v / 2) / n)
            noisy = self.noise.noisy(sums[arm : arm + 1] / n, 1 / n, scale)
            noised_counts[arm], noised_sums[arm] = n, n * noisy[0]
