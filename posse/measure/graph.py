"""Numbers that describe a graph."""

import msgspec

from topologies.graphs import Graph
from topologies.sinks import find_sinks


class Degrees(msgspec.Struct):
    """The degrees of all agents."""

    least: int
    mean: float
    greatest: int


class GraphFacts(msgspec.Struct, kw_only=True):
    """Size, degrees, diameter, centre, connectivity, sinks and the sizes of components."""

    agents: int
    edges: int
    degrees: Degrees
    components: list[int]
    diameter: int
    centre: list[int]
    sinks: list[int]
    eccentricities_of_sinks: list[int]
    algebraic_connectivity: float
    second_eigenvalue: float
    resamples: int


def measure(graph: Graph) -> GraphFacts:
    """Measure a graph."""
    sinks = find_sinks(graph)
    return GraphFacts(
        agents=graph.agents,
        edges=graph.size,
        degrees=Degrees(min(graph.degrees), sum(graph.degrees) / graph.agents, max(graph.degrees)),
        components=[len(component) for component in graph.components],
        diameter=graph.diameter,
        centre=list(graph.centre),
        sinks=list(sinks.sink),
        eccentricities_of_sinks=list(sinks.eccentricity),
        algebraic_connectivity=graph.algebraic_connectivity(),
        second_eigenvalue=graph.second_eigenvalue(),
        resamples=graph.resamples,
    )
