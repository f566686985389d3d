"""The links that a round of federated elimination uses (Li and Song 2022), by the graph alone."""

from topologies.graphs import Graph
from topologies.sinks import find_sinks


def gis_links(graph: Graph) -> int:
    """Links of one round of GIS (and of flooding): Σ over edges of min(d_G, 1 + larger ecc).

    An edge is used in a slot if either end has something new; agent i has in the slots 1 to
    1 + ecc(i), and there are d_G slots.
    """
    last, ecc = graph.diameter, graph.eccentricities
    return sum(min(last, 1 + max(ecc[i], ecc[j])) for i, j in graph.edges())


def gis_links_paper(graph: Graph) -> int:
    """Links of one round by the paper: d_G Σ d_i / 2, every edge in every slot.

    Star 2(M-1), ring M²/2 (M even), complete M(M-1)/2; in other graphs an upper bound.
    """
    return graph.diameter * graph.size


def sac_links(graph: Graph) -> int:
    """Local links of one round of SAC: Σ_i sd(i, SA_q), one per mean and hop."""
    return sum(find_sinks(graph).distance)
