"""Flooding among honest agents in closed form, for steps over arrays.

In slot t an agent knows of each origin at distance d <= γ what that one sent in slot t - d. In its
bundle of slot t it passes on what came in slot t - 1 over fewer than γ hops.
"""

from functools import cached_property

import numpy as np

from posse.seam.messages import FloatArray, IntArray
from posse.seam.steps import ManyRuns

_TOGETHER = 1 << 15
"""Numbers that are added up at once: this many stay in the processor's cache."""


class Spread:
    """What each row knows of the others in its run.

    `where`, shape (γ, origins, rows), says for each phase of t where in `kept` the numbers are that
    a row uses in slot t, in the order of the origins' ranks; the last row of `kept` stays 0.
    """

    def __init__(self, series: ManyRuns) -> None:
        self.series = series
        self.gamma = [int(network.knowledge[0]["gamma"]) for network in series.networks]
        self.cycle = max(1, *self.gamma)
        self.kept = np.zeros((0, 0))
        self.distances = [
            np.where((d := series.spec.graph(run).distances) > gamma, -1, d)
            for run, gamma in zip(series.runs, self.gamma, strict=True)
        ]

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
    def arrivals(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The messages new to each row in a slot: the rows, their origins' rows, and the hops.

        They are sorted by row, and in a row as the bundles bring them: a neighbour's own message,
        then in their order those that were new to it. The last array has the place here of the
        message as it came to that neighbour, where it is not the neighbour's own.
        """
        parts, before = [], 0
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
            rank, nth = np.nonzero(every < (d > 0).sum(axis=1)[:, None])
            origin = position.argsort(axis=1)[rank, nth]
            at = np.zeros_like(first)
            at[rank, origin] = before + np.arange(len(rank))
            before += len(rank)
            own = place * len(d)
            parts.append(
                (own + rank, own + origin, d[rank, origin], at[first[rank, origin], origin])
            )
        row, origin, hops, by = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, origin, hops, by

    def others(self, t: int, width: int, combine: np.ufunc = np.add) -> FloatArray:
        """The sums, or another reduction, over all others that each row knows in slot t, in order.

        Of shape (rows, width).
        """
        rows, where = self.series.rows, self.where[(t - 1) % self.cycle]
        total = np.zeros((rows, width))
        step = max(1, _TOGETHER // total.size)
        terms = np.empty((step + 1, rows, width))
        for first in range(0, len(where) if len(self.kept) else 0, step):
            cells = where[first : first + step]
            terms[0] = total
            # without a check of bounds, which would copy
            self.kept.take(cells, axis=0, out=terms[1 : len(cells) + 1], mode="clip")
            total = combine.reduce(terms[: len(cells) + 1], axis=0)
        return total

    def tell(self, t: int, messages: FloatArray) -> None:
        """Each row sends its row of `messages`, shape (rows, width), in slot t."""
        rows = len(messages)
        if not len(self.kept):
            self.kept = np.zeros((self.cycle * rows + 1, messages.shape[1]))
        place = (t - 1) % self.cycle * rows
        self.kept[place : place + rows] = messages
