"""Graphs against closed forms and networkx."""

import networkx
import numpy as np
import pytest
from hypothesis import given

from posse.topologies import graphs
from posse.topologies.graphs import Graph
from tests.support.graphs import edge_sets, laid, reference


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


@given(edge_sets)
def test_eccentricities_are_the_largest_distances(drawn: tuple[int, list]) -> None:
    graph = graphs.from_edges(*drawn)
    assert list(graph.eccentricities) == graph.distances.max(axis=1).tolist()


def test_eccentricities_of_many_agents_are_measured_64_at_a_time_and_of_a_long_path_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torus = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(15, 15, periodic=True))
    monkeypatch.setattr(graphs, "_WORDS", 1)  # 225 agents in four blocks
    assert graphs.from_edges(225, torus.edges).eccentricities == (14,) * 225
    assert graphs.path(201).centre == (100,)


@given(edge_sets)
def test_distances_and_components_are_those_of_networkx(drawn: tuple[int, list]) -> None:
    graph = graphs.from_edges(*drawn)
    other = reference(graph)
    for i, lengths in networkx.all_pairs_shortest_path_length(other):
        expected = [lengths.get(j, -1) for j in range(graph.agents)]
        assert graph.distances[i].tolist() == expected
    parts = sorted(tuple(sorted(c)) for c in networkx.connected_components(other))
    assert list(graph.components) == parts
    assert graph.size == other.number_of_edges()


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
    assert graph == graphs.side_by_side(
        [graphs.star(3), graphs.singles(1), graphs.grid(2, 2), graphs.singles(1)]
    )
