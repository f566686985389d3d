"""Links and costs of federated elimination in closed form, by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.plan import prepare
from posse.topologies import graphs
from posse.topologies.graphs import Graph, side_by_side
from posse_systems.li2022 import theory
from posse_systems.li2022.messages import (
    CdpParameters,
    DdpParameters,
    FederatedParameters,
    Schedule,
    SingleParameters,
)
from posse_systems.li2022.theory import gis_links, gis_links_paper, sac_links
from tests.support.conversations import examples
from tests.support.runfile import describe_run

GAPS = np.array([0.0, 0.5, 0.25])


@given(st.integers(3, 60))
@example(50)
def test_links_of_regular_graphs_are_those_of_the_paper(n: int) -> None:
    for graph, links in (
        (graphs.complete(n), n * (n - 1) // 2),
        (graphs.star(n), 2 * (n - 1)),
        (graphs.ring(n), n * (n // 2)),
    ):
        assert gis_links(graph) == gis_links_paper(graph) == links


def test_the_six_component_cases_of_the_paper() -> None:
    """Per round with c1 = 50, c2 = 1 and M = 100, Q sinks: by hops and by edges."""

    def both(*parts: Graph) -> tuple[int, int]:
        graph = side_by_side(parts)
        q = len(graph.components)
        return sac_links(graph) + 50 * q, graph.size + 50 * q

    full = graphs.complete
    assert both(*[full(20)] * 5) == (345, 1200)
    assert both(*map(full, (53, 24, 10, 6, 7))) == (345, 1985)
    assert both(full(100)) == (149, 5000)
    assert both(*[graphs.star(20)] * 5) == (345, 345)
    assert both(*[graphs.singles(1)] * 100) == (5000, 5000)


@given(st.floats(0.001, 1.0))
def test_an_arm_leaves_in_the_first_round_whose_width_its_gap_reaches(gap):
    """In round r an arm with Δ >= 2^(1-r) leaves."""
    rounds = theory.elimination_rounds(gap)
    assert gap >= 2.0 ** (1 - rounds) * (1 - 1e-9)
    assert rounds == 1 or gap < 2.0 ** (2 - rounds)


def _schedule(**more):
    return Schedule(arms=3, senders=4, horizon=1000, epsilon=100.0, **more)


@pytest.mark.parametrize(
    ("variant", "sizes", "apart", "drawn"),
    [
        ("printed", (8, 2), True, False),
        ("corrected", (8, 2), True, True),
        ("printed", (5, 5), True, True),
        ("printed", (8, 2), False, True),
    ],
)
def test_there_is_no_bound_by_equal_weights_of_unequal_components(variant, sizes, apart, drawn):
    """Eight like arm 0, two arm 1: each component weighs half, and arm 1 is found."""
    first, others = [0.6, 0.4], [0.05, 0.95] if apart else [0.6, 0.4]
    large, small = sizes
    means = [first] * large + [others] * small
    parts = [{"kind": "complete", "count": count} for count in sizes]
    topology = {"kind": "components", "components": parts}
    parameters = {"horizon": 20_000, "epsilon": 1.0}
    run = describe_run(
        "hdp-mab", 10, means, variant=variant, topology=topology, parameters=parameters
    )
    bound = prepare(run).bound(0)
    assert (bound.regret is not None) == drawn
    assert drawn or "a small component weighs as much as a large one" in bound.note


GIVEN: dict[str, Any] = {"horizon": 1000, "epsilon": 0.5}


@pytest.mark.parametrize(
    ("parameters", "senders", "scale"),
    [
        (SingleParameters(**GIVEN), 1, 1 / 50),
        (DdpParameters(**GIVEN), 10, 1 / 500),
        (CdpParameters(**GIVEN), 10, 1 / 500),
        (CdpParameters(**GIVEN, noise="per_agent"), 10, 1 / 50),
        (CdpParameters(**GIVEN, participation=0.25), 3, 1 / 150),  # ⌈.25 · 10⌉
    ],
)
def test_of_ten_agents(parameters: SingleParameters, senders: int, scale: float) -> None:
    schedule = theory.make_schedule(parameters, 10, 4)
    assert type(schedule) is Schedule
    assert schedule.senders == senders
    assert schedule.scale(100) == pytest.approx(scale)  # 1 / (M ε d), or 1 / (ε d)
    assert (schedule.arms, schedule.horizon) == (4, 1000)


@pytest.mark.parametrize("kind", [CdpParameters, DdpParameters])
def test_the_form_of_r_rounds_is_passed_on(kind: type[FederatedParameters]) -> None:
    schedule = theory.make_schedule(kind(**GIVEN, max_rounds=3, gap=0.2), 10, 4)
    assert (schedule.max_rounds, schedule.gap) == (3, 0.2)
    assert theory.make_schedule(kind(**GIVEN), 10, 4).max_rounds is None


@examples(Path(__file__).with_name("theory.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
