"""Files of graphs from which networkx would read another graph, or less: each is refused."""

import bz2
import gzip
import json
import lzma
import math
from dataclasses import replace

import pytest

from posse.errors import SpecError
from posse.spec.network import NetworkSpec
from posse.topologies import graphs
from tests.support.graphs import laid

PATH = graphs.from_edges(3, [(0, 1), (1, 2)])
XML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
GRAPH = '<graph edgedefault="undirected">'


def read(folder, name: str, content: bytes, agents: int = 3):
    (folder / name).write_bytes(content)
    return laid("file", agents, base=str(folder), path=name)


def graphml(*inside: str) -> str:
    return f"{XML}{GRAPH}{''.join(inside)}</graph></graphml>"


def nodes(names: str) -> str:
    return "".join(f'<node id="{name}"/>' for name in names)


def edges(*pairs: str) -> str:
    return "".join(f'<edge source="{a}" target="{b}"/>' for a, b in map(tuple, pairs))


def links(ids: list[object], pairs: list[tuple[object, object]]) -> str:
    ends = [{"source": one, "target": other} for one, other in pairs]
    return json.dumps({"nodes": [{"id": name} for name in ids], "links": ends})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.csv", "0,,1\n1,,2\n", "has 3 words"),
        ("g.csv", "0,1,\n1,2,\n", "has 3 words"),
        ("g.csv", ",0,1\n,1,2\n", "has 3 words"),
        ("g.graphml", graphml(nodes("aac"), edges("ab", "bc")), "two nodes named 'a'"),
        ("g.json", links([0, 0, 2], [(0, 1), (1, 2)]), "two nodes named '0'"),
        ("g.json", '{"nodes": [{"id": 0}], "adjacency": []}', "neither 'edges' nor 'links'"),
        ("g.graphml", graphml(nodes("ab"), edges("ab", "bc")), "lists 2 nodes, of which 3"),
        (
            "g.graphml",
            graphml(nodes("ab"), f'<node id="c">{GRAPH}{nodes("de")}</graph></node>'),
            "lists 5 nodes, of which 3",
        ),
        (
            "g.graphml",
            graphml(nodes("abc"), edges("ab", "bc"), f"</graph>{GRAPH}{nodes('abc')}"),
            "has 2 graphs",
        ),
        ("g.g6", "BW\nBW\n", "has 2 graphs"),
        ("g.json", links(["a"], [(0, 1)]), "lists 1 node, of which 3"),
        ("g.json", links([1, 2, 1, 3], [(1, 2), (2, 3)]), "two nodes named '1'"),
        ("g.json", links([1, "1", 2], [(1, 2), (2, "1")]), "two nodes named '1'"),
        ("g.json", '{"nodes": [], "links": [], "edges": []}', "both 'edges' and 'links'"),
        ("g.json", '{"nodes": [], "links": [], "links": []}', "'links' is there twice"),
    ],
)
def test_what_would_be_read_as_another_graph_is_refused(tmp_path, name, text, said) -> None:
    with pytest.raises(SpecError, match=said):
        read(tmp_path, name, text.encode())


def test_packed_files_are_read_to_their_ends(tmp_path) -> None:
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        whole = pack(b"0 1\n") + pack(b"1 2\n")
        assert read(tmp_path, f"g.txt{ending}", whole) == PATH
        for content in (b"0 1\n1 2\n", whole[:-9]):
            with pytest.raises(SpecError, match=f"cannot be unpacked as {ending}"):
                read(tmp_path, f"g.txt{ending}", content)
        with pytest.raises(SpecError, match="unpacks to more than"):
            read(tmp_path, f"g.txt{ending}", pack(bytes(1 << 20)))


def test_an_edge_with_two_delays_has_none(tmp_path) -> None:
    """As a directed graph has them, one for each direction."""
    ends = [(0, 1, "3"), (1, 0, "4"), (1, 2, "1_0"), (2, 1, "5")]
    arcs = [{"source": one, "target": other, "delay": late} for one, other, late in ends]
    graph = {"directed": True, "nodes": [{"id": n} for n in range(3)], "links": arcs}
    found = read(tmp_path, "g.json", json.dumps(graph).encode()).attributes
    assert math.isnan(found[0, 1]["delay"])
    assert found[1, 2] == {"delay": 5.0}
    of_edges = NetworkSpec(edges={"delay": "delay"}).of_edges
    with pytest.raises(SpecError, match="the edge 0–1 has no single finite number 'delay'"):
        of_edges(replace(PATH, attributes=found))
