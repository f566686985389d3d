"""How long messages took, over all runs of a series."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posse.results.record import RunRecord

_QUANTILES = (("half within", 0.5), ("90 % within", 0.9), ("99 % within", 0.99))


@dataclass(frozen=True)
class Delays:
    """How many messages took how many seconds from send to receipt, by bucket."""

    counts: Counter[float]

    def within(self) -> list[tuple[str, float]]:
        """Quantiles with their names, and the slowest; none that rests on less than one message.

        A share of 1 - q above the quantile q is at least one of n messages if n (1 - q) ≥ 1.
        """
        if not self.counts:
            return []
        seconds, total = sorted(self.counts), self.counts.total()
        up_to = np.cumsum([self.counts[s] for s in seconds]) / total
        known = [(name, q) for name, q in _QUANTILES if total * (1 - q) >= 1 - 1e-9]
        return [
            (name, seconds[int(np.searchsorted(up_to, q - 1e-12))])
            for name, q in (*known, ("slowest", 1.0))
        ]


def delays(runs: Sequence[RunRecord]) -> Delays:
    """The delays of all messages of these runs."""
    counts: Counter[float] = Counter()
    for run in runs:
        for seconds, count in (run.delay and run.delay.histogram) or ():
            counts[seconds] += count
    return Delays(counts)
