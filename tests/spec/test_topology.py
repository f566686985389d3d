"""The table [topology]: what is wrong in it."""

import pytest

from posse.errors import SpecError
from tests.support.graphs import laid


def _components(*parts: dict[str, object]) -> dict[str, object]:
    return {"kind": "components", "components": list(parts)}


SUBGRAPH = {"kind": "networkx", "generator": "subgraph", "parameters": {"G": 7, "nbunch": 2}}
NO_RING = [{"kind": "star", "count": 5}, {"kind": "ring", "count": 0}]


@pytest.mark.parametrize(
    ("keys", "where", "what"),
    [
        ({"kind": "edges", "edges": [[0, 9]]}, ".edges", "agent 9"),
        ({"kind": "regular", "degree": 3}, ".degree", "both|one of the two even"),
        ({"kind": "erdos-renyi", "p": 0.0}, ".p", "none is"),
        ({"kind": "grid", "rows": 2, "cols": 3}, "", "6 agents"),
        ({"kind": "star", "count": 4}, "", "4 agents"),
        ({"kind": "file", "path": "absent"}, ".path", "cannot be read"),
        (SUBGRAPH, ".parameters", "do not suit subgraph: 'int' object"),
        (_components(), "", "0 agents"),
        (_components({"kind": "star"}), ".components[0].count", "required"),
        (_components(*NO_RING), ".components[1].count", "at least one"),
        (
            _components({"kind": "edges", "edges": [], "count": 5}),
            ".components[0]",
            "not connected",
        ),
    ],
)
def test_impossible_topologies_name_the_key(keys, where, what) -> None:
    with pytest.raises(SpecError, match=what) as error:
        laid(agents=5, **keys)
    assert error.value.path == f"topology{where}"
