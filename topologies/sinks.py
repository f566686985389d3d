"""Sink agents and the shortest paths to them (Li and Song 2022, Algorithm 4).

Symbols: Q components, M_q agents in component q, SA_q its sink, sd(i, j) the shortest distance.
"""

from dataclasses import dataclass

from posse.topologies.graphs import Graph


@dataclass(frozen=True)
class Sinks:
    """The sinks, and each agent's way to its own.

    `sink[q]` is SA_q. `towards[i]` is the next hop of agent i, None at a sink. `distance[i]` is
    sd(i, SA_q) and `eccentricity[q]` the largest of these in component q.
    """

    sink: tuple[int, ...]
    towards: tuple[int | None, ...]
    distance: tuple[int, ...]
    eccentricity: tuple[int, ...]


def find_sinks(graph: Graph) -> Sinks:
    """SA_q = argmin_i max_j sd(i, j) in each component q, the lowest agent of several.

    Agents send along a shortest path; of several next hops the lowest is taken.
    """
    sink = tuple(
        min(component, key=lambda i: (graph.eccentricities[i], i)) for component in graph.components
    )
    towards: list[int | None] = [None] * graph.agents
    distance = [0] * graph.agents
    for q, component in enumerate(graph.components):
        away = graph.distances_from(sink[q])
        for i in component:
            distance[i] = int(away[i])
            if distance[i]:
                towards[i] = min(j for j in graph.neighbours[i] if away[j] == distance[i] - 1)
    eccentricity = tuple(graph.eccentricities[i] for i in sink)
    return Sinks(sink, tuple(towards), tuple(distance), eccentricity)
