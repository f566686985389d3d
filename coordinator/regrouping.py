"""How agents that must agree go on together after one of them is lost.

Each remaining agent hears of the loss, pauses and says where it stands (`AgentStanding`). When all
have, the network is laid out anew on the graph without the lost agents, and all are told where the
most advanced agents stand (`Regroup`). Those made all earlier decisions from what
everybody had sent, so the others lose nothing by going on from there.
"""

from collections import Counter
from collections.abc import Callable, Collection

import msgspec

from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.system.network import Network, remaining
from posse.topologies.graphs import Graph

LayOut = Callable[[Graph, Collection[int]], Network]
"""Lays out the network on the graph that is left, given the agents that take part."""


class Regrouping:
    """Collects where agents stand after a loss; see the module. `view` counts the losses so far."""

    def __init__(self, neighbours: list[tuple[int, ...]], lay_out: LayOut) -> None:
        self.view = 0
        self._neighbours = neighbours
        self._lay_out = lay_out
        self._standing: dict[int, control.AgentStanding] | None = None

    def note_loss(self) -> None:
        """Note one more loss: every agent must say again where it stands."""
        self.view += 1
        self._standing = {}

    def note_standing(self, rank: int, where: control.AgentStanding) -> None:
        """Take where agent `rank` stands; ignore an answer to an earlier loss."""
        if self._standing is None or rank in self._standing:
            raise RemoteProtocolError("out-of-turn", f"agent {rank} says twice where it stands")
        if where.view == self.view:
            self._standing[rank] = where

    def missing(self, present: Collection[int]) -> list[int]:
        """The agents that have not yet said where they stand."""
        standing = self._standing
        return [] if standing is None else [rank for rank in present if rank not in standing]

    def go_on(
        self, present: Collection[int], *, together: bool
    ) -> tuple[Network, dict[int, control.Regroup]] | None:
        """The new network and each agent's `Regroup`; None while an agent's answer is missing.

        `together`: a server decides for all; otherwise each part of the graph goes on by itself.
        """
        standing = self._standing
        if standing is None or self.missing(present):
            return None
        self._standing = None
        members = set(present)
        graph = remaining(self._neighbours, members)
        network = self._lay_out(graph, members)
        parts = [present] if together else [part for part in graph.components if part[0] in members]
        orders: dict[int, control.Regroup] = {}
        for part in parts:
            where = _furthest([standing[rank] for rank in part])
            for rank in part:
                orders[rank] = control.Regroup(
                    neighbours=network.neighbours[rank],
                    knowledge=msgspec.msgpack.encode(network.knowledge[rank]),
                    **msgspec.structs.asdict(where),
                )
        return network, orders


def _furthest(standing: list[control.AgentStanding]) -> control.AgentStanding:
    """Where the most advanced agents stand; if they wrongly differ, where most of them do."""
    latest = max(where.round for where in standing)
    furthest = [where for where in standing if where.round == latest]
    (common, _), *_ = Counter((where.begun, where.arms) for where in furthest).most_common(1)
    slot = max(where.slot for where in furthest)
    return msgspec.structs.replace(furthest[0], begun=common[0], arms=common[1], slot=slot)
