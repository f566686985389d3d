"""Flooding among honest agents in closed form, for steps over arrays.

In slot t an agent knows of each origin at distance d <= γ what that one sent in slot t - d. In its
bundle of slot t it passes on what came in slot t - 1 over fewer than γ hops.
"""

from functools import cached_property, lru_cache

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import Declined, ManyRuns, Sent, measure_payloads
from posse_systems.dubey2020.messages import Bundle, DuplicatesRow, HopsRow

_TOGETHER = 1 << 15
"""Numbers that are added up at once: this many stay in the processor's cache."""

_LARGEST = 1 << 20
"""Bytes of a bundle's items."""


class Spread:
    """What each row knows of the others in its run, and what that cost; a message has `itemsize`.

    `where`, shape (γ, origins, rows), says for each phase of t where in `kept` the numbers are that
    a row uses in slot t, in the order of the origins' ranks; the last row of `kept` stays 0.
    """

    def __init__(self, series: ManyRuns, itemsize: int) -> None:
        self.series, self.itemsize, self.slots = series, itemsize, series.parameters.horizon
        self.gamma = [int(network.knowledge[0]["gamma"]) for network in series.networks]
        self.cycle = max(1, *self.gamma)
        self.kept = np.zeros((0, 0))
        self.distances = [
            np.where((d := series.spec.graph(run).distances) > gamma, -1, d)
            for run, gamma in zip(series.runs, self.gamma, strict=True)
        ]
        self.costs = [self._costs(place) for place in range(len(series.runs))]

    @cached_property
    def where(self) -> IntArray:
        """The places in `kept` of what each row uses, by the phase of t."""
        rows = self.series.rows
        known = [(d > 0).sum(axis=1) for d in self.distances]
        most = max(int(n.max()) for n in known)
        where = np.full((self.cycle, most, rows), self.cycle * rows)
        for place, (d, n) in enumerate(zip(self.distances, known, strict=True)):
            own = slice(place * len(d), (place + 1) * len(d))
            origins = np.argsort(d <= 0, axis=1, kind="stable")[:, :most]
            hops = np.take_along_axis(d, origins, axis=1)
            for phase in range(self.cycle):
                cell = (phase - hops) % self.cycle * rows + own.start + origins
                heard = np.arange(origins.shape[1]) < n[:, None]
                where[phase, : origins.shape[1], own][heard.T] = cell.T[heard.T]
        return where

    @cached_property
    def arrivals(self) -> tuple[IntArray, IntArray, IntArray]:
        """The messages new to each row in a slot: the rows, their origins' rows, and the hops.

        They are sorted by row, and in a row as the bundles bring them: a neighbour's own message,
        then in their order those that were new to it.
        """
        parts = []
        for place, (d, gamma) in enumerate(zip(self.distances, self.gamma, strict=True)):
            every, near = np.arange(len(d)), self.series.networks[place].neighbours
            first = np.zeros(d.shape, dtype=np.int64)  # the neighbour whose bundle brings it
            for m, neighbours in enumerate(near):
                if neighbours:
                    by = np.sort(neighbours)
                    first[m] = by[(d[by] == d[m] - 1).argmax(axis=0)]
            position = np.zeros_like(first)
            for _ in range(gamma):
                behind = np.where(first == every, 0, 1 + position[first, every])
                key = np.where(d > 0, first * (len(d) + 1) + behind, (len(d) + 1) ** 2)
                position = key.argsort(axis=1, kind="stable").argsort(axis=1)
            rank, at = np.nonzero(every < (d > 0).sum(axis=1)[:, None])
            origin = position.argsort(axis=1)[rank, at]
            first_row = place * len(d)
            parts.append((first_row + rank, first_row + origin, d[rank, origin]))
        row, origin, hops = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, origin, hops

    def others(self, t: int, width: int) -> FloatArray:
        """The sums over all others that each row knows in slot t, in order, shape (rows, width)."""
        rows, where = self.series.rows, self.where[(t - 1) % self.cycle]
        total = np.zeros((rows, width))
        step = max(1, _TOGETHER // total.size)
        terms = np.empty((step + 1, rows, width))
        for first in range(0, len(where) if len(self.kept) else 0, step):
            cells = where[first : first + step]
            terms[0] = total
            # without a check of bounds, which would copy
            self.kept.take(cells, axis=0, out=terms[1 : len(cells) + 1], mode="clip")
            total = np.add.reduce(terms[: len(cells) + 1], axis=0)
        return total

    def tell(self, t: int, told: FloatArray) -> None:
        """Each row sends what is `told`, shape (rows, width), in slot t."""
        rows = len(told)
        if not len(self.kept):
            self.kept = np.zeros((self.cycle * rows + 1, told.shape[1]))
        place = (t - 1) % self.cycle * rows
        self.kept[place : place + rows] = told

    def _costs(self, place: int) -> tuple[IntArray, IntArray, IntArray]:
        """Of each agent of a run: the payload sent to each neighbour, duplicates, and who is near.

        The last has shape (γ + 1, agents): how many others are at each distance.
        """
        d, gamma, T = self.distances[place], self.gamma[place], self.slots
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
