"""Three-way handshakes over a fake network: what is known when, what it costs, what is refused."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from posse.topologies.graphs import Graph
from posse_systems.li2022.theory import gis_links
from tests.support.federated import connected, deliver, flooding, gis


@settings(max_examples=40)
@given(connected, st.sampled_from([gis, flooding]), st.integers(0, 100))
def test_knowledge_after_slot_n_is_the_ball_of_radius_n(
    graph: Graph, kind: Any, order: int
) -> None:
    machines = kind(graph)
    known = deliver(machines, graph, rounds=2, order=order)
    for i in range(graph.agents):
        assert len(known[i]) == graph.diameter + 1
        for n, has in enumerate(known[i]):
            assert has == {j for j in range(graph.agents) if graph.distances[i, j] <= n}
        assert (machines[i].rows == [[j, 20.0] for j in range(graph.agents)]).all()
    assert sum(machine.links for machine in machines) == gis_links(graph)
