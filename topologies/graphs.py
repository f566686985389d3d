"""Undirected graphs over agents 0 to M - 1, and the structures that the papers run on.

Random graphs take a numpy generator and are drawn until they are connected, `MOST_RESAMPLES` times
at most. Makers of graphs raise `GraphError` for parameters that give none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

MOST_RESAMPLES = 1_000
"""Draws after which the parameters of a random graph are refused."""


MOST_EDGES = 10_000_000
"""A larger graph is refused before it is made."""


_DEEP = 100
"""Layers around an agent from which on distances are measured one agent at a time, as on a path."""

_WORDS = 1 << 22
"""Words of 64 bits that are moved along all edges at once."""


class GraphError(ValueError):
    """The graph asked for cannot exist; `key` names the parameter at fault ("" for the whole)."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(problem)
        self.key = key


@dataclass(frozen=True)
class Graph:
    """An undirected graph; `neighbours[i]` has the neighbours of agent i, sorted.

    `resamples` counts the draws of random parts that were thrown away as not connected. `names[i]`
    is what the graph's source calls agent i; empty where it is the rank. `attributes` has the
    numbers that its source gives edges (i, j), i < j, by name, and `left_out` counts the edges that
    the source lists besides.
    """

    neighbours: tuple[tuple[int, ...], ...]
    resamples: int = 0
    names: tuple[str, ...] = ()
    attributes: Mapping[tuple[int, int], Mapping[str, float]] = field(
        default_factory=dict, compare=False, repr=False
    )
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def agents(self) -> int:
        """M."""
        return len(self.neighbours)

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """The number of neighbours of each agent."""
        return tuple(map(len, self.neighbours))

    @property
    def size(self) -> int:
        """|E|, the number of edges."""
        return sum(self.degrees) // 2

    def edges(self) -> Iterator[tuple[int, int]]:
        """Every edge once, (i, j) with i < j, sorted."""
        return ((i, j) for i, near in enumerate(self.neighbours) for j in near if i < j)

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The connected components, each sorted, in the order of their lowest agent."""
        seen: set[int] = set()
        components = []
        for start in range(self.agents):
            if start not in seen:
                component = sorted(chain.from_iterable(self._layers(start, self.agents)))
                seen.update(component)
                components.append(tuple(component))
        return tuple(components)

    @property
    def connected(self) -> bool:
        """Whether every agent reaches every other."""
        return len(self.components) <= 1

    @cached_property
    def component_of(self) -> tuple[int, ...]:
        """The index of each agent's component."""
        index = {i: q for q, component in enumerate(self.components) for i in component}
        return tuple(index[i] for i in range(self.agents))

    def distances_from(self, source: int) -> NDArray[np.int64]:
        """sd(source, j) for every j, shape (M,); -1 if j is in another component."""
        distance = np.full(self.agents, -1)
        component = self.components[self.component_of[source]]
        for steps, layer in enumerate(self._layers(source, len(component))):
            distance[layer] = steps
        return distance

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """Shortest-path distances sd(i, j), shape (M, M); -1 between components."""
        return np.stack([self.distances_from(i) for i in range(self.agents)])

    @cached_property
    def eccentricities(self) -> tuple[int, ...]:
        """max_j sd(i, j) of each agent i, within its component."""
        if sum(1 for _ in self._layers(0, self.agents)) > _DEEP:
            return tuple(int(self.distances_from(i).max()) for i in range(self.agents))
        return tuple(self._eccentricities_together().tolist())

    @property
    def diameter(self) -> int:
        """d_G, the longest shortest path within any component."""
        return max(self.eccentricities)

    @property
    def centre(self) -> tuple[int, ...]:
        """The agents of least eccentricity in their component, sorted."""
        centre: list[int] = []
        for component in self.components:
            least = min(self.eccentricities[i] for i in component)
            centre += (i for i in component if self.eccentricities[i] == least)
        return tuple(sorted(centre))

    def adjacency(self) -> NDArray[np.float64]:
        """The adjacency matrix, shape (M, M)."""
        matrix = np.zeros((self.agents, self.agents))
        for i, near in enumerate(self.neighbours):
            matrix[i, list(near)] = 1.0
        return matrix

    def algebraic_connectivity(self) -> float:
        """The second smallest eigenvalue of the Laplacian (Fiedler 1973); 0 if not connected."""
        if self.agents < 2 or not self.connected:
            return 0.0
        laplacian = np.diag(np.array(self.degrees, dtype=float)) - self.adjacency()
        return float(np.linalg.eigvalsh(laplacian)[1])

    def second_eigenvalue(self) -> float:
        """λ₂ of the normalised adjacency D^-1/2 A D^-1/2; 0 where an agent has no neighbour."""
        if self.agents < 2 or min(self.degrees) == 0:
            return 0.0
        scale = 1.0 / np.sqrt(np.array(self.degrees, dtype=float))
        return float(np.linalg.eigvalsh(self.adjacency() * scale[:, None] * scale)[-2])

    def _eccentricities_together(self) -> NDArray[np.int64]:
        """The eccentricities, from 64 agents at once in each word: a bit for each that came so far.

        Needs neither M² distances in memory nor a step for each of them.
        """
        degrees, farthest = np.array(self.degrees), np.zeros(self.agents, dtype=np.int64)
        linked, ends = np.flatnonzero(degrees), np.fromiter(chain(*self.neighbours), np.int64)
        starts = (np.cumsum(degrees) - degrees)[linked]
        words = max(1, min(-(-self.agents // 64), _WORDS // (1 + len(ends))))
        for first in range(0, self.agents if len(linked) else 0, 64 * words):
            place = np.arange(min(64 * words, self.agents - first))
            came = np.zeros((self.agents, words), dtype="<u8")
            came[first + place, place // 64] = np.left_shift(1, (place % 64).astype("<u8"))
            steps, moved = 0, True
            while moved:
                now = came.copy()
                now[linked] |= np.bitwise_or.reduceat(came[ends], starts, axis=0)
                new = np.bitwise_or.reduce(now ^ came, axis=0).view(np.uint8)
                further = np.flatnonzero(np.unpackbits(new, bitorder="little"))
                steps, came, moved = steps + 1, now, len(further) > 0
                farthest[first + further] = steps
        return farthest

    def _layers(self, start: int, count: int) -> Iterator[list[int]]:
        """The agents at distance 0, 1, 2, … from `start`, until `count` of them are found."""
        seen, layer = {start}, [start]
        while layer:
            yield layer
            reached: list[int] = []
            for i in layer:
                if len(seen) == count:
                    break
                fresh = [j for j in self.neighbours[i] if j not in seen]
                seen.update(fresh)
                reached += fresh
            layer = reached


def _require_size(edges: float) -> None:
    """`GraphError` for a graph of more than `MOST_EDGES` edges."""
    if edges > MOST_EDGES:
        raise GraphError("", f"would have {edges:,.0f} edges; at most {MOST_EDGES:,} are possible")


def from_edges(
    agents: int,
    edges: Iterable[tuple[int, int]],
    resamples: int = 0,
    names: tuple[str, ...] = (),
) -> Graph:
    """The graph with these edges, without their direction and repetition and without self loops.

    Raises `GraphError("edges", …)` for an agent that does not exist.
    """
    near: list[set[int]] = [set() for _ in range(agents)]
    for i, j in edges:
        for end in (i, j):
            if not 0 <= end < agents:
                raise GraphError(
                    "edges",
                    f"[{i}, {j}] names agent {end}, which does not exist; agents are 0 to "
                    f"{agents - 1}",
                )
        if i != j:
            near[i].add(j)
            near[j].add(i)
    return Graph(tuple(tuple(sorted(s)) for s in near), resamples, names)


def count_left_out(edges: Iterable[tuple[int, int]]) -> dict[str, int]:
    """How many of these edges `from_edges` leaves out, by reason."""
    listed = [(min(edge), max(edge)) for edge in edges]
    links = [edge for edge in listed if edge[0] != edge[1]]
    counts = {
        "edges from a node to itself": len(listed) - len(links),
        "edges again, or in the other direction": len(links) - len(set(links)),
    }
    return {reason: count for reason, count in counts.items() if count}


def complete(agents: int) -> Graph:
    """Everyone is linked to everyone."""
    _require_size(agents * (agents - 1) / 2)
    return Graph(tuple(tuple(j for j in range(agents) if j != i) for i in range(agents)))


def star(agents: int) -> Graph:
    """Agent 0 is linked to all others."""
    leaves = tuple(range(1, agents))
    return Graph((leaves, *((0,) for _ in leaves)))


def path(agents: int) -> Graph:
    """Agent i is linked to i + 1."""
    return from_edges(agents, ((i, i + 1) for i in range(agents - 1)))


def ring(agents: int) -> Graph:
    """A path whose ends are linked; two agents share one edge."""
    if agents < 3:
        return path(agents)
    return from_edges(agents, ((i, (i + 1) % agents) for i in range(agents)))


def grid(rows: int, cols: int) -> Graph:
    """A lattice: agent r·cols + c, in row r and column c, is linked to those next to it."""
    across = ((r * cols + c, r * cols + c + 1) for r in range(rows) for c in range(cols - 1))
    down = ((r * cols + c, (r + 1) * cols + c) for r in range(rows - 1) for c in range(cols))
    return from_edges(rows * cols, [*across, *down])


def singles(agents: int) -> Graph:
    """Agents without any link."""
    return Graph(((),) * agents)


def erdos_renyi(agents: int, p: float, generator: np.random.Generator) -> Graph:
    """G(M, p): each edge exists with probability p (Gilbert 1959); drawn until connected."""
    _require_size(agents * (agents - 1) / 2)  # this many pairs are drawn
    first, second = np.triu_indices(agents, 1)
    for resamples in range(MOST_RESAMPLES):
        linked = generator.random(len(first)) < p
        drawn = zip(first[linked].tolist(), second[linked].tolist(), strict=True)
        graph = from_edges(agents, drawn, resamples)
        if graph.connected:
            return graph
    raise GraphError(
        "p",
        f"is {p}: {MOST_RESAMPLES} random graphs of {agents} agents were drawn and none is "
        f"connected; p must be well above log(M)/M = {np.log(agents) / agents:.2g}",
    )


def regular(agents: int, degree: int, generator: np.random.Generator) -> Graph:
    """A random graph in which everyone has `degree` neighbours, drawn until connected.

    Steger and Wormald 1999, as networkx implements it.
    """
    if degree >= agents or (degree * agents) % 2:
        raise GraphError(
            "degree",
            f"is {degree}: no graph of {agents} agents has it; degree must be less than the "
            "number of agents, and one of the two even",
        )
    _require_size(agents * degree / 2)
    from networkx import random_regular_graph  # noqa: PLC0415  (costs 0.2 s; few need it)

    for resamples in range(MOST_RESAMPLES):
        drawn = random_regular_graph(degree, agents, seed=int(generator.integers(2**31)))
        graph = from_edges(agents, drawn.edges(), resamples)
        if graph.connected:
            return graph
    raise GraphError(
        "degree",
        f"is {degree}: {MOST_RESAMPLES} random graphs of {agents} agents were drawn and none is "
        "connected; take a larger degree",
    )


def side_by_side(parts: Sequence[Graph]) -> Graph:
    """The disjoint union of `parts`, whose agents are numbered part after part."""
    if not parts:
        raise GraphError("components", "is empty; name at least one component")
    neighbours: list[tuple[int, ...]] = []
    for index, part in enumerate(parts):
        if part.agents == 0:
            raise GraphError("components", f"[{index}] has no agent; delete it or raise its count")
        first = len(neighbours)
        neighbours += [tuple(first + j for j in near) for near in part.neighbours]
    return Graph(tuple(neighbours), sum(part.resamples for part in parts))
