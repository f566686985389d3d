"""Graph files before networkx reads them: how many nodes a file has, and what would be dropped.

networkx reads the first of several graphs, and makes a node of an unknown name. Here each of these
is refused, or found by the number of nodes.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from xml.etree import ElementTree

from posse.gates.decode import from_json


def count_nodes(content: bytes, ending: str) -> int | None:
    """How many nodes a file of this ending has; ValueError says what would be read as less."""
    check = _CHECKS.get(ending)
    return check(content) if check else None


def _count_in_xml(content: bytes) -> int:
    root = ElementTree.fromstring(content)
    kinds = [str(element.tag).rpartition("}")[2] for element in root.iter()]
    graphs = [child for child in root if str(child.tag).rpartition("}")[2] == "graph"]
    if len(graphs) > 1:
        raise ValueError(f"it has {len(graphs)} graphs, and one is read")
    nodes = [element for element, kind in zip(root.iter(), kinds, strict=True) if kind == "node"]
    return _once([element.get("id", "") for element in nodes])


def _count_in_json(content: bytes) -> int:
    document = from_json(content, table=_distinct)
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise ValueError("it has no list 'nodes'")
    if "edges" in document and "links" in document:
        raise ValueError("it has both 'edges' and 'links', and one is read")
    if "edges" not in document and "links" not in document:
        raise ValueError("it has neither 'edges' nor 'links'")
    nodes = document["nodes"]
    return _once([str(node.get("id", n)) for n, node in enumerate(nodes)])


def _once(names: list[str]) -> int:
    """How many nodes these are. With a node in an edge alone, one that is there twice can hide."""
    if same := twice(names):
        raise ValueError(f"it has two nodes named '{same[0]}'")
    return len(names)


def twice(names: Iterable[str]) -> list[str]:
    """The names that are there more than once, in order. A file may have a million."""
    return [name for name, count in Counter(names).items() if count > 1]


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if same := twice(name for name, _ in pairs):
        raise ValueError(f"'{same[0]}' is there twice")
    return dict(pairs)


_CHECKS: dict[str, Callable[[bytes], int]] = {
    **dict.fromkeys((".graphml", ".xml", ".gexf"), _count_in_xml),
    ".json": _count_in_json,
}
