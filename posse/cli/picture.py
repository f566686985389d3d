"""A graph as a picture."""

from pathlib import Path

from posse.errors import PosseError
from topologies.graphs import Graph
from topologies.sinks import find_sinks


def picture(graph: Graph, path: Path) -> None:
    """Draw a graph as PNG or SVG: sinks are large and orange, every agent has its rank.

    Raises `PosseError` without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
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
    import networkx

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
