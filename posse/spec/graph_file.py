"""Graphs of files and of networkx: which node is which agent, and what no file may hold."""

import math
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from posse.arms.log_file import NUMBER
from posse.gates import files
from posse.gates.decode import from_json
from posse.measure.numbers import counted
from posse.spec.edge_list import FORMATS, read_edges
from posse.spec.graph_formats import count_nodes, twice
from posse.topologies.graphs import Graph, GraphError, count_left_out, from_edges

_MOST_BYTES = 64 << 20
"""Larger files are refused before they are read; a million edges take some 14 MB."""

_SPARE, _PER_PAIR = 1 << 16, 256
"""Bytes that a file may have: besides, and for each pair of agents, whose edges may have data."""

_LINES, _LINES_PER_PAIR = 1_000_000, 20
"""Lines of Python that a generator may run: at least, and for each pair of agents."""

_READERS: dict[str, str] = {
    ".graphml": "read_graphml",
    ".xml": "read_graphml",
    ".gexf": "read_gexf",
    ".g6": "read_graph6",
    ".s6": "read_sparse6",
}
"""networkx's reader of each format, by the end of the file's name."""

_GENERATORS = ("networkx.generators", "networkx.algorithms.bipartite.generators")
"""Modules whose functions make graphs, whatever these are called."""

_FEWEST, _NO_SIZES = 100, {"seed", "tries", "max_iters"}
"""Numbers in a generator's parameters may always be so large; and those that size nothing."""


def read_graph(path: Path, agents: int | None, weights: str | None = None) -> Graph:
    """The graph in a file, in the format that its name ends in, else an edge list.

    Without `agents` there are as many as it has nodes.

    `GraphError` says what is wrong, and in which line of an edge list.
    """
    most = _MOST_BYTES if agents is None else min(_MOST_BYTES, _SPARE + _PER_PAIR * agents**2)
    content = files.read(path, most)
    ending = path.suffix.lower()
    if ending in files.PACKED:
        content, ending = _unpacked(content, ending, most), path.with_suffix("").suffix.lower()
    content = content.removeprefix(BOM_UTF8)
    if ending not in (*_READERS, ".json", ".gml"):
        return read_edges(content.decode("utf-8"), agents, weights)
    if weights is not None:
        raise GraphError("weights", f"is for edge lists; edges of {ending} have numbers by name")

    import networkx  # noqa: PLC0415  (costs 0.2 s; few need it)

    try:
        listed = count_nodes(content, ending)
        if ending == ".json":
            document = from_json(content)
            links = "edges" if "edges" in document else "links"  # as networkx 3.4 called them
            nodes = networkx.node_link_graph(document, edges=links)
        elif ending == ".gml":
            if b"multigraph" not in content:  # networkx refuses edges that are there twice
                content = re.sub(rb"\bgraph\s*\[", b"graph [ multigraph 1", content, count=1)
            labelled = b"label" in content  # without labels, as in many collections, ids are names
            nodes = networkx.read_gml(BytesIO(content), label="label" if labelled else "id")
        else:
            nodes = getattr(networkx, _READERS[ending])(BytesIO(content))
        if isinstance(nodes, list):
            raise ValueError(f"it has {len(nodes)} graphs, and one is read")
        if listed is not None and listed != len(nodes):
            raise ValueError(
                f"it lists {counted(listed, 'node')}, of which {len(nodes)} are left with its "
                "edges: one is within another, or in an edge alone"
            )
    except (OSError, UnicodeDecodeError):
        raise
    except Exception as error:  # readers raise whatever they meet
        why = _why(error)
        named = "GraphML" if ending in (".graphml", ".xml") else f"a graph as {ending} has it"
        raise GraphError("path", f"is not {named}: {why}; {FORMATS}") from None
    return of_networkx(nodes, len(nodes) if agents is None else agents, "it")


def _why(error: Exception) -> str:
    """What a reader met, in words: some say only a key, or None."""
    if isinstance(error, KeyError):
        return f"a node or an edge lacks {error}"
    text = str(error)
    if text == "None cannot be a node":
        return "an edge lacks its source or its target"
    if text in ("", "None"):
        return f"a node, an edge or a value is not complete ({type(error).__name__})"
    return text


def of_networkx(drawn: Any, agents: int, what: str, resamples: int = 0) -> Graph:
    """A networkx graph without the direction and repetition of edges and without self loops.

    Nodes named by whole numbers, also as text, become ranks by value, others in their order of
    appearance. The graph keeps the names if they are not the ranks, and the edges' numbers.
    """
    if len(drawn) != agents:
        raise GraphError(
            "", f"{what} has {counted(len(drawn), 'node')}, but agents.count is {agents}"
        )
    nodes = list(drawn.nodes)
    if all(re.fullmatch(r"-?\d+", str(node)) for node in nodes):
        nodes.sort(key=lambda node: int(str(node)))
    rank = {node: index for index, node in enumerate(nodes)}
    links = sorted((rank[edge[0]], rank[edge[1]]) for edge in drawn.edges)
    names = tuple(map(str, nodes))
    if same := twice(names):
        raise GraphError("", f"{what} has two nodes named '{same[0]}'")
    plain = names == tuple(map(str, range(agents)))
    graph = from_edges(agents, links, resamples, () if plain else names)
    found = dict(_attributes(drawn, rank))
    return replace(graph, attributes=found, left_out=count_left_out(links))


def _attributes(drawn: Any, rank: dict[Any, int]) -> Iterator[tuple[tuple[int, int], Any]]:
    """The numbers that edges have, also as text (GraphML without types has them so).

    NaN stands for a number that differs between edges of the same two nodes.
    """
    edges: dict[tuple[int, int], dict[str, float]] = {}
    for node, neighbour, data in drawn.edges(data=True):
        i, j = sorted((rank[node], rank[neighbour]))
        known = edges.setdefault((i, j), {})
        for name, value in data.items():
            if not isinstance(value, bool) and NUMBER.fullmatch(str(value)):
                number = float(value)
                known[str(name)] = number if known.get(str(name), number) == number else math.nan
    yield from ((edge, numbers) for edge, numbers in edges.items() if numbers)


def generator(name: str) -> Callable[..., Any]:
    """Networkx's generator of this name, or `GraphError`."""
    import networkx  # noqa: PLC0415

    *modules, last = name.removeprefix("networkx.").removeprefix("nx.").split(".")
    home: Any = networkx
    for module in modules:
        home = getattr(home, module, None)
        if not (isinstance(home, ModuleType) and home.__name__.startswith("networkx.")):
            raise GraphError("generator", f"networkx has no generator '{name}'")
    make = getattr(home, last, None)
    made_in = str(getattr(make, "__module__", ""))
    if not callable(make) or not (
        made_in.startswith(_GENERATORS) or (not modules and last.endswith("graph"))
    ):
        raise GraphError("generator", f"networkx has no generator '{name}'")
    return make  # type: ignore[no-any-return]


@contextmanager
def bounded(name: str, agents: int, parameters: Any) -> Iterator[None]:
    """A context in which a generator makes a graph of about this many agents; else `GraphError`.

    No number in its parameters may be larger, and it may not run for much longer than the largest
    such graph takes: some generators make as many nodes as a power of a parameter.
    """
    most = max(agents, _FEWEST)
    for number in _numbers(parameters):
        if abs(number) > most:
            problem = f"ask {name} for {number:,} of something, but agents.count is {agents}"
            raise GraphError("parameters", problem)
    left = _LINES + _LINES_PER_PAIR * agents**2

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "call" and "networkx" not in frame.f_code.co_filename:
            return None  # such as the import of scipy, which some generators begin with
        left -= 1
        if left < 0:
            problem = f"give {name} far more to do than a graph of {agents} agents takes"
            raise GraphError("parameters", problem)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _numbers(value: Any) -> Iterator[int]:
    match value:
        case bool() | str():
            return
        case int():
            yield value
        case dict():
            for key in value.keys() - _NO_SIZES:
                yield from _numbers(value[key])
        case list() | tuple():
            for inner in value:
                yield from _numbers(inner)


def _unpacked(content: bytes, ending: str, most: int) -> bytes:
    try:
        whole: bytes = files.PACKED[ending](BytesIO(content)).read(most + 1)
    except files.NOT_UNPACKED as error:
        raise GraphError("path", f"cannot be unpacked as {ending}: {error}") from None
    if len(whole) > most:
        raise GraphError("path", f"unpacks to more than {most:,} bytes")
    return whole
