"""The links between agents in one run, and what each agent is told about them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from posse.measure.numbers import counted
from posse.results.record import NetworkFacts
from posse.topologies.graphs import Graph, from_edges


@dataclass(frozen=True)
class Network:
    """The topology of a run as each process may know it.

    `neighbours[n]` are the ranks that agent n is told, `knowledge[n]` what else it is told,
    `server` what a coordinator's machine is told. `facts` go into the result.
    """

    neighbours: list[tuple[int, ...]]
    knowledge: list[dict[str, Any]]
    server: dict[str, Any] = field(default_factory=dict)
    facts: NetworkFacts = field(default_factory=NetworkFacts)

    def fault(self, agents: int) -> str:
        """What is wrong with this network of this many agents, to end a sentence with; else ""."""
        if not len(self.neighbours) == len(self.knowledge) == agents:
            rows = f"{counted(len(self.neighbours), 'row')} of neighbours"
            return f"has {rows} and {len(self.knowledge)} of knowledge for {agents} agents"
        ranks: list[Any] = [n for near in self.neighbours for n in near]
        if any(type(n) is not int for n in ranks):
            return "has neighbours that are no ints; make them so by int() or an array's tolist()"
        if any(not 0 <= n < agents for n in ranks):
            return "has neighbours that do not exist"
        near = [set(row) for row in self.neighbours]
        for rank, row in enumerate(self.neighbours):
            if rank in near[rank] or len(row) != len(near[rank]):
                return (
                    f"gives agent {rank} the neighbours {row!r:.80}; it must be others, each once"
                )
            if one_way := [n for n in row if rank not in near[n]]:
                return (
                    f"links agent {rank} to {one_way[0]} and not {one_way[0]} to {rank}; links "
                    "have no direction"
                )
        try:
            msgspec.msgpack.encode(self.knowledge)
        except TypeError as error:
            return (
                f"has knowledge that cannot be sent: {error}; give it plain numbers, by float(), "
                "int() or an array's tolist()"
            )
        return ""

    def parts(self, without: Collection[int] = ()) -> list[tuple[int, ...]]:
        """The connected parts `without` these agents; an agent with no neighbours is in none."""
        rest = Graph(
            tuple(
                () if n in without else tuple(j for j in near if j not in without)
                for n, near in enumerate(self.neighbours)
            )
        )
        linked = (part for part in rest.components if any(self.neighbours[n] for n in part))
        return [part for part in linked if part[0] not in without]


def remaining(neighbours: Sequence[tuple[int, ...]], members: Collection[int]) -> Graph:
    """The graph of these links between members alone."""
    kept = set(members)
    edges = ((i, j) for i in kept for j in neighbours[i] if i < j and j in kept)
    return from_edges(len(neighbours), edges)


def along(
    graph: Graph,
    knowledge: list[dict[str, Any]] | None = None,
    server: dict[str, Any] | None = None,
    facts: NetworkFacts | None = None,
) -> Network:
    """A network with links along the edges of a graph; its sizes are added to `facts`."""
    return Network(
        list(graph.neighbours),
        knowledge or [{} for _ in range(graph.agents)],
        server or {},
        msgspec.structs.replace(
            facts or NetworkFacts(),
            agents=graph.agents,
            edges=graph.size,
            components=[len(component) for component in graph.components],
            diameter=graph.diameter,
            resamples=graph.resamples,
            names=list(graph.names) or None,
        ),
    )
