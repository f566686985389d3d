"""Graphs of files and of networkx: what they say, or a sentence that names line or format."""

import json

import networkx
import pytest

from posse.errors import SpecError
from posse.spec.topology import NetworkX, lay_out
from posse.topologies import graphs
from tests.support.graphs import laid


def read(folder, name: str, text: str, agents: int):
    (folder / name).write_text(text)
    return laid("file", agents, base=str(folder), path=name)


def test_node_links_are_read_as_every_networkx_writes_them(tmp_path) -> None:
    """Version 3.4 calls the links "edges"."""
    ring = networkx.cycle_graph(4)
    for key in ("links", "edges"):
        text = json.dumps(networkx.node_link_data(ring, edges=key))
        assert read(tmp_path, "g.json", text, 4) == graphs.ring(4)
    for other in (networkx.adjacency_data(ring), [[0, 1], [1, 2]], 4):
        with pytest.raises(SpecError, match=r"is not a graph as \.json has it.*\.graphml"):
            read(tmp_path, "g.json", json.dumps(other), 4)


def test_gml_without_labels_names_its_nodes_by_their_numbers(tmp_path) -> None:
    nodes = "".join(f"node [ id {number} ]\n" for number in (10, 9, 5))
    text = f"graph [\n{nodes}edge [ source 5 target 9 ]\n]\n"
    graph = read(tmp_path, "g.gml", text, 3)
    assert graph.names == ("5", "9", "10")
    assert graph == graphs.from_edges(3, [(0, 1)], names=("5", "9", "10"))


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("graphml", networkx.write_graphml),
        ("gexf", networkx.write_gexf),
        ("gml", networkx.write_gml),
        ("g6", networkx.write_graph6),
        ("s6", networkx.write_sparse6),
    ],
)
def test_formats_of_networkx_are_read_by_the_end_of_their_name(tmp_path, ending, write) -> None:
    path = tmp_path / f"g.{ending}"
    write(networkx.cycle_graph(4), path)
    assert laid("file", 4, base=str(tmp_path), path=path.name) == graphs.ring(4)
    path.write_text("[1, 2")
    named = "GraphML" if ending == "graphml" else rf"a graph as \.{ending} has it"
    with pytest.raises(SpecError, match=f"is not {named}"):
        laid("file", 4, base=str(tmp_path), path=path.name)


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ([2, 1, 3], ("1", "2", "3")),
        (["n10", "n2", "m"], ("n10", "n2", "m")),
        ([10, 2, -1], ("-1", "2", "10")),
    ],
)
def test_numbers_become_agents_by_value_and_names_as_they_appear(tmp_path, nodes, names) -> None:
    drawn = networkx.Graph()
    drawn.add_nodes_from(nodes)
    networkx.add_path(drawn, nodes)
    networkx.write_graphml(drawn, tmp_path / "g.graphml")
    graph = laid("file", 3, base=str(tmp_path), path="g.graphml")
    assert graph.names == names
    own = {name: index for index, name in enumerate(names)}
    first, second, third = (own[str(node)] for node in nodes)
    assert set(graph.edges()) == {tuple(sorted(e)) for e in [(first, second), (second, third)]}


def test_an_edge_with_one_end_is_said(tmp_path) -> None:
    (tmp_path / "g.gexf").write_text(
        '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph><nodes><node id="0"/>'
        '</nodes><edges><edge id="e" source="0"/></edges></graph></gexf>'
    )
    with pytest.raises(SpecError, match="an edge lacks its source or its target"):
        laid("file", 2, base=str(tmp_path), path="g.gexf")


@pytest.mark.parametrize(
    ("name", "agents", "parameters"),
    [
        ("stochastic_block_model", 8, {"sizes": [4, 4], "p": [[0.9, 0.5], [0.5, 0.9]]}),
        ("balanced_tree", 7, {"r": 2, "h": 2}),
        ("random_labeled_tree", 9, {"n": 9}),
        ("full_rary_tree", 9, {"r": 2, "n": 9}),
        ("configuration_model", 6, {"deg_sequence": [3, 3, 3, 3, 2, 2]}),
        ("scale_free_graph", 20, {"n": 20}),
        ("random_geometric_graph", 12, {"n": 12, "radius": 0.7}),  # imports scipy first
        ("bipartite.random_graph", 10, {"n": 5, "m": 5, "p": 0.8}),
        ("nx.generators.random_graphs.gnm_random_graph", 10, {"n": 10, "m": 20}),
    ],
)
def test_generators_have_whatever_name_networkx_gives_them(name, agents, parameters) -> None:
    for run in range(8):  # with loops and repeated edges in some
        graph = lay_out(NetworkX(generator=name, parameters=parameters), agents, 6, run)
        assert graph.agents == agents
        assert graph.connected
        assert all(i != j for i, j in graph.edges())
