"""Federated elimination's servers, driven by hand (Li and Song 2022)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.machine import (
    Broadcast,
    Finish,
    PeerFinished,
    PeerLost,
    Received,
    Send,
    Started,
    Variant,
)
from posse_systems.li2022.messages import Active, Means, Schedule, SinkMeans
from posse_systems.li2022.server import CdpServer, HdpServer
from tests.support.federated import row


@given(st.sampled_from(["corrected", "printed"]), *[st.integers(0, 99)] * 4)
@example("corrected", 60, 40, 10, 50)
@example("printed", 60, 40, 10, 50)
def test_unequal_components_are_weighted_by_size_in_corrected_only(
    variant: Variant, a: int, b: int, c: int, d: int
) -> None:
    """One component has three agents, the other one."""
    schedule = Schedule(arms=2, senders=4, horizon=100, epsilon=1e9)
    machine = HdpServer(2, 4, schedule, sinks=((0, 3), (3, 1)), variant=variant)
    machine.handle(Started(), 0.0)
    machine.handle(Received(0, SinkMeans(1, row(a / 100, b / 100))), 0.0)
    machine.handle(Received(3, SinkMeans(1, row(c / 100, d / 100))), 0.0)
    weight = 3 if variant == "corrected" else 1
    ahead = weight * (a - b) + c - d
    assert not ahead or machine.best == int(ahead < 0)


class Wide(Schedule):
    """C(r) is 0.1, whatever was observed."""

    def radius(self, r: int, active: int, observations: int) -> float:
        return 0.1


def server_of(agents: int, senders: int, generator: Any = None) -> CdpServer:
    schedule = Wide(arms=2, senders=senders, horizon=10**9, epsilon=1.0)
    choice = np.random.default_rng(0) if generator is None else generator
    server = CdpServer(2, agents, schedule, choice=choice)
    server.handle(Started(), 0.0)
    return server


@given(st.integers(0, 60).map(lambda n: n / 100))
@example(0.36)
@example(0.35)
def test_who_is_there_is_averaged_within_a_radius_that_is_wider(worse: float) -> None:
    """Two of three: 2 C(r) sqrt(3/2) is .2449, so that .6 keeps .36 and drops .35."""
    server = server_of(3, 3)
    server.handle(Received(0, Means(1, row(0.5, worse))), 0.0)
    server.handle(Received(2, Means(1, row(0.7, worse))), 0.0)
    assert server.missing() == [1]
    effects = server.handle(PeerLost(1), 0.0)
    assert Broadcast(Active(2, (0, 1) if worse > 0.355 else (0,))) in effects
    assert server.missing() == [0, 2]


def test_means_that_came_before_the_loss_are_averaged_and_no_later_ones_waited_for() -> None:
    server = server_of(3, 3)
    server.handle(Received(1, Means(1, row(0.5, 0.35))), 0.0)
    assert server.handle(PeerLost(1), 0.0) == []
    server.handle(Received(0, Means(1, row(0.5, 0.35))), 0.0)
    effects = server.handle(Received(2, Means(1, row(0.5, 0.35))), 0.0)
    assert Broadcast(Active(2, (0, 1))) in effects  # .15 is within 2 C(1) = .2
    assert server.missing() == [0, 2]


def test_another_uploads_in_the_place_of_who_is_lost() -> None:
    server = server_of(4, 2)
    first, second = server.asked
    server.handle(Received(first, Means(1, row(0.5, 0.1))), 0.0)
    (asked,) = server.handle(PeerLost(second), 0.0)
    assert isinstance(asked, Send)
    assert asked.to not in (first, second)
    assert asked.message == Active(1, (0, 1), upload=True)
    effects = server.handle(Received(asked.to, Means(1, row(0.5, 0.1))), 0.0)
    told = [effect.to for effect in effects if isinstance(effect, Send)]
    assert told == [n for n in range(4) if n != second]
    assert second not in server.asked


@given(st.integers(0))
def test_who_uploads_does_not_depend_on_when_a_loss_was_heard_of(seed: int) -> None:
    """Agent 0 is lost before round 2 is drawn, or only after: the same two agents send means."""
    asked = []
    for early in (True, False):
        server = server_of(5, 2, np.random.default_rng(seed))
        if 0 in server.asked:
            return
        if early:
            server.handle(PeerLost(0), 0.0)
        for sender in server.asked:
            server.handle(Received(sender, Means(1, row(0.5, 0.5))), 0.0)
        if not early:
            server.handle(PeerLost(0), 0.0)
        asked.append((server.round, server.asked))
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("agents", "events", "status"),
    [
        (1, [PeerFinished(0)], "horizon"),
        (2, [PeerFinished(0), PeerLost(1)], "missing"),
        # who is lost after it was done counts once
        (3, [PeerFinished(0), PeerLost(0), PeerFinished(1), PeerFinished(2)], "missing"),
    ],
)
def test_where_all_end_before_a_round_is_over_there_is_no_answer(
    agents: int, events: list[Any], status: Any
) -> None:
    server = server_of(agents, agents)
    *before, last = [server.handle(event, 0.0) for event in events]
    assert before == [[]] * len(before)
    assert last == [Finish(status)]
