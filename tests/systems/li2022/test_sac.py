"""Means on their way to a component's sink, over a fake network."""

from hypothesis import given, settings
from hypothesis import strategies as st

from posse.topologies import graphs
from posse.topologies.graphs import Graph, side_by_side
from posse.topologies.sinks import find_sinks
from posse_systems.li2022.sac import Relay
from posse_systems.li2022.theory import sac_links
from tests.support.federated import connected, deliver, spec


def relays(graph: Graph) -> list[Relay]:
    network = spec(
        "hdp-mab",
        graph.agents,
        {"kind": "edges", "edges": [list(edge) for edge in graph.edges()]},
    ).network(0)
    return [
        Relay(n, graph.agents, graph.neighbours[n], told)
        for n, told in enumerate(network.knowledge)
    ]


@settings(max_examples=30)
@given(connected, connected, st.integers(0, 100))
def test_sac_brings_every_mean_to_its_sink_one_hop_a_slot(a: Graph, b: Graph, order: int) -> None:
    graph = side_by_side([a, b, graphs.singles(1)])
    machines = relays(graph)
    deliver(machines, graph, rounds=2, order=order)
    sinks = find_sinks(graph)
    for sink, component in zip(sinks.sink, graph.components, strict=True):
        assert machines[sink].has == set(component)
        for j in component:
            assert machines[sink].rows[j].tolist() == [j, 20.0]
    assert sum(m.links for m in machines) == sac_links(graph) == sum(sinks.distance)
