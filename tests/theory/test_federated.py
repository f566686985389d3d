"""Links and costs of federated elimination in closed form, by hand."""

import math

import numpy as np
import pytest

from posse.theory import federated
from posse.theory.federated import gis_links, gis_links_paper, sac_links
from protocol.federated import Schedule
from topologies import graphs
from topologies.graphs import Graph, side_by_side

GAPS = np.array([0.0, 0.5, 0.25])


def test_gis_links_in_general_graphs_are_fewer_than_the_paper_says() -> None:
    graph = graphs.path(4)  # d_G = 3; eccentricities 3, 2, 2, 3: edges min(3, 1+3), min(3, 1+2), …
    assert gis_links(graph) == 9 == gis_links_paper(graph)
    lollipop = graphs.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5)])
    assert gis_links(lollipop) == gis_links_paper(lollipop) == 24
    wheel = graphs.from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)])
    assert gis_links(wheel) == 2 * 5 == gis_links_paper(wheel)
    # the middle edge of a path of six has ends of eccentricity 3 and 5 slots to be used in
    assert (gis_links(graphs.path(6)), gis_links_paper(graphs.path(6))) == (24, 25)


def test_the_six_component_cases_of_the_paper() -> None:
    """Per round with c1 = 50, c2 = 1 and M = 100, Q sinks: by hops and by edges."""

    def both(*parts: Graph) -> tuple[int, int]:
        graph = side_by_side(parts)
        q = len(graph.components)
        return sac_links(graph) + 50 * q, graph.size + 50 * q

    full = graphs.complete
    assert both(*[full(20)] * 5) == (345, 1200)
    assert both(*map(full, (53, 24, 10, 6, 7))) == (345, 1985)
    assert both(full(100)) == (149, 5000)
    assert both(*[graphs.star(20)] * 5) == (345, 345)
    assert both(*[graphs.singles(1)] * 100) == (5000, 5000)


@pytest.mark.parametrize(("gap", "rounds"), [(1.0, 1), (0.5, 2), (0.25, 3), (0.3, 3), (0.2, 4)])
def test_rounds_of_elimination(gap, rounds):
    assert federated.elimination_rounds(gap) == rounds


def _schedule(**more):
    return Schedule(arms=3, senders=4, horizon=1000, epsilon=100.0, **more)


def test_elimination_regret_by_hand():
    # without a privacy term S(r) = ⌈8 log(8 · 3 r² T) / (4 · 4^-r)⌉; r = 2 for .5 and 3 for .25
    s = [math.ceil(8 * math.log(24 * r * r * 1000) / (4 * 4.0**-r)) for r in (1, 2, 3)]
    t = np.array([10.0, 1e6])
    found = federated.elimination_regret(GAPS, t, _schedule(), agents=4)
    assert found == pytest.approx([4 * 0.5 * 10, 4 * (0.5 * s[1] + 0.25 * s[2])])
    delayed = federated.elimination_regret(GAPS, t, _schedule(), agents=4, delay=5)
    assert delayed - found == pytest.approx([0, 4 * 0.5 * 5 * 3])


def test_elimination_regret_of_few_rounds():
    schedule = _schedule(max_rounds=1, gap=0.25)
    s = math.ceil(8 * math.log(24 * 1000) / (4 * 0.25**2))
    found = federated.elimination_regret(GAPS, np.array([1e6]), schedule, agents=4)
    assert found == pytest.approx([4 * 0.75 * s])
