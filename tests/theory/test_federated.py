"""Links and costs of federated elimination in closed form, by hand."""

from posse.theory.federated import gis_links, gis_links_paper, sac_links
from topologies import graphs
from topologies.components import side_by_side
from topologies.graphs import Graph


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
