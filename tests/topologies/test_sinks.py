"""Sinks and the ways to them, against brute force."""

from hypothesis import given

from posse.topologies import graphs
from posse.topologies.sinks import find_sinks
from tests.support.graphs import edge_sets


@given(edge_sets)
def test_sinks_are_centres_and_ways_are_shortest(drawn: tuple[int, list]) -> None:
    graph = graphs.from_edges(*drawn)
    sinks = find_sinks(graph)
    for q, component in enumerate(graph.components):
        worst = {i: max(graph.distances[i, j] for j in component) for i in component}
        assert worst[sinks.sink[q]] == min(worst.values()) == sinks.eccentricity[q]
        assert sinks.sink[q] == min(i for i in component if worst[i] == min(worst.values()))
        for i in component:
            steps, at = 0, i
            while (following := sinks.towards[at]) is not None:
                assert following in graph.neighbours[at]
                at, steps = following, steps + 1
            assert (at, steps) == (sinks.sink[q], sinks.distance[i])
            assert steps == graph.distances[i, sinks.sink[q]]
