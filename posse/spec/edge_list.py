"""Edge lists and Matrix Market files: two nodes a line, by names or whole numbers, and a weight.

Whole numbers are the agents' ranks if they begin at 0. Others, as in collections that count from 1,
become agents by value, and names in their order of appearance, as in other graph files.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from posse.arms.log_file import NUMBER
from posse.measure.numbers import counted
from posse.topologies.graphs import Graph, GraphError, count_left_out, from_edges

FORMATS = (
    "an edge list has two nodes a line, and # or % begins a comment; .graphml, .gexf, .gml, .g6, "
    ".s6, .mtx (Matrix Market) and .json (node-link) are read as such"
)

_WHOLE = re.compile(r"\d{1,18}", re.A)
_HEADERS = {"source", "target", "from", "to", "src", "dst", "node1", "node2"}
_MATRIX = "%%MatrixMarket"
_BIPARTITE = re.compile(r"%\s*bip\b")
"""How KONECT begins a file whose two columns number nodes apart."""
_MOST_ALONE = 100_000
"""Numbers from 0 up to here are ranks if nobody says how many agents there are."""

EdgeWords = tuple[int, list[str]]
"""The number of a line, and its words."""


def read_edges(text: str, agents: int | None, weights: str | None) -> Graph:
    """The graph of an edge list; `GraphError` names the line that is wrong.

    Without `agents` there are as many as it has nodes.

    `weights` names the number that a third word is, "" leaves it out, and None refuses it.
    """
    if _BIPARTITE.match(text):
        raise GraphError(
            "path", "is bipartite: 1 on the left and 1 on the right are two nodes; name them apart"
        )
    lines = list(_words(text))
    nodes: list[str] = []
    if text.startswith(_MATRIX):
        nodes, lines = _matrix(text, lines)
    edges: dict[tuple[str, str], float | None] = {}
    for number, words in lines:
        if agents is not None and len(edges) > 2 * agents**2:
            raise GraphError("path", f"line {number} is one of more than {2 * agents**2:,} edges")
        weight = _weight(number, words, weights)
        known = edges.setdefault((words[0], words[1]), weight)
        if known != weight:
            edges[words[0], words[1]] = math.nan
    nodes = nodes or _nodes(lines)
    whole = all(map(_WHOLE.fullmatch, nodes))
    if whole:
        nodes = sorted(nodes, key=int)
        most = _MOST_ALONE if agents is None else agents
        if nodes and int(nodes[0]) == 0 and int(nodes[-1]) < most:
            agents = int(nodes[-1]) + 1 if agents is None else agents
            nodes = [str(rank) for rank in range(agents)]  # who has no edge stands in no line
    agents = len(nodes) if agents is None else agents
    if len(nodes) != agents or not agents:
        first = f", of which the first is {nodes[0]!r}" if nodes else ""
        raise GraphError(
            "path",
            f"it names {counted(len(nodes), 'node')}{first}, but agents.count is {agents}; "
            f"{FORMATS}",
        )
    rank = {node: place for place, node in enumerate(nodes)}
    names = () if whole and nodes == [str(n) for n in range(agents)] else tuple(nodes)
    graph = from_edges(agents, sorted({(rank[a], rank[b]) for a, b in edges}), 0, names)
    listed = ((rank[a], rank[b]) for _, (a, b, *_) in lines)
    graph = replace(graph, left_out=count_left_out(listed))
    if not weights:
        return graph
    numbers: dict[tuple[int, int], dict[str, float]] = {}
    for (a, b), weight in edges.items():
        ends = (min(rank[a], rank[b]), max(rank[a], rank[b]))
        if weight is not None and ends[0] != ends[1]:
            known = numbers.setdefault(ends, {weights: weight})[weights]
            if known != weight:  # as elsewhere: the two directions differ
                numbers[ends] = {weights: math.nan}
    return replace(graph, attributes=numbers)


def _words(text: str) -> Iterator[EdgeWords]:
    for number, line in enumerate(text.splitlines(), start=1):
        content = re.split("[#%]", line)[0].strip()
        if not content:
            continue
        separator = r"\s*\t\s*" if "\t" in content else r"\s*,\s*" if "," in content else r"\s+"
        words = re.split(separator, content)
        if words[2:] == ["{}"]:  # as networkx writes an edge without data
            words.pop()
        if len(words) < 2:
            raise GraphError(
                "path",
                f"line {number} must have two nodes, and has 1 word: {line[:80]!r}; {FORMATS}",
            )
        nodes = [str(int(word)) if _WHOLE.fullmatch(word) else word for word in words[:2]]
        yield number, [*nodes, *words[2:]]


def _matrix(text: str, lines: list[EdgeWords]) -> tuple[list[str], list[EdgeWords]]:
    """The nodes of a Matrix Market file, and its lines without that of its sizes."""
    head = text.split("\n", 1)[0].lower().split()
    if head[1:3] != ["matrix", "coordinate"] or not lines or len(lines[0][1]) != 3:
        raise GraphError("path", "is Matrix Market, of which only 'matrix coordinate' is a graph")
    rows, columns, entries = lines[0][1]
    if not (rows == columns and rows.isdigit() and len(rows) < 7):
        raise GraphError("path", f"is a matrix of {rows} rows and {columns} columns, not a graph's")
    if str(len(lines) - 1) != entries:
        raise GraphError("path", f"says that it has {entries} entries, and has {len(lines) - 1}")
    return [str(row + 1) for row in range(int(rows))], lines[1:]


def _weight(number: int, words: list[str], weights: str | None) -> float | None:
    """The weight of an edge; None if it has none or it is left out."""
    if len(words) == 2:
        return None
    if weights is None:
        raise GraphError(
            "path",
            f"line {number} has {len(words)} words, {' '.join(words)[:80]!r}; two are the nodes of "
            'an edge: if the third is its weight, weights = "NAME" keeps it as the number NAME of '
            f'the edge, and weights = "" leaves out all after the two; {FORMATS}',
        )
    if weights and not NUMBER.fullmatch(words[2]):
        raise GraphError("path", f"line {number} has the weight {words[2][:80]!r}, not a number")
    return float(words[2]) if weights else None


def _nodes(lines: list[EdgeWords]) -> list[str]:
    """The nodes in their order of appearance; all are whole numbers, or none is."""
    nodes: dict[str, int] = {}
    for number, words in lines:
        for word in words[:2]:
            nodes.setdefault(word, number)
    whole = [bool(_WHOLE.fullmatch(node)) for node in nodes]
    headers = [node for node in nodes if node.lower() in _HEADERS]
    strange = headers or [node for node, is_whole in zip(nodes, whole, strict=True) if not is_whole]
    if strange and (headers or any(whole)):
        line = nodes[strange[0]]
        raise GraphError(
            "path",
            f"line {line} names {strange[0][:80]!r} where other lines have whole numbers, or as a "
            f"header does: take the line out, or begin it with #; {FORMATS}",
        )
    return list(nodes)
