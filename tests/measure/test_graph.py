"""A graph in numbers, against those worked out by hand."""

import math

import pytest

from posse.measure.graph import Degrees, measure
from topologies.graphs import from_edges


def test_a_path_of_four() -> None:
    """Degrees 1, 2, 2, 1; the two middle agents are the centre, the first of them the sink."""
    facts = measure(from_edges(4, [(0, 1), (1, 2), (2, 3)]))
    assert (facts.agents, facts.edges, facts.diameter) == (4, 3, 3)
    assert facts.degrees == Degrees(1, 1.5, 2)
    assert facts.components == [4]
    assert facts.centre == [1, 2]
    assert facts.sinks == [1]
    assert facts.eccentricities_of_sinks == [2]
    # the Laplacian of a path has the eigenvalues 2 - 2 cos(πk/n)
    assert facts.algebraic_connectivity == pytest.approx(2 - 2 * math.cos(math.pi / 4))
    assert facts.resamples == 0


def test_parts_have_a_sink_each() -> None:
    facts = measure(from_edges(5, [(0, 1), (1, 2), (3, 4)]))
    assert facts.components == [3, 2]
    assert len(facts.sinks) == len(facts.eccentricities_of_sinks) == 2
    assert facts.algebraic_connectivity == pytest.approx(0.0, abs=1e-9)
