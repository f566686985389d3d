"""`posse check --topology`: a `[topology]` in numbers and as a picture."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posse.cli import paths
from posse.cli.options import print_json
from posse.errors import InputError, PosseError, SpecError
from posse.gates import files
from posse.measure.numbers import by_name, listed
from posse.spec.explain import convert
from posse.spec.runfile import read
from posse.spec.topology import TopologySpec, lay_out
from posse.topologies.graphs import Graph, GraphError
from posse.topologies.sinks import find_sinks

_PICTURES = (".png", ".svg")


def describe(
    file: Path, changes: Sequence[str], number: int, draw: Path | None, *, json: bool
) -> None:
    """Describe the graph of one run of a run file, and draw it if asked.

    The file needs only `[topology]` and, if that does not set the number of agents, `agents.count`.
    """
    if draw is not None and draw.suffix.lower() not in _PICTURES:
        raise InputError(f"--draw {draw}: the name must end in {' or '.join(_PICTURES)}")
    if draw is not None:
        paths.file(draw)
    graph = _load(file, changes, number)
    if json:
        print_json(document(graph))
    else:
        _print(graph)
    if draw is not None:
        _picture(graph, draw)
        if not json:
            print(f"drawn to {draw}")


def _load(path: Path, overrides: Sequence[str], run: int) -> Graph:
    """The graph of one run of a run file; only the topology is checked."""
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
        raise SpecError("agents.count", "must be the number of agents, at least 1")
    seed = convert(raw.get("seed", 0), int, "seed")
    return lay_out(topology, agents, seed, run, raw["base"])


def document(graph: Graph) -> dict[str, Any]:
    """What `--json` prints; components by their sizes."""
    degrees, sinks = graph.degrees, find_sinks(graph)
    mean = sum(degrees) / graph.agents
    return {
        "agents": graph.agents,
        "names": graph.names or list(map(str, range(graph.agents))),
        "edges": graph.size,
        "degrees": {"least": min(degrees), "mean": mean, "greatest": max(degrees)},
        "components": [len(component) for component in graph.components],
        "diameter": graph.diameter,
        "centre": graph.centre,
        "sinks": sinks.sink,
        "eccentricities_of_sinks": sinks.eccentricity,
        "algebraic_connectivity": graph.algebraic_connectivity(),
        "second_eigenvalue": graph.second_eigenvalue(),
        "resamples": graph.resamples,
    }


def _print(graph: Graph) -> None:
    degrees, parts = graph.degrees, [len(component) for component in graph.components]
    mean = sum(degrees) / graph.agents
    rows = {
        "agents": f"{graph.agents}",
        "edges": f"{graph.size}",
        "degrees": f"{min(degrees)} to {max(degrees)}, mean {mean:.2f}",
        "components": f"{len(parts)}" + (f" of sizes {listed(parts)}" if len(parts) > 1 else ""),
        "diameter": f"{graph.diameter}",
        "centre": listed(graph.centre),
        "sinks": listed(find_sinks(graph).sink),
        "algebraic connectivity": f"{graph.algebraic_connectivity():.4g}",
        "second eigenvalue": f"{graph.second_eigenvalue():.4g} (normalised adjacency)",
    }
    if graph.names:
        rows["agents by name"] = by_name(graph.names)
    if again := graph.resamples:
        rows["drawn again"] = f"{again} time{'s' * (again > 1)} until connected"
    for name, value in rows.items():
        print(f"{name:<24}{value}")


def _picture(topology: Graph, path: Path) -> None:
    """Draw a graph as PNG or SVG like the report does, with sinks marked."""
    try:
        from posse.report import drawing, graph, palette
    except ImportError:
        raise PosseError("drawing needs matplotlib: pip install 'posse-bandits[draw]'") from None
    png = path.suffix.lower() == ".png"
    colours = palette.PALETTE["light"] if png else drawing.COLOUR
    links = dict.fromkeys(topology.edges(), 1.0)
    sinks = set(find_sinks(topology).sink)
    with drawing.canvas(*graph.size(topology.agents)) as (figure, axes):
        drawn = graph.draw(axes, topology.agents, links, {"sink": sinks}, colours)
        if len(drawn) < len(links):
            axes.set_title(f"{len(drawn):,} of {len(links):,} links", color=colours["muted"])
        if png:
            drawn_to = io.BytesIO()
            figure.savefig(drawn_to, format="png", dpi=200, facecolor=colours["paper"])
            files.write(path, drawn_to.getvalue())
        else:
            svg = drawing.to_svg(figure, "topology", f"Graph of {topology.agents} agents")
            files.write(path, drawing.standalone(svg))
