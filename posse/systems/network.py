"""Who hears whom in one run, and what each is told of it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from posse.results.record import NetworkFacts
from topologies.graphs import Graph


@dataclass(frozen=True)
class Network:
    """What the coordinator's host knows of the topology, and what each agent is told of it.

    `neighbours[n]` are the names agent n is given, `knowledge[n]` what else it may know;
    `server` is what a coordinator's machine is told; `facts` go into the result.
    """

    neighbours: list[tuple[int, ...]]
    knowledge: list[dict[str, Any]]
    server: dict[str, Any] = field(default_factory=dict)
    facts: NetworkFacts = field(default_factory=NetworkFacts)

    def fault(self, agents: int) -> str:
        """What is wrong with it for so many agents, as the end of a sentence; "" if nothing."""
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
        """The agents that hear of each other, directly or by others, when these are not there.

        Nobody where agents have no neighbours.
        """
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
    """Links along the edges of a graph; `facts` gains its sizes."""
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
