"""What flooding among honest agents costs, in closed form, for steps over arrays."""

from functools import lru_cache

import numpy as np

from posse.seam.messages import IntArray
from posse.seam.steps import Declined, Sent, measure_payloads
from posse_systems.dubey2020.messages import Bundle, DuplicatesRow, HopsRow
from posse_systems.dubey2020.spread import Spread

_LARGEST = 1 << 20
"""Bytes of a bundle's items."""


class SpreadCosts:
    """What each row sent and heard twice, where a message has `itemsize` bytes."""

    def __init__(self, spread: Spread, itemsize: int) -> None:
        self.series, self.itemsize = spread.series, itemsize
        self.slots: int = spread.series.parameters.horizon
        self.costs = [self._of_run(spread, place) for place in range(len(self.series.runs))]

    def _of_run(self, spread: Spread, place: int) -> tuple[IntArray, IntArray, IntArray]:
        """Of each agent of a run: the payload sent to each neighbour, duplicates, and who is near.

        The last has shape (γ + 1, agents): how many others are at each distance.
        """
        d, gamma, T = spread.distances[place], spread.gamma[place], self.slots
        near = np.array([(d == hops).sum(axis=1) for hops in range(gamma + 1)])
        near[0] = 0
        within, linked = near.cumsum(axis=0), d == 1
        payload = np.full(len(d), measure_payloads([Bundle(t, b"") for t in range(1, T + 1)]))
        duplicates = np.zeros(len(d), dtype=np.int64)
        for t in range(1, min(gamma, T) + 1):
            records = 1 + within[min(gamma - 1, t - 1)]
            alike = T - t + 1 if t == gamma else 1  # from slot γ on each is as the one before
            payload += alike * _bytes_of(self.itemsize * records)
            listening = alike - (t + alike > T)  # not after the last slot
            duplicates += listening * (linked @ records - within[min(gamma, t)])
        return payload, duplicates, near

    def sent(self, row: int) -> list[Sent]:
        """The bundles that the agent of this row sent."""
        place, rank = divmod(row, self.series.agents)
        to = self.series.networks[place].neighbours[rank]
        if not to:
            return []
        return [Sent(Bundle, to, self.slots, int(self.costs[place][0][rank]))]

    def notes(self, row: int) -> list[DuplicatesRow | HopsRow]:
        """What its machine notes of messages that came."""
        place, rank = divmod(row, self.series.agents)
        _, duplicates, near = self.costs[place]
        hops = [
            (d, int(n) * (self.slots - d)) for d, n in enumerate(near[:, rank]) if d < self.slots
        ]
        return [
            DuplicatesRow(int(duplicates[rank])),
            *(HopsRow(d, n, d * n) for d, n in hops if n),
        ]


def _bytes_of(sizes: IntArray) -> IntArray:
    """The bytes by which this many bytes of items make a bundle's payload longer."""
    return np.array([_more(size) for size in sizes.tolist()])


@lru_cache(maxsize=1 << 12)
def _more(size: int) -> int:
    if size > _LARGEST - 16:
        raise Declined  # a machine's would be refused
    return measure_payloads([Bundle(0, bytes(size))]) - measure_payloads([Bundle(0, b"")])
