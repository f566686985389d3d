"""Graphs for tests."""

import msgspec
import networkx
from hypothesis import strategies as st

from posse.spec.topology import TopologySpec, lay_out
from posse.topologies.graphs import Graph


def laid(kind: str, agents: int, run: int = 0, base: str = ".", **keys: object) -> Graph:
    return lay_out(msgspec.convert({"kind": kind, **keys}, TopologySpec), agents, 1, run, base)


def reference(graph: Graph) -> networkx.Graph:
    drawn = networkx.empty_graph(graph.agents)
    drawn.add_edges_from(graph.edges())
    return drawn


edge_sets = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1]),
            max_size=30,
        ),
    )
)
