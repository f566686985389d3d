"""Graphs, components and sinks against closed forms, networkx and brute force."""

import json
import re

import msgspec
import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.cli.main import main
from posse.errors import SpecError
from posse.spec.topology import TopologySpec, lay_out
from topologies import graphs
from topologies.components import side_by_side
from topologies.graphs import Graph
from topologies.sinks import find_sinks


def laid(kind: str, agents: int, run: int = 0, base: str = ".", **keys: object) -> Graph:
    return lay_out(msgspec.convert({"kind": kind, **keys}, TopologySpec), agents, 1, run, base)


def reference(graph: Graph) -> networkx.Graph:
    drawn = networkx.empty_graph(graph.agents)
    drawn.add_edges_from(graph.edges())
    return drawn


@pytest.mark.parametrize(
    ("graph", "size", "diameter", "centre"),
    [
        (graphs.complete(6), 15, 1, tuple(range(6))),
        (graphs.star(6), 5, 2, (0,)),
        (graphs.ring(6), 6, 3, tuple(range(6))),
        (graphs.ring(7), 7, 3, tuple(range(7))),
        (graphs.ring(2), 1, 1, (0, 1)),
        (graphs.ring(1), 0, 0, (0,)),
        (graphs.path(5), 4, 4, (2,)),
        (graphs.path(4), 3, 3, (1, 2)),
        (graphs.grid(2, 3), 7, 3, (1, 4)),
        (graphs.singles(3), 0, 0, (0, 1, 2)),
    ],
)
def test_closed_forms(graph: Graph, size: int, diameter: int, centre: tuple[int, ...]) -> None:
    assert (graph.size, graph.diameter, graph.centre) == (size, diameter, centre)


def test_algebraic_connectivity_closed_forms() -> None:
    assert graphs.complete(8).algebraic_connectivity() == pytest.approx(8)
    assert graphs.star(8).algebraic_connectivity() == pytest.approx(1)
    assert graphs.ring(8).algebraic_connectivity() == pytest.approx(2 - 2 * np.cos(np.pi / 4))
    assert graphs.ring(8).second_eigenvalue() == pytest.approx(np.cos(np.pi / 4))
    assert graphs.singles(4).algebraic_connectivity() == 0


edge_sets = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1]),
            max_size=30,
        ),
    )
)


@settings(deadline=None)
@given(edge_sets)
def test_distances_and_components_are_those_of_networkx(drawn: tuple[int, list]) -> None:
    graph = graphs.from_edges(*drawn)
    other = reference(graph)
    for i, lengths in networkx.all_pairs_shortest_path_length(other):
        expected = [lengths.get(j, graphs.UNREACHABLE) for j in range(graph.agents)]
        assert graph.distances[i].tolist() == expected
    parts = sorted(tuple(sorted(c)) for c in networkx.connected_components(other))
    assert list(graph.components) == parts
    assert graph.size == other.number_of_edges()


@settings(deadline=None)
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


def test_erdos_renyi_is_redrawn_until_connected_and_says_how_often() -> None:
    drawn = [laid("erdos-renyi", 50, run=run, p=0.1) for run in range(30)]
    assert all(graph.connected for graph in drawn)
    assert sum(graph.resamples for graph in drawn) > 0
    assert len({graph.neighbours for graph in drawn}) == 30
    assert laid("erdos-renyi", 50, run=3, p=0.1) == drawn[3]
    # mean edges 0.1 * 1225 = 122.5, sd of the mean of 30 about 1.9; connectedness adds little
    assert abs(np.mean([graph.size for graph in drawn]) - 122.5) < 8


def test_regular_has_the_degree() -> None:
    graph = laid("regular", 20, degree=3)
    assert set(graph.degrees) == {3}
    assert graph.connected


def test_components_follow_each_other() -> None:
    graph = laid(
        "components",
        9,
        components=[
            {"kind": "star", "count": 3},
            {"kind": "single"},
            {"kind": "grid", "rows": 2, "cols": 2},
            {"kind": "single"},
        ],
    )
    assert graph.components == ((0, 1, 2), (3,), (4, 5, 6, 7), (8,))
    assert graph == side_by_side(
        [graphs.star(3), graphs.singles(1), graphs.grid(2, 2), graphs.singles(1)]
    )


def test_files(tmp_path) -> None:
    (tmp_path / "g.txt").write_text("# a ring\n0 1\n1,2\n2 0  # closes it\n\n")
    assert laid("file", 3, base=str(tmp_path), path="g.txt") == graphs.ring(3)
    networkx.write_graphml(networkx.star_graph(4), tmp_path / "g.graphml")
    assert laid("file", 5, base=str(tmp_path), path="g.graphml") == graphs.star(5)


@pytest.mark.parametrize(
    ("agents", "keys", "where", "what"),
    [
        (3, {"kind": "edges", "edges": [[0, 9]]}, "topology.edges", "agent 9"),
        (3, {"kind": "edges", "edges": [[1, 1]]}, "topology.edges", "itself"),
        (5, {"kind": "regular", "degree": 3}, "topology.degree", "both|one of the two even"),
        (5, {"kind": "erdos-renyi", "p": 0.0}, "topology.p", "none is"),
        (5, {"kind": "grid", "rows": 2, "cols": 3}, "topology", "6 agents"),
        (5, {"kind": "star", "count": 4}, "topology", "4 agents"),
        (5, {"kind": "file", "path": "absent"}, "topology.path", "cannot be read"),
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


# --- posse topology -------------------------------------------------------------------------------


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        '[agents]\ncount = 9\n[topology]\nkind = "components"\ncomponents = '
        '[{ kind = "path", count = 5 }, { kind = "star", count = 3 }, { kind = "single" }]\n'
    )
    return path


def test_the_command_describes_a_graph(run_file, capsys) -> None:
    assert main(["topology", str(run_file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["edges"] == 6
    assert facts["degrees"] == {"least": 0, "mean": pytest.approx(12 / 9), "greatest": 2}
    assert (facts["components"], facts["diameter"]) == ([5, 3, 1], 4)
    assert (facts["sinks"], facts["centre"]) == ([2, 5, 8], [2, 5, 8])
    assert facts["eccentricities_of_sinks"] == [2, 1, 0]
    assert main(["topology", str(run_file), "--set", "topology={ kind = 'ring' }"]) == 0
    printed = capsys.readouterr().out
    # 2 - 2 cos(2 pi / 9)
    assert re.search(r"algebraic connectivity\s+0\.4679\n", printed)


@pytest.mark.parametrize("name", ["g.png", "g.svg"])
def test_the_command_draws_with_sinks_marked(run_file, name, tmp_path) -> None:
    assert main(["topology", str(run_file), "--draw", str(tmp_path / name)]) == 0
    drawn = (tmp_path / name).read_bytes()
    if name.endswith("png"):
        assert drawn.startswith(b"\x89PNG")
    else:
        assert b"<svg" in drawn
        # three sinks and one more in the legend
        assert drawn.count(b"fill: #f58518") == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "agents.count=8"], "topology: has 9 agents, but agents.count is 8"),
        (["--set", "topology={ kind = 'rong' }"], "topology.kind: 'rong' is not known"),
        (["--set", "topology.x=1"], "topology.x: unknown key"),
        (["--set", "agents.count='many'"], "agents.count: is 'many'"),
        (["--draw", "g.pdf"], "must end in .png or .svg"),
    ],
)
def test_the_command_refuses_with_a_sentence(run_file, arguments, said, capsys) -> None:
    assert main(["topology", str(run_file), *arguments]) in (1, 2)
    assert said in capsys.readouterr().err


def test_listing_names_every_kind(capsys) -> None:
    assert main(["list", "topologies"]) == 0
    printed = capsys.readouterr().out
    for kind in ("complete", "erdos-renyi", "components", "file", "grid"):
        assert f"\n  {kind}: " in printed
