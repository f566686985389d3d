"""Graph files before networkx reads them: how many nodes a file has, and what would be dropped.

networkx reads the first of several graphs, makes a node of an unknown name, and passes over lines
that it does not understand. Here each of these is refused, or found by the number of nodes.
"""

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

_SECTIONS = ("*network", "*vertices", "*edges", "*arcs", "*matrix", "*end")
"""Of a Pajek file, with an end of our own."""

Checked = tuple[bytes, int | None]
"""What networkx may read, and how many nodes the file says that it has, if it does."""


def checked(content: bytes, ending: str) -> Checked:
    """The content of a file whose name ends so; ValueError says what would be read as less."""
    check = _CHECKS.get(ending)
    return check(content) if check else (content, None)


def _xml(content: bytes) -> Checked:
    root = ElementTree.fromstring(content)
    kinds = [str(element.tag).rpartition("}")[2] for element in root.iter()]
    graphs = [child for child in root if str(child.tag).rpartition("}")[2] == "graph"]
    if len(graphs) > 1:
        raise ValueError(f"it has {len(graphs)} graphs, and one is read")
    nodes = [element for element, kind in zip(root.iter(), kinds, strict=True) if kind == "node"]
    return content, _once([element.get("id", "") for element in nodes])


def _json(content: bytes) -> Checked:
    document = json.loads(content, object_pairs_hook=_distinct)
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise ValueError("it has no list 'nodes'")
    if "edges" in document and "links" in document:
        raise ValueError("it has both 'edges' and 'links', and one is read")
    if "edges" not in document and "links" not in document:
        raise ValueError("it has neither 'edges' nor 'links'")
    nodes = document["nodes"]
    return content, _once([str(node.get("id", n)) for n, node in enumerate(nodes)])


def _once(names: list[str]) -> int:
    """How many nodes these are. With a node in an edge alone, one that is there twice can hide."""
    if len(set(names)) < len(names):
        raise ValueError(f"it has two nodes named '{next(n for n in names if names.count(n) > 1)}'")
    return len(names)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is there twice")
    return table


def _adjlist(content: bytes) -> Checked:
    lines = [re.split("[#%]", line)[0] for line in content.decode("utf-8").splitlines()]
    for number, line in enumerate(lines, start=1):
        if strange := re.search(r"[,;{}]|:(\s|$)", line):
            raise ValueError(
                f"line {number} has '{strange[0].strip()}', and nothing but spaces parts names: "
                f"{line[:80]!r}"
            )
    return "\n".join(filter(str.strip, lines)).encode(), None


def _pajek(content: bytes) -> Checked:
    lines = content.decode("utf-8").splitlines()
    numbered = [(n, ln) for n, ln in enumerate(lines, 1) if ln.strip() and ln.lstrip()[0] != "%"]
    section, nodes, seen = "", 0, 0
    for number, line in [*numbered, (len(lines), "*end")]:
        words = line.split()
        if words[0].startswith("*"):
            if section in ("*vertices", "*matrix") and seen != nodes:
                raise ValueError(f"line {number}: {section} has {seen} of {nodes} lines")
            section, seen = words[0].lower(), 0
            sizes = words[1:] if section == "*vertices" else ["0"] * (2 - len(words))
            if section not in _SECTIONS or (
                section != "*network" and not (len(sizes) == 1 and sizes[0].isdigit())
            ):
                raise ValueError(f"line {number} is not read: {line[:80]!r}")
            nodes = nodes + int(sizes[0]) if section == "*vertices" else nodes
            continue
        seen += 1
        whole = {
            "*vertices": len(words) > 1 and words[0] == str(seen),
            "*matrix": len(words) == nodes,
        }.get(section, _is_edge(words, nodes))
        if not whole:
            what = section or "what stands before *Vertices"
            raise ValueError(f"line {number} does not fit {what}: {line[:80]!r}")
    return "\n".join(line for _, line in numbered).encode(), nodes


def _is_edge(words: list[str], nodes: int) -> bool:
    """Two numbers of nodes, then a weight, then names with values."""
    ends = words[:2]
    return (
        len(ends) == 2
        and all(end.isdigit() and 1 <= int(end) <= nodes for end in ends)
        and not any(name[0].isdigit() for name in words[3::2])
    )


_CHECKS: dict[str, Callable[[bytes], Checked]] = {
    ".graphml": _xml,
    ".xml": _xml,
    ".gexf": _xml,
    ".json": _json,
    ".adjlist": _adjlist,
    ".net": _pajek,
}
