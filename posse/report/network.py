"""The network as it was used: who sent to whom, how much, and who was what."""

import math
from collections import defaultdict
from typing import Any

import msgspec
import networkx as nx
import numpy as np
from matplotlib.lines import Line2D

from posse.measure.numbers import capital, number
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import Section
from posse.report.read import Series
from posse.results.anonymous import AnonymousDetail
from protocol.machine import COORDINATOR
from protocol.wire import Plane

MOST_LINKS = 1000
"""So many links are drawn at most, the heaviest: more are a grey disc."""

_CLASSES = 5
_SMALL = 60
"""Up to so many agents the slow and better layout is used, and ranks are written."""


def section(series: Series) -> Section | None:
    """The network as it was used, and who was what in it; None if nothing was sent."""
    chart = draw(series)
    if chart is None:
        return None
    text = [
        f"{capital(role)}: {', '.join(map(str, sorted(ranks)[:40]))}"
        f"{' …' if len(ranks) > 40 else ''}."
        for role, ranks in roles(series).items()
    ]
    facts = [
        f"{name.replace('_', ' ')} {number(value)}"
        for name, value in msgspec.to_builtins(series.network).items()
        if isinstance(value, int | float | str)
    ]
    if facts:
        text.append(capital("; ".join(facts)) + ".")
    return Section(id="network", title="Who spoke with whom", charts=[chart], text=text)


def roles(series: Series) -> dict[str, set[int]]:
    """Agents that the result says something particular about, by what it says."""
    left: set[int] = set()
    for run in series.runs:
        left |= {*run.dismissed, *run.exhausted}
        if isinstance(run.detail, AnonymousDetail):
            left |= {*run.detail.expelled, *run.detail.vanished}
    found = {
        "sink": set(series.network.sinks or ()),
        "byzantine": set(series.network.byzantine or ()),
        "left early": left,
    }
    return {role: ranks for role, ranks in found.items() if ranks}


_MARKS = {
    "coordinator": ("s", "s1", 130.0),
    "agent": ("o", "s0", 60.0),
    "sink": ("D", "s1", 80.0),
    "byzantine": ("X", "bad", 90.0),
    "left early": ("o", "muted", 55.0),
}


def draw(series: Series) -> Chart | None:
    """The network with link thickness by payload bytes of data; None if nothing was sent.

    Where a system's messages all belong to the world (the arms' medium), those are drawn.
    """
    planes: dict[Plane, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    messages: dict[tuple[int, int], float] = defaultdict(float)
    for link in series.first_links:
        if link.plane == Plane.CONTROL:
            continue
        pair = (min(link.source, link.target), max(link.source, link.target))
        planes[link.plane][pair] += link.payload_bytes
        messages[pair] += link.messages
    plane = Plane.DATA if planes.get(Plane.DATA) else Plane.WORLD
    weights = planes.get(plane)
    if not weights:
        return None
    place = _layout(series.spec.agents.count, sorted(weights))
    marks = roles(series)
    drawn = sorted(weights, key=lambda pair: (-weights[pair], pair))[:MOST_LINKS]
    with canvas(7.0, 5.6 if series.spec.agents.count > 8 else 4.2) as (figure, axes):
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.margins(0.04)
        _links(axes, place, drawn, weights)
        handles = _nodes(axes, place, marks, series.spec.agents.count)
        axes.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(handles)
        )
        svg = to_svg(figure, "network", f"Network of {series.spec.agents.count} agents")
    omitted = len(weights) - len(drawn)
    what = "paper's messages" if plane == Plane.DATA else "messages to and from the arms' medium"
    caption = (
        f"{len(weights):,} links carried the {what}; the thicker, the more payload bytes "
        f"({min(weights.values()):,.0f} to {max(weights.values()):,.0f} in the first run)."
    )
    if omitted:
        caption += f" The {len(drawn):,} heaviest are drawn, {omitted:,} are not."
    idle = series.spec.agents.count - len({n for pair in weights for n in pair if n != COORDINATOR})
    if idle:
        caption += f" {idle} agents sent and heard nothing."
    return Chart(
        name="network",
        title="The network",
        caption=caption,
        svg=svg,
        header=("source", "target", "messages", "payload_bytes"),
        rows=[
            (source, target, round(messages[source, target], 2), round(weight, 1))
            for (source, target), weight in sorted(weights.items())
        ],
        wide=True,
    )


def _layout(agents: int, pairs: list[tuple[int, int]]) -> dict[int, tuple[float, float]]:
    """Where each stands: round the coordinator if all speak with it only, else by forces."""
    if all(source == COORDINATOR for source, _ in pairs):
        place = {COORDINATOR: (0.0, 0.0)}
        for n in range(agents):
            if agents <= 48:
                radius, angle = 1.0, math.tau * n / agents
            else:
                # A sunflower's spiral fills the disc evenly; the middle is the coordinator's.
                radius = math.sqrt((n + 0.08 * agents) / (1.08 * agents))
                angle = n * math.pi * (3 - math.sqrt(5))
            place[n] = (radius * math.sin(angle), radius * math.cos(angle))
        return place
    graph = nx.Graph()
    graph.add_nodes_from(range(agents))
    graph.add_edges_from(pairs)
    if agents <= _SMALL and nx.is_connected(graph):
        found = nx.kamada_kawai_layout(graph)
    elif 2 * len(pairs) >= 0.8 * agents * (agents - 1):
        found = nx.circular_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=1, iterations=60, k=1.6 / math.sqrt(agents))
    return {node: (float(x), float(y)) for node, (x, y) in found.items()}


def _links(
    axes: Any,
    place: dict[int, tuple[float, float]],
    drawn: list[tuple[int, int]],
    weights: dict[tuple[int, int], float],
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
            color=COLOUR["s7"],
            linewidth=0.3 + thickest * ((index + 1) / _CLASSES) ** 2,
            alpha=fade,
            zorder=1,
            solid_capstyle="round",
        )


def _nodes(
    axes: Any, place: dict[int, tuple[float, float]], marks: dict[str, set[int]], agents: int
) -> list[Line2D]:
    special = set().union(*marks.values()) if marks else set()
    groups: dict[str, list[int]] = {"agent": [n for n in range(agents) if n not in special]}
    if COORDINATOR in place:
        groups["coordinator"] = [COORDINATOR]
    groups |= {role: sorted(n for n in ranks if n in place) for role, ranks in marks.items()}
    handles = []
    shrink = 1.0 if agents <= 100 else max(0.25, 100 / agents)
    for role, nodes in groups.items():
        if not nodes:
            continue
        marker, colour, size = _MARKS[role]
        hollow = role == "left early"
        face = COLOUR["paper"] if hollow else COLOUR[colour]
        axes.scatter(
            [place[n][0] for n in nodes],
            [place[n][1] for n in nodes],
            marker=marker,
            s=size * (shrink if role == "agent" else max(shrink, 0.6)),
            facecolor=face,
            edgecolor=COLOUR[colour if hollow else "paper"],
            linewidth=1.4 if hollow else 0.5,
            zorder=2,
        )
        handles.append(
            Line2D(
                [], [], linestyle="none", marker=marker, markerfacecolor=face,
                markeredgecolor=COLOUR[colour], markersize=7, label=f"{role} ({len(nodes)})",
            )
        )  # fmt: skip
    if agents <= 24:
        middle = np.mean([place[n] for n in range(agents)], axis=0)
        for n in range(agents):
            away = np.array(place[n]) - middle
            length = float(np.linalg.norm(away)) or 1.0
            axes.annotate(
                str(n),
                place[n],
                xytext=tuple(11 * away / length),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=9.5,
                color=COLOUR["muted"],
            )
    return handles
