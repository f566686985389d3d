"""Graphs against closed forms and networkx."""

from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from posse.topologies import graphs
from tests.support.conversations import examples
from tests.support.graphs import edge_sets, laid, reference


@given(st.integers(3, 40))
@example(8)
def test_algebraic_connectivity_closed_forms(n: int) -> None:
    turn = np.cos(2 * np.pi / n)
    assert graphs.complete(n).algebraic_connectivity() == pytest.approx(n)
    assert graphs.star(n).algebraic_connectivity() == pytest.approx(1)
    assert graphs.ring(n).algebraic_connectivity() == pytest.approx(2 - 2 * turn)
    assert graphs.ring(n).second_eigenvalue() == pytest.approx(turn)
    assert graphs.singles(n).algebraic_connectivity() == 0


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


@examples(Path(__file__).with_name("graphs.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()


@given(st.integers(3, 30), st.integers(2, 6), st.integers(0, 99))
def test_regular_graphs_have_one_degree_and_are_connected(
    agents: int, degree: int, run: int
) -> None:
    assume(degree < agents and agents * degree % 2 == 0)
    graph = laid("regular", agents, run=run, degree=degree)
    assert set(graph.degrees) == {degree}
    assert graph.connected
    assert graph == laid("regular", agents, run=run, degree=degree)


@given(
    st.lists(st.sampled_from(["path", "ring", "star", "complete"]), min_size=1, max_size=4),
    st.integers(3, 6),
)
def test_components_follow_each_other_and_each_is_what_it_is_alone(
    kinds: list[str], count: int
) -> None:
    parts = [{"kind": kind, "count": count} for kind in kinds]
    graph = laid("components", count * len(kinds), components=parts)
    for number, kind in enumerate(kinds):
        first = number * count
        assert graph.components[number] == tuple(range(first, first + count))
        alone = laid(kind, count)
        here = graph.neighbours[first : first + count]
        assert [[n - first for n in near] for near in here] == [[*n] for n in alone.neighbours]
