"""Topologies by networkx's generators and by the user's own code."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.errors import SpecError
from posse.spec.explain import convert
from posse.spec.topology import TopologySpec, lay_out
from tests.support.conversations import examples


def graph(table: dict[str, Any], agents: int, run: int = 0, base: str = "."):
    return lay_out(convert(table, TopologySpec, "topology"), agents, 7, run, base)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"generator": "no_such_graph"}, "topology.generator: networkx has no generator"),
        ({"generator": "shortest_path"}, "networkx has no generator 'shortest_path'"),
        ({"generator": "Graph"}, "networkx has no generator 'Graph'"),
        ({"generator": "nx.readwrite.read_gml"}, "networkx has no generator 'nx.readwrite"),
        ({"generator": "utils.misc.os.system"}, "networkx has no generator 'utils.misc"),
        ({"generator": "star_graph"}, "topology.parameters: do not suit star_graph"),
        ({"generator": "trivial_graph"}, "has 1 node, but agents.count is 20"),
        ({"generator": "petersen_graph"}, "has 10 nodes, but agents.count is 20"),
    ],
)
def test_mistakes_name_the_key(table: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        graph({"kind": "networkx"} | table, 20)


@pytest.mark.parametrize(
    ("name", "centre"), [("{}", 2), ("str({})", 2), ("'n' + str({})", 0), ("({}, 0)", 0)]
)
def test_nodes_that_are_ranks_are_these_agents_and_others_in_order(
    tmp_path, monkeypatch, name: str, centre: int
) -> None:
    """As edges [(2, 0), (2, 1), (2, 3)] are, whose node 2 networkx has first."""
    ends = ", ".join(f"({name.format(2)}, {name.format(i)})" for i in (0, 1, 3))
    (tmp_path / "own_nodes.py").write_text(
        f"import networkx\ndef star(agents, seed): return networkx.Graph([{ends}])\n"
    )
    monkeypatch.setattr("sys.path", [*sys.path])
    made = graph({"kind": "python", "target": "own_nodes:star"}, 4, base=str(tmp_path))
    assert made.degrees.index(3) == centre


OWN_EDGES = """
def wheel(agents, seed):
    return [(0, i) for i in range(1, agents)] + [(1, 2)] * (seed >= 0)
def broken(agents, seed):
    return 1 / 0
def far(agents, seed):
    return [(0, agents)]
def halves(agents, seed):
    return [(0.5, 1)]
def leaves(agents, seed):
    raise SystemExit(0)
"""


@pytest.fixture
def own_edges(tmp_path, monkeypatch) -> str:
    (tmp_path / "own_edges.py").write_text(OWN_EDGES)
    monkeypatch.setattr("sys.path", [*sys.path])
    return str(tmp_path)


def test_ones_own_function_gives_edges(own_edges: str) -> None:
    made = graph({"kind": "python", "target": "own_edges:wheel"}, 4, base=own_edges)
    assert sorted(made.edges()) == [(0, 1), (0, 2), (0, 3), (1, 2)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", r"'own_edges:broken' .*ZeroDivisionError.*own_edges\.py:5"),
        ("leaves", r"'own_edges:leaves' .*SystemExit: 0 \(.*edges\.py:11"),
        ("halves", "'own_edges:halves' cannot be used: TypeError: 'float'"),
        ("far", "'own_edges:far': .* names agent 4"),
    ],
)
def test_what_ones_own_function_does_wrong_is_named(own_edges: str, name: str, said: str) -> None:
    with pytest.raises(SpecError, match=f"^topology.target: {said}"):
        graph({"kind": "python", "target": f"own_edges:{name}"}, 4, base=own_edges)


@examples(Path(__file__).with_name("topology_of_ones_own.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
