"""Flooding and gossip over a fake network."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.protocol.machine import Refuse
from posse.topologies.graphs import Graph
from posse_systems.li2022.messages import Data, Quiet
from posse_systems.li2022.push import Gossip
from tests.support.federated import connected, deliver, row, say


@settings(max_examples=20)
@given(connected, st.integers(0, 100))
def test_gossip_ends_for_all_together_with_everything(graph: Graph, order: int) -> None:
    machines = [
        Gossip(
            n,
            graph.agents,
            graph.neighbours[n],
            {"diameter": graph.diameter},
            choice=np.random.default_rng((order, n)),
        )
        for n in range(graph.agents)
    ]
    known = deliver(machines, graph, rounds=2, order=order)
    assert len({(m.slot, m.since) for m in machines}) == 1
    last = max(next(n for n, has in enumerate(k) if len(has) == graph.agents) for k in known)
    assert machines[0].since == last
    assert machines[0].slot == last + graph.diameter
    for machine in machines:
        assert (machine.rows == [[j, 20.0] for j in range(graph.agents)]).all()


def test_a_message_for_a_slot_that_its_round_did_not_have_waits_no_longer_than_that_round() -> None:
    machine = Gossip(0, 2, (1,), {"diameter": 1})
    machine.begin(1, np.array([0.5]))
    machine.open()
    say(machine, 1, Data(1, 1, (1,), row(0.1)))
    say(machine, 1, Quiet(1, 1, "push", b"\0", 0))
    machine.open()
    say(machine, 1, Data(1, 3, (1,), row(0.9)))
    say(machine, 1, Quiet(1, 2, "push", b"\x40", 1))
    assert machine.over
    machine.begin(2, np.array([0.5]))
    assert Refuse("out-of-turn", 1) in machine.open()
    assert (machine.early, machine.data) == ({}, {})
