"""The table [topology]: files, and what is wrong in it."""

import networkx
import pytest

from posse.errors import SpecError
from posse.topologies import graphs
from tests.support.graphs import laid


def test_files(tmp_path) -> None:
    (tmp_path / "g.txt").write_text("# a ring\n0 1\n1,2\n2 0  # closes it\n\n")
    assert laid("file", 3, base=str(tmp_path), path="g.txt") == graphs.ring(3)
    networkx.write_graphml(networkx.star_graph(4), tmp_path / "g.graphml")
    assert laid("file", 5, base=str(tmp_path), path="g.graphml") == graphs.star(5)


@pytest.mark.parametrize(
    ("agents", "keys", "where", "what"),
    [
        (3, {"kind": "edges", "edges": [[0, 9]]}, "topology.edges", "agent 9"),
        (5, {"kind": "regular", "degree": 3}, "topology.degree", "both|one of the two even"),
        (5, {"kind": "erdos-renyi", "p": 0.0}, "topology.p", "none is"),
        (5, {"kind": "grid", "rows": 2, "cols": 3}, "topology", "6 agents"),
        (5, {"kind": "star", "count": 4}, "topology", "4 agents"),
        (5, {"kind": "file", "path": "absent"}, "topology.path", "cannot be read"),
        (
            5,
            {"kind": "networkx", "generator": "subgraph", "parameters": {"G": 7, "nbunch": 2}},
            "topology.parameters",
            "do not suit subgraph: 'int' object",
        ),
        (5, {"kind": "components", "components": []}, "topology", "0 agents"),
        (
            5,
            {"kind": "components", "components": [{"kind": "star"}]},
            "topology.components[0].count",
            "required",
        ),
        (
            5,
            {
                "kind": "components",
                "components": [{"kind": "star", "count": 5}, {"kind": "ring", "count": 0}],
            },
            "topology.components[1].count",
            "at least one",
        ),
        (
            3,
            {"kind": "components", "components": [{"kind": "edges", "edges": [], "count": 3}]},
            "topology.components[0]",
            "not connected",
        ),
    ],
)
def test_impossible_topologies_name_the_key(agents, keys, where, what) -> None:
    with pytest.raises(SpecError, match=what) as error:
        laid(keys.pop("kind"), agents, **keys)
    assert error.value.path == where


@pytest.mark.parametrize("text", ["0\n", "0 x\n", "0 1\n0 7\n"])
def test_bad_edge_lists_name_file_and_line(tmp_path, text: str) -> None:
    (tmp_path / "g").write_text(text)
    with pytest.raises(SpecError) as error:
        laid("file", 3, base=str(tmp_path), path="g")
    assert error.value.path == "topology.path"
    assert str(tmp_path / "g") in str(error.value)


def test_bad_graphml(tmp_path) -> None:
    (tmp_path / "g.graphml").write_text("<not")
    with pytest.raises(SpecError, match="GraphML"):
        laid("file", 3, base=str(tmp_path), path="g.graphml")
    networkx.write_graphml(networkx.star_graph(4), tmp_path / "h.graphml")
    with pytest.raises(SpecError, match="5 nodes"):
        laid("file", 3, base=str(tmp_path), path="h.graphml")


def test_a_list_of_edges_is_read_without_its_self_loops() -> None:
    graph = graphs.from_edges(3, [(0, 1), (1, 1), (2, 1), (1, 0)])
    assert graph.neighbours == ((1,), (0, 2), (1,))
