"""Several graphs side by side, without a link between them."""

from collections.abc import Sequence

from topologies.graphs import Graph, GraphError


def side_by_side(parts: Sequence[Graph]) -> Graph:
    """The disjoint union: the agents of each part follow those of the one before it."""
    if not parts:
        raise GraphError("components", "is empty; name at least one component")
    neighbours: list[tuple[int, ...]] = []
    for index, part in enumerate(parts):
        if part.agents == 0:
            raise GraphError("components", f"[{index}] has no agent; delete it or raise its count")
        first = len(neighbours)
        neighbours += [tuple(first + j for j in near) for near in part.neighbours]
    return Graph(tuple(neighbours), sum(part.resamples for part in parts))
