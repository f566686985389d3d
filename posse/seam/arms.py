"""Arms and graphs, as far as a system looks at them."""

from posse.arms import LabMeans, Openings, known_means
from posse.arms.base import RandomMeans
from posse.arms.csv import Csv, CsvArms
from posse.spec.activity import ActivitySpec
from posse.spec.topology import require_connected
from posse.topologies.graphs import Graph, from_edges, regular, ring, star
from posse.topologies.sinks import find_sinks

__all__ = [
    "ActivitySpec",
    "Csv",
    "CsvArms",
    "Graph",
    "LabMeans",
    "Openings",
    "RandomMeans",
    "find_sinks",
    "from_edges",
    "known_means",
    "regular",
    "require_connected",
    "ring",
    "star",
]
