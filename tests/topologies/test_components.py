"""Graphs side by side."""

from tests.support.graphs import laid
from topologies import graphs
from topologies.components import side_by_side


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
