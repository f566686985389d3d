"""A graph as a picture."""

from pathlib import Path

from posse.errors import PosseError
from topologies.graphs import Graph
from topologies.sinks import find_sinks


def picture(topology: Graph, path: Path) -> None:
    """Draw a graph as PNG or SVG, as the report draws it: sinks are marked.

    Raises `PosseError` without matplotlib.
    """
    try:
        from posse.report import drawing, graph
    except ImportError:
        raise PosseError("drawing needs matplotlib: pip install 'posse[draw]'") from None
    png = path.suffix.lower() == ".png"
    colours = drawing.PALETTE["light"] if png else drawing.COLOUR
    links = dict.fromkeys(topology.edges(), 1.0)
    sinks = set(find_sinks(topology).sink)
    with drawing.canvas(*graph.size(topology.agents)) as (figure, axes):
        drawn = graph.draw(axes, topology.agents, links, {"sink": sinks}, colours)
        if len(drawn) < len(links):
            axes.set_title(f"{len(drawn):,} of {len(links):,} links", color=colours["muted"])
        if png:
            figure.savefig(path, dpi=200, facecolor=colours["paper"])
        else:
            svg = drawing.to_svg(figure, "topology", f"Graph of {topology.agents} agents")
            path.write_text(drawing.standalone(svg))
