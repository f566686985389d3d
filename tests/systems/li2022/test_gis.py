"""Three-way handshakes over a fake network: what is known when, what it costs, what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.topologies.graphs import Graph
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.messages import Adv, Data, Hop, Quiet, Req
from posse_systems.li2022.theory import gis_links
from tests.support.federated import connected, deliver, flooding, gis, row, say


@settings(max_examples=40)
@given(connected, st.sampled_from([gis, flooding]), st.integers(0, 100))
def test_knowledge_after_slot_n_is_the_ball_of_radius_n(
    graph: Graph, kind: Any, order: int
) -> None:
    machines = kind(graph)
    known = deliver(machines, graph, rounds=2, order=order)
    for i in range(graph.agents):
        assert len(known[i]) == graph.diameter + 1
        for n, has in enumerate(known[i]):
            assert has == {j for j in range(graph.agents) if graph.distances[i, j] <= n}
        assert (machines[i].rows == [[j, 20.0] for j in range(graph.agents)]).all()
    assert sum(machine.links for machine in machines) == gis_links(graph)


@pytest.fixture
def middle() -> Gis:
    """Agent 1 of the path 0 - 1 - 2 - 3, in slot 1 of round 1, its neighbours having advertised."""
    machine = Gis(1, 4, (0, 2), {"diameter": 3})
    machine.begin(1, np.array([0.5, 0.5]))
    machine.open()
    return machine


FROM_0 = [(0, Adv(1, 1, (0,)))]
FROM_BOTH = [*FROM_0, (2, Adv(1, 1, (2,)))]


@pytest.mark.parametrize(
    ("before", "bad", "reason"),
    [
        ([], Adv(1, 1, (3,)), "not-held"),
        ([], Quiet(1, 1, "adv"), "not-held"),
        (FROM_0, Adv(1, 1, (0,)), "duplicate"),
        ([], Adv(1, 2, (0,)), "out-of-turn"),
        ([], Adv(2, 1, (0,)), "out-of-turn"),
        (FROM_0, Adv(1, 2, (9,)), "no-such-agent"),
        (FROM_0, Adv(1, 2, (3, 2)), "no-such-agent"),
        (FROM_0, Data(1, 1, (0,), row(0, 0)), "unasked"),
        ([], Data(1, 1, (0,), row(0, 0)), "unasked"),
        ([], Req(1, 1, (2,)), "not-advertised"),
        ([(0, Req(1, 1, (1,)))], Req(1, 1, (1,)), "duplicate"),
        ([], Hop(1, 1, (0,), row(0, 0)), "out-of-turn"),
        (FROM_BOTH, Data(1, 1, (0,), row(0, 0, 0)), "wrong-length"),
        (FROM_BOTH, Data(1, 1, (2,), row(0, 0)), "unasked"),
        (FROM_BOTH, Data(1, 1, (0,), row(0, math.nan)), "not-finite"),
        (FROM_BOTH, Data(1, 1, (0,), row(0, math.inf)), "not-finite"),
    ],
)
def test_bad_gis_messages_of_agent_0_are_refused_and_change_nothing(
    middle, before, bad, reason
) -> None:
    for by, message in before:
        say(middle, by, message)
    copy = {name: repr(getattr(middle, name)) for name in Gis.__slots__}
    with pytest.raises(RemoteProtocolError) as error:
        say(middle, 0, bad)
    assert error.value.reason == reason
    assert copy == {name: repr(getattr(middle, name)) for name in Gis.__slots__}
