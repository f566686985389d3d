"""What an agent's guard of its links holds of those that were closed: nothing."""

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import zmq

from posse.agent import guard
from posse.agent.each_link import EachLink
from posse.agent.guard import Guard
from posse.agent.mesh import NeighbourLinks
from posse.agent.one_to_all import OneToAll
from posse.hosts.endpoint import NEIGHBOURS
from posse.protocol import control
from posse.security.keys import make_ephemeral_keys
from posse.wire.line import Interceptor
from posse.wire.links import outside_runs
from posse.wire.sockets import MonitorEvent, Selector, end
from tests.support.lobby import setup
from tests.support.remote import until

SPARE = 3
"""Descriptors that may come and go beside what is counted."""


class Party:
    """An agent without keys among neighbours that are not there."""

    def __init__(self) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._selector = Selector()
        self._guard = Guard(self._context, self._selector, None)

    @contextmanager
    def mesh(self, kind: type[NeighbourLinks]) -> Iterator[NeighbourLinks]:
        mesh = kind(
            self._context,
            self._guard,
            bind=("tcp://127.0.0.1:*",),
            rank=0,
            patience_ms=50,
            interceptor=Interceptor(),
        )
        try:
            yield mesh
        finally:
            mesh.close()

    def changes(self, mesh: NeighbourLinks) -> None:
        """This mesh is told of links that come up."""
        self._guard.link_changed = lambda rank, up: mesh.changed(rank, up=up)

    def looks(self, mesh: NeighbourLinks) -> None:
        """Listen to monitors and subscriptions."""
        self._selector.wait(10)
        mesh.not_listening()

    def holds(self) -> int:
        """File descriptors, when what happened so far was listened to."""
        self._selector.wait(10)
        return len(os.listdir("/proc/self/fd"))

    def hears(self, link: Any = None, at: str = "") -> None:
        """A link's monitor has something to tell."""
        with self._context.socket(zmq.PAIR) as monitor:
            if link is not None:
                self._guard._ranks[at] = 1
            heard: Any = Recorded() if link is None else link
            self._guard._monitors[monitor] = heard
            self._guard._follow(monitor)
            self._guard._monitors.pop(monitor, None)

    def connects_again(self) -> None:
        """It is time to connect to every address that was let go."""
        self._guard._again.due(math.inf)

    def close(self) -> None:
        self._guard.close()
        end(self._context)


@pytest.fixture
def party() -> Iterator[Party]:
    here = Party()
    yield here
    here.close()


def test_a_neighbour_that_is_somewhere_else_again_and_again_costs_nothing(party: Party) -> None:
    with party.mesh(EachLink) as mesh:
        mesh.connect(msgspec.structs.replace(setup(0), inboxes={1: "tcp://127.0.0.1:9"}))
        most = party.holds() + SPARE
        for port in range(10, 30):
            mesh.connect(msgspec.structs.replace(setup(0), inboxes={1: f"tcp://127.0.0.1:{port}"}))
        until(lambda: party.holds() <= most, "that what was closed is given back")


@pytest.mark.parametrize("kind", [EachLink, OneToAll])
def test_links_that_are_made_anew_cost_nothing(party: Party, kind: type[NeighbourLinks]) -> None:
    most = 0
    for _ in range(20):
        with party.mesh(kind) as mesh:
            mesh.connect(msgspec.structs.replace(setup(0), inboxes={1: "tcp://127.0.0.1:9"}))
            most = most or party.holds() + SPARE
    until(lambda: party.holds() <= most, "that what was closed is given back")


@pytest.mark.parametrize("kind", [EachLink, OneToAll])
def test_a_neighbour_that_moved_gets_what_it_had_not_confirmed(
    party: Party, kind: type[NeighbourLinks]
) -> None:
    frame = outside_runs(control.Ready(0), 0)
    other = Party()
    with party.mesh(kind) as mesh, other.mesh(kind) as neighbour:
        party.changes(mesh)
        neighbour.rename(1)
        neighbour.connect(msgspec.structs.replace(setup(1), inboxes={0: mesh.address}))
        links = mesh.connect(msgspec.structs.replace(setup(0), inboxes={1: "tcp://127.0.0.1:9"}))
        links[NEIGHBOURS](frame)
        assert not mesh.move_neighbour(2, neighbour.address)
        old = neighbour.address
        neighbour.move("tcp://127.0.0.1:*")
        assert neighbour.address != old
        assert mesh.move_neighbour(1, neighbour.address)
        assert not mesh.move_neighbour(1, neighbour.address)
        came: list[bytes] = []

        def arrived() -> bool:
            party.looks(mesh)
            other.looks(neighbour)
            came.extend(got for _, got in neighbour.drain())
            return bool(came)

        until(arrived, "the frame at the new inbox")
        assert came == [frame]
    other.close()


def test_a_neighbour_that_shuts_an_agent_out_later_is_named_too(
    party: Party, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="posse")
    at, shut_out = "tcp://127.0.0.1:9", zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    let_in = zmq.EVENT_HANDSHAKE_SUCCEEDED
    gone = zmq.EVENT_DISCONNECTED
    two = [shut_out, gone] * 2
    for events in (two, [let_in, gone], two, [let_in, gone], [*two, shut_out, gone]):
        assert not caplog.records
        for event in events:
            came = [MonitorEvent(event, 0, at)]
            monkeypatch.setattr(guard, "monitor_events", lambda monitor, came=came: iter(came))
            party.hears()
            if event is gone:
                party.connects_again()
    (line,) = caplog.messages
    assert line.startswith(
        f"agent ? at {at} does not let this agent in, which tries ever less often: "
    )


class Recorded:
    """A link's socket, that notes to which key it connects, and what it leaves."""

    closed = False

    def __init__(self) -> None:
        self.connected: list[str] = []
        self.left: list[str] = []
        self._key = ""

    def setsockopt(self, option: int, value: Any) -> None:
        if option == zmq.CURVE_SERVERKEY:
            self._key = value.decode()

    def connect(self, address: str) -> None:
        self.connected.append(self._key)

    def disconnect(self, address: str) -> None:
        self.left.append(address)


@pytest.mark.parametrize(
    "answer",
    [zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, None],
)
def test_a_neighbour_whose_answer_was_wrong_is_tried_ever_less_often_with_its_own_key(
    party: Party, monkeypatch: pytest.MonkeyPatch, answer: int | None
) -> None:
    """The last one that was linked has another key; ZeroMQ itself may never try again."""
    first, last = "tcp://127.0.0.1:9", "tcp://127.0.0.1:10"
    own = make_ephemeral_keys(2)[1]
    monkeypatch.setattr(party._guard, "_own", own[0])
    monkeypatch.setattr(party._guard, "_keys", {1: own[0].public, 2: own[1].public})
    monkeypatch.setattr(party._guard, "_ranks", {first: 1, last: 2})
    link, now, waits = Recorded(), 0.0, []
    monkeypatch.setattr(party._guard, "_world", SimpleNamespace(monotonic=lambda: now))
    kinds = [kind for kind in (answer, zmq.EVENT_DISCONNECTED) if kind is not None]
    came = [MonitorEvent(kind, 0, first) for kind in kinds]
    monkeypatch.setattr(guard, "monitor_events", lambda monitor: iter(came))
    for number in range(1, 9):
        party.hears(link, first)
        before = now
        while len(link.connected) < number:
            now += 0.1
            party._guard.probe()
        waits.append(round(now - before))
    assert waits == [0, 0, 1, 2, 3, 6, 8, 8]
    assert {*link.connected} == {own[0].public}
    assert {*link.left} == {first}


def test_an_inbox_that_sends_too_much_is_connected_to_no_more(
    party: Party, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else its 100,000 topics came again with each connection, for 50 bytes of memory per byte."""
    at, link = "tcp://127.0.0.1:9", Recorded()
    monkeypatch.setattr(party._guard, "_door", SimpleNamespace(disconnected=lambda fd: fd == 7))
    up = MonitorEvent(zmq.EVENT_HANDSHAKE_SUCCEEDED, 0, at)
    for fd, after in ((6, []), (7, []), (6, []), (7, [at])):
        gone = MonitorEvent(zmq.EVENT_DISCONNECTED, fd, at)
        monkeypatch.setattr(guard, "monitor_events", lambda monitor, gone=gone: iter([up, gone]))
        party.hears(link, at)
        assert link.left == after
    party._guard.probe()
    assert link.connected == []
    assert caplog.messages == [
        f"this agent does not connect again to the inbox {at} of agent 1, which sends too much"
    ]
