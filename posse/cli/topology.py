"""`posse topology`: what a `[topology]` is, in numbers and as a picture."""

import json
from pathlib import Path
from typing import Any

from posse.cli import paths
from posse.errors import InputError, PosseError, SpecError
from posse.spec.explain import convert
from posse.spec.runfile import read
from posse.spec.topology import TopologySpec, lay_out
from topologies.graphs import Graph, GraphError
from topologies.sinks import find_sinks

_PICTURES = (".png", ".svg")
_LISTED = 12


def run(
    path: Path,
    overrides: list[str],
    *,
    number: int = 0,
    draw: Path | None = None,
    as_json: bool = False,
) -> int:
    """Describe the graph of run `number` of a run file; draw it if asked.

    The file needs no more than `[topology]` and, where that does not say how many, `agents.count`.
    Raises `SpecError` as `posse run` would.
    """
    if draw is not None and draw.suffix.lower() not in _PICTURES:
        raise InputError(f"--draw {draw}: the name must end in {' or '.join(_PICTURES)}")
    if draw is not None:
        paths.file(draw)
    graph = load(path, overrides, number)
    facts = describe(graph)
    if as_json:
        print(json.dumps(facts))
    else:
        _print(facts)
    if draw is not None:
        picture(graph, draw)
        if not as_json:
            print(f"drawn to {draw}")
    return 0


def load(path: Path, overrides: list[str], number: int = 0) -> Graph:
    """The graph of run `number` of a run file, of which only the topology is checked."""
    raw = read(path, overrides)
    if "topology" not in raw:
        raise SpecError("topology", 'is missing; add the table, e.g. kind = "ring"')
    topology: TopologySpec = convert(raw["topology"], TopologySpec, "topology")
    try:
        own = topology.own_count()
    except GraphError as error:
        raise SpecError(f"topology.{error.key}", str(error)) from None
    agents = raw["agents"].get("count") if isinstance(raw.get("agents"), dict) else None
    agents = own if agents is None else convert(agents, int, "agents.count")
    if agents is None or agents < 1:
        raise SpecError("agents.count", "must say how many agents there are, at least 1")
    seed = convert(raw.get("seed", 0), int, "seed")
    return lay_out(topology, agents, seed, number, raw["base"])


def describe(graph: Graph) -> dict[str, Any]:
    """Size, degrees, diameter, centre, connectivity and sinks of a graph, as plain data."""
    sinks = find_sinks(graph)
    return {
        "agents": graph.agents,
        "edges": graph.size,
        "degrees": {
            "least": min(graph.degrees),
            "mean": sum(graph.degrees) / graph.agents,
            "greatest": max(graph.degrees),
        },
        "components": [len(component) for component in graph.components],
        "diameter": graph.diameter,
        "centre": list(graph.centre),
        "sinks": list(sinks.sink),
        "eccentricities_of_sinks": list(sinks.eccentricity),
        "algebraic_connectivity": graph.algebraic_connectivity(),
        "second_eigenvalue": graph.second_eigenvalue(),
        "resamples": graph.resamples,
    }


def _print(facts: dict[str, Any]) -> None:
    degrees, parts = facts["degrees"], facts["components"]
    rows = {
        "agents": f"{facts['agents']}",
        "edges": f"{facts['edges']}",
        "degrees": f"{degrees['least']} to {degrees['greatest']}, mean {degrees['mean']:.2f}",
        "components": f"{len(parts)}" + (f" of sizes {_some(parts)}" if len(parts) > 1 else ""),
        "diameter": f"{facts['diameter']}",
        "centre": _some(facts["centre"]),
        "sinks": _some(facts["sinks"]),
        "algebraic connectivity": f"{facts['algebraic_connectivity']:.4g}",
        "second eigenvalue": f"{facts['second_eigenvalue']:.4g} (normalised adjacency)",
        "drawn again": f"{facts['resamples']} times until connected",
    }
    for name, value in rows.items():
        print(f"{name:<24}{value}")


def _some(values: list[int]) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(str, values[:_LISTED])) + more


def picture(graph: Graph, path: Path) -> None:
    """Draw a graph as PNG or SVG: sinks are large and orange, every agent has its rank.

    Raises `PosseError` without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise PosseError("drawing needs matplotlib: pip install 'posse[draw]'") from None
    places = _places(graph)
    sinks = set(find_sinks(graph).sink)
    figure = Figure(figsize=(8, 8))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    axes.set_axis_off()
    axes.set_aspect("equal")
    for i, j in graph.edges():
        (x, y), (u, v) = places[i], places[j]
        axes.plot([x, u], [y, v], color="0.7", linewidth=0.8, zorder=1)
    size = max(20.0, min(300.0, 9_000.0 / graph.agents))
    for chosen, colour, scale in ((False, "#4c78a8", 1.0), (True, "#f58518", 1.8)):
        shown = [i for i in range(graph.agents) if (i in sinks) == chosen]
        axes.scatter(
            [places[i][0] for i in shown],
            [places[i][1] for i in shown],
            s=size * scale,
            c=colour,
            zorder=2,
            label="sinks" if chosen else "agents",
        )
    for i, (x, y) in enumerate(places):
        axes.annotate(
            str(i), (x, y), ha="center", va="center", fontsize=max(3, min(9, size / 30)), zorder=3
        )
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=150)


def _places(graph: Graph) -> list[tuple[float, float]]:
    """Where to draw each agent: a spring layout per component, components on a square lattice."""
    import networkx  # noqa: PLC0415  (costs 0.2 s; only drawing needs it)

    places = [(0.0, 0.0)] * graph.agents
    columns = max(1, round(len(graph.components) ** 0.5))
    for q, component in enumerate(graph.components):
        drawn = networkx.Graph()
        drawn.add_nodes_from(component)
        drawn.add_edges_from((i, j) for i in component for j in graph.neighbours[i] if i < j)
        ring = all(graph.degrees[i] in (2, len(component) - 1) for i in component)
        layout = (
            networkx.circular_layout(drawn)
            if ring or len(component) < 3
            else networkx.spring_layout(drawn, seed=1)
        )
        right, down = 2.6 * (q % columns), -2.6 * (q // columns)
        for i, (x, y) in layout.items():
            places[i] = (float(x) + right, float(y) + down)
    return places
