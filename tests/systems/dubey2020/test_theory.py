"""The regret of cooperation on a graph, by hand."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.plan import prepare
from posse.topologies import graphs
from posse.topologies.graphs import Graph
from posse_systems.dubey2020 import theory
from posse_systems.dubey2020.theory import clique_cover
from tests.support.conversations import examples
from tests.support.federated import connected

GAPS = np.array([0.0, 0.5, 0.25])
E = np.array([math.e])


@given(st.integers(4, 12))
@example(6)
def test_cliques_of_small_graphs(n):
    for graph, gamma, cliques in (
        (graphs.complete(n), 1, 1),
        (graphs.ring(n), 1, -(-n // 2)),
        (graphs.ring(n), 0, n),
        (graphs.ring(n), n // 2, 1),
        (graphs.star(n), 1, n - 1),
        (graphs.star(n), 2, 1),
    ):
        assert theory.clique_cover(graph, gamma) == cliques


def _bound(system, means=(0.95, 0.05), variant="corrected", **parameters):
    return prepare({
        "system": system,
        "variant": variant,
        "agents": {"count": 20},
        "topology": {"kind": "star"},
        "arms": {"kind": "bernoulli", "means": list(means)},
        "parameters": {"horizon": 1000, **parameters},
    }).bound(0)  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "believed", "agents", "form", "gamma", "drawn"),
    [
        (0.1, None, "all", "source", 1, True),
        (0.05, 0.1, "all", "source", 1, True),  # an over-estimate, section 4.2
        (0.1, 0.05, "all", "source", 1, False),
        (0.1, 0.05, 1, "source", 1, False),
        (0.1, 0.05, 0, "source", 1, True),  # nobody lies
        (0.1, 0.05, "all", "source", 0, True),  # nobody listens
        (0.05, None, "all", "relay", 2, False),  # up to γ ε of the messages
        (0.05, 0.1, "all", "relay", 2, True),
        (0.05, None, "all", "relay", 1, True),
    ],
)
@pytest.mark.parametrize("variant", ["corrected", "printed"])
def test_theorem_4_3_takes_no_more_lies_than_agents_believe(
    rate, believed, agents, form, gamma, drawn, variant
):
    lies = {"rate": rate, "agents": agents, "law": "opposite", "form": form}
    given = {} if believed is None else {"assumed_contamination": believed}
    bound = _bound("byzantine-ucb", variant=variant, gamma=gamma, contamination=lies, **given)
    assert (bound.regret is not None) == drawn
    hops = " in each of 2 hops" if form == "relay" else ""
    said = f"is {rate:g}{hops}, and agents believe {given.get('assumed_contamination', rate):g}."
    assert bound.note.endswith("four times as much at σ = 1/2." if drawn else said)


@pytest.mark.parametrize(
    ("variant", "more", "drawn"),
    [
        ("corrected", {}, False),
        ("corrected", {"winsor": True}, True),
        ("printed", {}, True),
    ],
)
def test_theorem_4_3_is_not_about_a_mean_that_trims_nothing(variant, more, drawn):
    given = {"contamination": {"rate": 0.0}, "assumed_contamination": 0.125, **more}
    bound = _bound("byzantine-ucb", variant=variant, **given)
    assert (bound.regret is not None) == drawn
    assert drawn or "trims nothing" in bound.note


@pytest.mark.parametrize(
    ("share", "liars", "form", "why"),
    [
        (None, 8, "source", ""),
        (0.4, [1, 1, 2, 3, 4, 5, 6, 7, 8], "source", ""),
        (0.35, 8, "source", "8 agents lie, and it is proved for 7 at most"),
        (0.0, "all", "source", "20 agents lie, and it is proved for 0 at most"),
        (0.4, 1, "relay", "what others said is changed"),
    ],
)
def test_the_robust_bound_is_for_no_more_liars_than_are_believed(share, liars, form, why):
    lies = {"rate": 1.0, "agents": liars, "law": "informed", "form": form}
    given = {} if share is None else {"assumed_contamination": share}
    bound = _bound("robust-private-ucb", epsilon=1.0, contamination=lies, **given)
    assert (bound.regret is None) == bool(why)
    assert why in bound.note


@settings(max_examples=20)
@given(connected)
def test_cliques_that_cover_the_agents_are_fewer_the_farther_they_reach(graph: Graph) -> None:
    covers = [clique_cover(graph, gamma) for gamma in range(graph.diameter + 1)]
    assert covers[0] == graph.agents
    assert covers[-1] == 1
    assert all(1 <= cover <= graph.agents for cover in covers)


@examples(Path(__file__).with_name("theory.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
