"""Edge lists: nodes by rank, number or name, weights that are asked for, and sentences by line."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.errors import SpecError
from posse.spec.edge_list import read_edges
from posse.topologies import graphs
from tests.support.graphs import laid


def read(folder: Path, name: str, text: str, agents: int, **keys: Any) -> graphs.Graph:
    (folder / name).write_text(text)
    return laid("file", agents, base=str(folder), path=name, **keys)


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n2 0\n",
        "# a ring\n0 1\n1,2\n2 0  # closes it\n\n",
        "% sym unweighted\n% 3 3 3\n0 1\n1 2\n2 0\n",
        "\ufeff0 , 1\n1,2\n2 0\n",
        "0 1 {}\n1 2 {}\n2 0 {}\n",  # as networkx writes edges without data
        "0 0\n0 1\n1 0\n1 2\n0 2\n",
    ],
)
def test_lists_of_edges_have_comments_commas_and_marks(tmp_path, text) -> None:
    assert read(tmp_path, "g.txt", text, 3) == graphs.ring(3)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("% sym\n1 2\n2 3\n3 1\n", ("1", "2", "3")),  # KONECT, which counts from one
        ("# Nodes: 3 Edges: 3\n10\t9\n9\t007\n7\t10\n", ("7", "9", "10")),  # SNAP
        ("ann\tbob o'hara\nbob o'hara\tcy\ncy\tann\n", ("ann", "bob o'hara", "cy")),
    ],
)
def test_nodes_become_agents_by_value_and_names_as_they_appear(tmp_path, text, names) -> None:
    graph = read(tmp_path, "out.txt", text, 3)
    assert (graph.names, set(graph.edges())) == (names, {(0, 1), (1, 2), (0, 2)})


def test_numbers_from_zero_are_ranks_whatever_is_alone(tmp_path) -> None:
    graph = read(tmp_path, "g.txt", "0 1\n", 3)
    assert (graph.names, list(graph.edges())) == ((), [(0, 1)])


MATRIX = "%%MatrixMarket matrix coordinate real symmetric\n% by hand\n3 3 2\n2 1 .5\n3 2 2\n"


@pytest.mark.parametrize("text", ["1 2 0.5\n2 3 2 1290000\n", MATRIX])
def test_weights_are_kept_or_left_out_as_is_asked(tmp_path, text) -> None:
    with pytest.raises(SpecError, match=r'if the third is its weight, weights = "NAME" keeps it'):
        read(tmp_path, "g.mtx", text, 3)
    kept = read(tmp_path, "g.mtx", text, 3, weights="delay")
    assert kept.attributes == {(0, 1): {"delay": 0.5}, (1, 2): {"delay": 2.0}}
    assert read(tmp_path, "g.mtx", text, 3, weights="") == graphs.from_edges(
        3, [(0, 1), (1, 2)], names=("1", "2", "3")
    )
    twice = read_edges("0 1 2\n1 0 3\n0 0 9\n", 2, "delay").attributes
    assert math.isnan(twice[0, 1]["delay"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1 3\n1 0 2\n2 1 3\n3 2 0\n", "line 1 has 3 words, '0 1 3'; two are the nodes"),
        ("0 1\n1\n", "line 2 must have two nodes, and has 1 word"),
        ("source,target\n0,1\n", "line 1 names 'source' where other lines have whole numbers"),
        ("from,to\nann,bob\n", "line 1 names 'from'.* or as a header does"),
        ("0 1\n1_0 2\n", "line 2 names '1_0'"),  # which Python reads as ten
        ("0 1\n1.0 2\n", "line 2 names '1.0'"),
        ("% sym\n1 2\n2 3\n", "it names 3 nodes, of which the first is '1', but agents.count is 4"),
        ("4 3\n0 1\n1 2\n2 3\n", "it names 5 nodes"),
        (MATRIX.replace("coordinate", "array"), "only 'matrix coordinate' is a graph"),
        (MATRIX.replace("3 3 2", "3 4 2"), "3 rows and 4 columns"),
        (MATRIX.replace("3 3 2", "3 3 3"), "says that it has 3 entries, and has 2"),
    ],
)
def test_what_is_no_edge_list_is_said_by_line(tmp_path, text, said) -> None:
    with pytest.raises(SpecError, match=said) as error:
        read(tmp_path, "g.txt", text, 4)
    assert error.value.path == "topology.path"
    assert str(tmp_path / "g.txt") in str(error.value)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(1, 99))
def test_shifted_numbers_are_the_same_graph(edges: list[tuple[int, int]], by: int) -> None:
    seen = sorted({node for edge in edges for node in edge})
    rank = {node: place for place, node in enumerate(seen)}
    text = "".join(f"{a + by} {b + by}\n" for a, b in edges)
    expected = graphs.from_edges(len(seen), [(rank[a], rank[b]) for a, b in edges])
    assert set(read_edges(text, len(seen), None).edges()) == set(expected.edges())
