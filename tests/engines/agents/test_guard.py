"""What an agent's guard of its links holds of those that were closed: nothing."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import zmq

from posse.engines.agents import guard
from posse.engines.agents.each_link import EachLink
from posse.engines.agents.guard import Guard
from posse.engines.agents.mesh import NeighbourLinks
from posse.engines.agents.one_to_all import OneToAll
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
                self._guard._monitors[monitor] = link
            self._guard._follow(monitor)
            self._guard._monitors.pop(monitor, None)

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
    frame = outside_runs(control.Ready(), 0)
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
    for events in ([shut_out] * 2, [let_in], [shut_out] * 2, [let_in], [shut_out] * 3):
        assert not caplog.records
        came = [MonitorEvent(event, 0, at) for event in events]
        monkeypatch.setattr(guard, "monitor_events", lambda monitor, came=came: iter(came))
        party.hears()
    (line,) = caplog.messages
    assert line.startswith(
        f"agent ? at {at} does not let this agent in, which tries ever less often: "
    )


class Recorded:
    """A link's socket, that notes how long it is to wait between attempts."""

    closed = True

    def __init__(self) -> None:
        self.waits: list[int] = []

    def setsockopt(self, option: int, value: int) -> None:
        if option == zmq.RECONNECT_IVL:
            self.waits.append(value)

    def connect(self, address: str) -> None:
        self.waits.append(0)

    def disconnect(self, address: str) -> None: ...


def test_an_inbox_that_is_anothers_is_tried_ever_less_often(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, usual = "tcp://127.0.0.1:9", 100
    link = Recorded()

    def comes(*kinds: int) -> list[int]:
        events = [MonitorEvent(kind, 0, at) for kind in kinds]
        monkeypatch.setattr(guard, "monitor_events", lambda monitor: iter(events))
        link.waits.clear()
        party.hears(link, at)
        return link.waits

    closed, shut_out = zmq.EVENT_DISCONNECTED, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    assert comes(closed, shut_out, shut_out) == []
    assert comes(*[shut_out] * 5) == [200, 0, usual, 400, 0, usual, 800, 0, usual]
    assert comes(*[shut_out] * 20)[-3:] == [8_000, 0, usual]
    assert comes(closed) == []
    assert comes(zmq.EVENT_HANDSHAKE_SUCCEEDED) == []
    assert comes(closed) == [0]  # a lost link that was up is tried at the usual pace
    assert comes(closed) == []


def test_who_is_tried_again_over_a_socket_of_all_is_shown_its_own_key(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one that was linked has another key."""
    first, last = "tcp://127.0.0.1:9", "tcp://127.0.0.1:10"
    own, server = make_ephemeral_keys(2)[1], []
    known = {1: own[0].public, 2: own[1].public}
    monkeypatch.setattr(party._guard, "_own", own[0])
    monkeypatch.setattr(party._guard, "_keys", known)
    monkeypatch.setattr(party._guard, "_ranks", {first: 1, last: 2})
    link = Recorded()

    def note(self: Recorded, option: int, value: Any) -> None:
        if option == zmq.CURVE_SERVERKEY:
            server.append(value.decode())

    monkeypatch.setattr(Recorded, "setsockopt", note)
    shut_out = MonitorEvent(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0, first)
    monkeypatch.setattr(guard, "monitor_events", lambda monitor: iter([shut_out] * 3))
    party.hears(link, first)
    assert server == [known[1]]  # tried less often
    came = MonitorEvent(zmq.EVENT_HANDSHAKE_SUCCEEDED, 0, first)
    gone = MonitorEvent(zmq.EVENT_DISCONNECTED, 0, first)
    monkeypatch.setattr(guard, "monitor_events", lambda monitor: iter([came, gone]))
    party.hears(link, first)
    assert server == [known[1]] * 2  # at the usual pace


def test_an_inbox_that_sends_too_much_is_connected_to_no_more(
    party: Party, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else its 100,000 topics came again with each connection, for 50 bytes of memory per byte."""
    at, left = "tcp://127.0.0.1:9", list[str]()
    link = Recorded()
    monkeypatch.setattr(Recorded, "disconnect", lambda self, address: left.append(address))
    monkeypatch.setattr(party._guard, "_door", SimpleNamespace(disconnected=lambda fd: fd == 7))
    for fd, after in ((6, []), (7, []), (6, []), (7, [at])):
        gone = MonitorEvent(zmq.EVENT_DISCONNECTED, fd, at)
        monkeypatch.setattr(guard, "monitor_events", lambda monitor, gone=gone: iter([gone]))
        party.hears(link, at)
        assert left == after
    assert link.waits == []
    assert caplog.messages == [
        f"this agent does not connect again to the inbox {at} of agent 1, which sends too much"
    ]
