"""The links between agents in one run, and what each agent is told about them."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from posse.results.record import NetworkFacts
from topologies.graphs import Graph


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
        """What is wrong with this network of so many agents, to end a sentence with; else ""."""
        if not len(self.neighbours) == len(self.knowledge) == agents:
            rows = (
                f"{len(self.neighbours)} rows of neighbours and {len(self.knowledge)} of knowledge"
            )
            return f"has {rows} for {agents} agents"
        if any(not 0 <= n < agents for near in self.neighbours for n in near):
            return "has neighbours that do not exist"
        try:
            msgspec.msgpack.encode(self.knowledge)
        except TypeError as error:
            return f"has knowledge that cannot be sent: {error}"
        return ""

    def parts(self, without: Collection[int] = ()) -> list[tuple[int, ...]]:
        """The connected parts `without` these agents; an agent with no neighbours is in none."""
        left = Graph(
            tuple(
                () if n in without else tuple(j for j in near if j not in without)
                for n, near in enumerate(self.neighbours)
            )
        )
        linked = (part for part in left.components if any(self.neighbours[n] for n in part))
        return [part for part in linked if part[0] not in without]


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
        ),
    )
