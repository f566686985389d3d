"""A graph as a picture: in the report as it was used, for `check --topology` as it is laid out."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from posse.protocol.machine import COORDINATOR
from posse.report.drawing import WIDTH, note

Pair = tuple[int, int]
Place = dict[int, tuple[float, float]]

MOST_LINKS = 1000
"""Most links drawn, the heaviest: more are a grey disc."""

_CLASSES = 5
_SMALL = 60
"""Up to this many agents the slow and better layout is used."""

_RANKED = 36
"""Up to this many agents ranks are written."""

_ROOM_FOR_RANK = 6.0
"""Times the size, so that a rank of two digits, as large as the legend's, fits into the mark."""

_APART = 2.6
"""Between the middles of components, whose radius is 1."""

_MARKS = {
    "coordinator": ("s", "s1", 130.0),
    "agent": ("o", "s0", 55.0),
    "sink": ("D", "s1", 80.0),
    "byzantine": ("X", "bad", 90.0),
    "waited for": ("o", "s5", 80.0),
    "finished": ("o", "s2", 60.0),
    "gone": ("o", "muted", 55.0),
    "left early": ("o", "muted", 55.0),
    "disconnected": ("o", "bad", 55.0),
}
"""By role: marker, colour, size."""

_HOLLOW = ("gone", "left early", "disconnected")


def size(agents: int) -> tuple[float, float]:
    """Height and width of the picture, in inches."""
    return (4.6 if agents > 8 else 3.4), WIDTH


def draw(
    axes: Axes,
    agents: int,
    weights: Mapping[Pair, float],
    marks: Mapping[str, set[int]],
    colours: Mapping[str, str],
) -> list[Pair]:
    """Draw the heaviest links of `weights`, at most `MOST_LINKS`, and all agents; those links.

    `marks` are the ranks of particular roles, `colours` the palette.
    """
    place = layout(agents, sorted(weights))
    drawn = sorted(weights, key=lambda pair: (-weights[pair], pair))[:MOST_LINKS]
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.margins(0.04)
    if drawn:
        _links(axes, place, drawn, weights, colours)
    handles = _nodes(axes, place, marks, agents, colours)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=min(len(handles), 3),
        handlelength=1.0,
        handletextpad=0.4,
        columnspacing=1.2,
        labelcolor=colours["ink"],
    )
    return drawn


def layout(agents: int, pairs: Iterable[Pair]) -> Place:
    """Where each agent stands, and the coordinator if it is in a pair: components side by side."""
    graph = nx.Graph()
    graph.add_nodes_from(range(agents))
    graph.add_edges_from(pairs)
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    columns = math.ceil(math.sqrt(len(parts)))
    place = {}
    for n, part in enumerate(parts):
        right, down = _APART * (n % columns), -_APART * (n // columns)
        for node, (x, y) in _component(graph.subgraph(sorted(part))).items():
            place[node] = (float(x) + right, float(y) + down)
    return place


def _grid(graph: nx.Graph) -> dict[int, Any]:
    """The places of a grid whose nodes are numbered row by row; empty for other graphs."""
    nodes = sorted(graph)
    for columns in range(2, len(nodes) // 2 + 1):
        rows, rest = divmod(len(nodes), columns)
        lattice = nx.grid_2d_graph(rows, columns)
        if not rest and lattice.number_of_edges() == graph.number_of_edges():
            cell_of = {node: divmod(index, columns) for index, node in enumerate(nodes)}
            if all(lattice.has_edge(cell_of[i], cell_of[j]) for i, j in graph.edges):
                far = max(rows, columns) - 1
                return {n: (2 * x / far - 1, 1 - 2 * y / far) for n, (y, x) in cell_of.items()}
    return {}


def _component(graph: nx.Graph) -> dict[int, Any]:
    """One component: a grid as such, a ring and nearly all links on a circle, else by forces."""
    if place := _grid(graph):
        return place
    nodes, links = len(graph), graph.number_of_edges()
    degrees = {degree for _, degree in graph.degree()}
    if nodes < 3 or degrees == {2} or 2 * links >= 0.8 * nodes * (nodes - 1):
        # along its links, so that a ring is one whatever its ranks are
        return dict(nx.circular_layout(list(nx.dfs_preorder_nodes(graph))))
    if nodes <= _SMALL:
        return dict(nx.kamada_kawai_layout(graph))
    return dict(nx.spring_layout(graph, seed=1, iterations=60, k=1.6 / math.sqrt(nodes)))


def _links(
    axes: Axes,
    place: Place,
    drawn: list[Pair],
    weights: Mapping[Pair, float],
    colours: Mapping[str, str],
) -> None:
    """Links in classes of thickness, each class one path, so that thousands stay small."""
    heaviest = max(weights.values())
    classes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for pair in drawn:
        share = math.sqrt(weights[pair] / heaviest) if heaviest else 0.0
        classes[min(_CLASSES - 1, int(share * _CLASSES))].append(pair)
    fade = float(np.clip(9 / math.sqrt(len(drawn)), 0.12, 0.75))
    thickest = float(np.clip(13 / math.sqrt(len(drawn)), 0.8, 4.5))
    for index, pairs in sorted(classes.items()):
        xs: list[float] = []
        ys: list[float] = []
        for source, target in pairs:
            xs += [place[source][0], place[target][0], math.nan]
            ys += [place[source][1], place[target][1], math.nan]
        axes.plot(
            xs,
            ys,
            color=colours["s7"],
            linewidth=0.3 + thickest * ((index + 1) / _CLASSES) ** 2,
            alpha=fade,
            zorder=1,
            solid_capstyle="round",
        )


def _nodes(
    axes: Axes,
    place: Place,
    marks: Mapping[str, set[int]],
    agents: int,
    colours: Mapping[str, str],
) -> list[Line2D]:
    special = set().union(*marks.values()) if marks else set()
    groups: dict[str, list[int]] = {"agent": [n for n in range(agents) if n not in special]}
    if COORDINATOR in place:
        groups["coordinator"] = [COORDINATOR]
    groups |= {role: sorted(n for n in ranks if n in place) for role, ranks in marks.items()}
    handles = []
    shrink = 1.0 if agents <= 100 else max(0.25, 100 / agents)
    if agents <= _RANKED:
        shrink = _ROOM_FOR_RANK
    for role, nodes in groups.items():
        if not nodes:
            continue
        marker, colour, size = _MARKS[role]
        hollow = role in _HOLLOW
        face = colours["paper"] if hollow else colours[colour]
        axes.scatter(
            [place[n][0] for n in nodes],
            [place[n][1] for n in nodes],
            marker=marker,
            s=size * (shrink if role in ("agent", *_HOLLOW) else max(shrink, 0.6)),
            facecolor=face,
            edgecolor=colours[colour if hollow else "paper"],
            linewidth=1.4 if hollow else 0.5,
            zorder=2,
            clip_on=False,
        )
        handles.append(
            Line2D(
                [], [], linestyle="none", marker=marker, markerfacecolor=face,
                markeredgecolor=colours[colour], markersize=7, label=f"{role} ({len(nodes)})",
            )
        )  # fmt: skip
    if agents <= _RANKED:
        hollow_ones = set().union(*(marks.get(role, set()) for role in _HOLLOW))
        for n in range(agents):
            colour = colours["muted" if n in hollow_ones else "paper"]
            note(axes, str(n), place[n], (0, 0), ha="center", color=colour, fontsize=10.5, zorder=3)
    return handles
