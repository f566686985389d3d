"""Agents that must agree, after one of them is lost: where each stands, and from where all go on.

Each who is left is told of the loss, stands still and says where it is (`control.Standing`). When
all have, the graph without the lost is laid out anew, and all are told where those that came
furthest are (`control.Regroup`). Whoever came furthest has decided all before it from what
everybody had sent, so that the others lose nothing by taking it over.
"""

from collections import Counter
from collections.abc import Callable, Collection

import msgspec

from posse.systems.network import Network
from protocol import control
from protocol.errors import RemoteProtocolError
from topologies.graphs import Graph, from_edges

LayOut = Callable[[Graph, Collection[int]], Network]
"""The network on the graph that is left, of which these agents take part."""


class Regrouping:
    """See the module's text. `view` counts the losses so far."""

    def __init__(self, neighbours: list[tuple[int, ...]], lay_out: LayOut) -> None:
        self.view = 0
        self._neighbours = neighbours
        self._lay_out = lay_out
        self._standing: dict[int, control.Standing] | None = None

    def lost(self) -> None:
        """One more agent is gone: all say anew where they stand."""
        self.view += 1
        self._standing = {}

    def stands(self, rank: int, where: control.Standing) -> None:
        """Agent `rank` says where it stands; what it says after an earlier loss counts no more."""
        if self._standing is None or rank in self._standing:
            raise RemoteProtocolError("out-of-turn", f"agent {rank} stands twice")
        if where.view == self.view:
            self._standing[rank] = where

    def missing(self, present: Collection[int]) -> list[int]:
        """Who has not said yet where it stands."""
        said = self._standing
        return [] if said is None else [rank for rank in present if rank not in said]

    def go_on(
        self, present: Collection[int], *, together: bool
    ) -> tuple[Network, dict[int, control.Regroup]] | None:
        """The network that is left and what each is told; None while somebody is waited for.

        `together`: a server decides for all; else the agents of each part of the graph do.
        """
        standing = self._standing
        if standing is None or self.missing(present):
            return None
        self._standing = None
        here = set(present)
        edges = ((i, j) for i in here for j in self._neighbours[i] if i < j and j in here)
        graph = from_edges(len(self._neighbours), edges)
        network = self._lay_out(graph, here)
        parts = [present] if together else [part for part in graph.components if part[0] in here]
        told: dict[int, control.Regroup] = {}
        for part in parts:
            where = _furthest([standing[rank] for rank in part])
            for rank in part:
                told[rank] = control.Regroup(
                    neighbours=network.neighbours[rank],
                    knowledge=msgspec.msgpack.encode(network.knowledge[rank]),
                    **msgspec.structs.asdict(where),
                )
        return network, told


def _furthest(standing: list[control.Standing]) -> control.Standing:
    """Where those are that came furthest; if they differ, which they must not, as most of them."""
    latest = max(where.round for where in standing)
    there = [where for where in standing if where.round == latest]
    (common, _), *_ = Counter((where.begun, where.arms) for where in there).most_common(1)
    slot = max(where.slot for where in there)
    return msgspec.structs.replace(there[0], begun=common[0], arms=common[1], slot=slot)
