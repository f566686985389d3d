"""`[topology]`: how the run file says who is linked to whom, and the graph that this gives."""

import inspect
import operator
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from posse import defect, own_code
from posse.errors import SpecError
from posse.gates.code import NotTrusted
from posse.gates.decode import from_json
from posse.protocol.machine import COORDINATOR
from posse.seeds import Purpose, generator
from posse.spec import graph_file
from posse.spec.graph_file import bounded, of_networkx, read_graph
from posse.topologies import graphs
from posse.topologies.graphs import Graph, GraphError

_GROUP = "posse.topologies"
"""The entry point group in which installed packages offer topologies."""

Edge = tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]


class _Topology(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """`count`: how many agents; required within `components`, else `agents.count` by default."""

    count: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="agents; by default agents.count, within components required"),
    ] = None

    def own_count(self) -> int | None:
        """The number of agents that this topology itself sets, or None."""
        return self.count

    @property
    def drawn(self) -> bool:
        """Whether each run has a graph of its own."""
        return isinstance(self, Regular | ErdosRenyi | NetworkX | PythonTopology)

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        """The graph; raises `GraphError`."""
        return _PLAIN[type(self)](agents)


class Complete(_Topology, frozen=True, kw_only=True, tag="complete"):
    """Everyone is linked to everyone."""


class StarTopology(_Topology, frozen=True, kw_only=True, tag="star"):
    """Agent 0 is linked to all others."""


class Ring(_Topology, frozen=True, kw_only=True, tag="ring"):
    """Agent i is linked to i + 1, and the last to the first."""


class PathTopology(_Topology, frozen=True, kw_only=True, tag="path"):
    """Agent i is linked to i + 1."""


class Regular(_Topology, frozen=True, kw_only=True, tag="regular"):
    """A random graph in which everyone has `degree` neighbours, drawn until connected."""

    degree: Annotated[int, Meta(ge=1, description="neighbours of each agent")]

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        return graphs.regular(agents, self.degree, random)


class Grid(_Topology, frozen=True, kw_only=True, tag="grid"):
    """A lattice of `rows` times `cols` agents."""

    rows: Annotated[int, Meta(ge=1, description="agents from top to bottom")]
    cols: Annotated[int, Meta(ge=1, description="agents from left to right")]

    def own_count(self) -> int | None:
        if self.count not in (None, self.rows * self.cols):
            raise GraphError(
                "count", f"is {self.count}, but rows x cols is {self.rows * self.cols}"
            )
        return self.rows * self.cols

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        return graphs.grid(self.rows, self.cols)


class ErdosRenyi(_Topology, frozen=True, kw_only=True, tag="erdos-renyi"):
    """Every edge is there with probability `p`; drawn until connected."""

    p: Annotated[float, Meta(ge=0, le=1, description="probability of an edge")]

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        return graphs.erdos_renyi(agents, self.p, random)


class Single(_Topology, frozen=True, kw_only=True, tag="single"):
    """Agents on their own: `count` of them (1 if not said) are as many components."""


class Edges(_Topology, frozen=True, kw_only=True, tag="edges"):
    """A list of edges, `[[0, 1], [1, 2]]`, in either direction."""

    edges: Annotated[tuple[Edge, ...], Meta(description="pairs of ranks")]

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        return graphs.from_edges(agents, self.edges)


class File(_Topology, frozen=True, kw_only=True, tag="file"):
    """An edge list (two nodes a line, `#` comments), or a format that networkx reads, by its name.

    `path` is relative to the run file. See `posse.spec.graph_file` and `posse.spec.edge_list`.
    """

    path: Annotated[str, Meta(description="relative to the run file")]
    weights: Annotated[
        str | None,
        Meta(description="the number that a third word of an edge list is; '' leaves it out"),
    ] = None

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        where = Path(base) / self.path
        try:
            return read_graph(where, agents, self.weights)
        except OSError as error:
            raise GraphError("path", f"{where} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise GraphError("path", f"{where} is not text") from None
        except GraphError as error:
            raise GraphError("path", f"{where}: {error}") from None


Component = (
    Complete | StarTopology | Ring | PathTopology | Regular | Grid | ErdosRenyi | Single | Edges
)


class Components(_Topology, frozen=True, kw_only=True, tag="components"):
    """Several topologies side by side; each says its own `count`."""

    components: Annotated[tuple[Component, ...], Meta(description="their topologies")]

    def own_count(self) -> int | None:
        return sum(self._count(index) for index in range(len(self.components)))

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        parts = []
        for index, part in enumerate(self.components):
            try:
                graph = part.build(self._count(index), random, base)
            except GraphError as error:
                key = f"components[{index}]" + (f".{error.key}" if error.key else "")
                raise GraphError(key, str(error)) from None
            if not graph.connected and not isinstance(part, Single):
                raise GraphError(f"components[{index}]", _apart(graph))
            parts.append(graph)
        return graphs.side_by_side(parts)

    @property
    def drawn(self) -> bool:
        return any(part.drawn for part in self.components)

    def _count(self, index: int) -> int:
        part = self.components[index]
        count = part.own_count()
        if count is None and isinstance(part, Single):
            return 1
        if count is None:
            raise GraphError(f"components[{index}].count", "is required but missing")
        if count == 0:
            raise GraphError(
                f"components[{index}].count", "is 0: a component needs at least one agent"
            )
        return count


class NetworkX(_Topology, frozen=True, kw_only=True, tag="networkx"):
    """A generator of networkx by its name, as "watts_strogatz_graph", drawn until connected.

    `parameters` are the generator's own. If it takes `seed`, each run gives it a new one.
    """

    generator: Annotated[str, Meta(description="its name in networkx")]
    parameters: Annotated[dict[str, Any], Meta(description="the generator's own")] = {}

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        make = graph_file.generator(self.generator)
        seeded = _takes_seed(make)
        for resamples in range(graphs.MOST_RESAMPLES if seeded else 1):
            drawn = {"seed": int(random.integers(1 << 31))} if seeded else {}
            try:
                with bounded(self.generator, agents, self.parameters):
                    made = make(**self.parameters, **drawn)
            except GraphError:
                raise
            except Exception as error:  # a generator may raise anything
                why = str(error) or type(error).__name__
                raise GraphError("parameters", f"do not suit {self.generator}: {why}") from error
            graph = of_networkx(made, agents, self.generator, resamples)
            if graph.connected:
                break
        return graph


class PythonTopology(_Topology, frozen=True, kw_only=True, tag="python"):
    """Your own function: `target = "module:function"` in the folders `path`, or from a package.

    A package offers it by a name (entry points `posse.topologies`). The function is called with
    `agents` and `seed` (new for each run), and returns edges or a networkx graph.
    """

    target: Annotated[str, Meta(description="module:function, or the name that a package offers")]
    path: Annotated[tuple[str, ...], Meta(description="folders to import from")] = (".",)

    def build(self, agents: int, random: np.random.Generator, base: str) -> Graph:
        folders = own_code.folders_of(base, self.path)
        if fault := own_code.missing(self.target, folders, _GROUP):
            raise GraphError("target", f"'{self.target}': {fault}")
        try:
            make = own_code.load(self.target, folders, _GROUP)
            with own_code.aside():
                made = make(agents=agents, seed=int(random.integers(1 << 31)))
                if hasattr(made, "nodes"):
                    return of_networkx(made, agents, "its graph")
                edges = [(operator.index(i), operator.index(j)) for i, j in made]
            return graphs.from_edges(agents, edges)
        except NotTrusted as error:
            raise GraphError("target", str(error)) from None
        except GraphError as error:
            raise GraphError("target", f"'{self.target}': {error}") from None
        except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
            why = f"'{self.target}' cannot be used: {defect.describe(error)}"
            raise GraphError("target", why) from error


_PLAIN: dict[type[_Topology], Callable[[int], Graph]] = {
    Complete: graphs.complete,
    StarTopology: graphs.star,
    Ring: graphs.ring,
    PathTopology: graphs.path,
    Single: graphs.singles,
}
"""Topologies that depend only on the number of agents."""

TopologySpec = Component | File | Components | NetworkX | PythonTopology
"""What `[topology]` may be; `kind` selects one."""


def lay_out(topology: TopologySpec, agents: int, seed: int, run: int, base: str = ".") -> Graph:
    """The graph of one run. Random ones are drawn for each run, from `seed` and `run` alone.

    `SpecError` names the wrong key: an agent that does not exist, a component without agents, a
    count unlike `agents.count`, a random graph that does not become connected.
    """
    try:
        stamp = own_code.stamp_of(Path(base) / topology.path) if isinstance(topology, File) else ()
        return _lay_out(msgspec.json.encode(topology), agents, seed, run, base, stamp)
    except GraphError as error:
        raise SpecError(f"topology.{error.key}" if error.key else "topology", str(error)) from None


@lru_cache(maxsize=8)
def _lay_out(
    document: bytes, agents: int, seed: int, run: int, base: str, stamp: tuple[int, ...]
) -> Graph:
    """`stamp` belongs to the key of the cache: the version of the file that it reads."""
    topology: TopologySpec = from_json(document, TopologySpec)
    own = topology.own_count()
    if own not in (None, agents):
        raise GraphError(
            "",
            f"has {own} agents, but agents.count is {agents}; make them equal",
        )
    return topology.build(agents, generator(seed, run, COORDINATOR, Purpose.GRAPH), base)


def require_connected(graph: Graph) -> None:
    """Raise `SpecError` if some agents cannot reach others."""
    if not graph.connected:
        raise SpecError("topology", _apart(graph))


def _apart(graph: Graph) -> str:
    lost = graph.components[1]
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return (
        f"is not connected: agent {lost[0]}{more} cannot be reached from agent "
        f'{graph.components[0][0]}; add edges, or use kind = "components" if the system allows it'
    )


def _takes_seed(make: Callable[..., Any]) -> bool:
    try:
        return "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        return False
