"""Who must go, of those who are connected: real sockets, and a clock that is moved by hand."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zmq

from posse.wire import door
from posse.wire.door import (
    AROUND,
    AROUND_WITH_KEYS,
    JOIN_WITHIN,
    SPARE,
    SPARE_PER_HOST,
    WATCHED,
    Door,
)
from posse.wire.sockets import end
from posse.wire.world import World
from tests.support.door import Watched
from tests.support.remote import until


class Place(Watched[Door]):
    """A ROUTER with its door, and who connects to it."""

    def __init__(self, agents: int = 1, secret: tuple[bytes, bytes] | None = None) -> None:
        self._secret = secret
        self.now = 0.0
        self.members: dict[int, int] = {}
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.router = self._context.socket(zmq.ROUTER)
        if secret is not None:
            self.router.setsockopt(zmq.CURVE_SERVER, 1)
            self.router.setsockopt(zmq.CURVE_SECRETKEY, secret[1])
        self.port = self.router.bind_to_random_port("tcp://127.0.0.1")
        self._monitor = self.router.get_monitor_socket(WATCHED)
        world = World()
        world.monotonic = lambda: self.now
        self.door = Door(
            self._monitor,
            agents,
            lambda: self.members,
            guarded=False,
            keyed=secret is not None,
            world=world,
        )
        self._raw: list[socket.socket] = []
        self._dealers: list[zmq.Socket[bytes]] = []
        self.accepted: list[int] = []

    def connect(self, count: int = 1) -> list[socket.socket]:
        """Strangers that say nothing, all accepted."""
        fresh = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(count)]
        self._raw += fresh
        most = len(self._raw) + len(self._dealers)
        until(lambda: self._seen() >= most, "connections that are accepted")
        return fresh

    def dealer(self) -> zmq.Socket[bytes]:
        """Somebody who speaks ZeroMQ."""
        dealer = self._context.socket(zmq.DEALER)
        self._dealers.append(dealer)
        dealer.setsockopt(zmq.LINGER, 0)
        if self._secret is not None:
            public, own = zmq.curve_keypair()
            dealer.setsockopt(zmq.CURVE_PUBLICKEY, public)
            dealer.setsockopt(zmq.CURVE_SECRETKEY, own)
            dealer.setsockopt(zmq.CURVE_SERVERKEY, self._secret[0])
        dealer.connect(f"tcp://127.0.0.1:{self.port}")
        most = len(self._raw) + len(self._dealers)
        until(lambda: self._seen() >= most, "a connection that is accepted")
        return dealer

    def _seen(self) -> int:
        events = list(self.door.events())
        self.accepted += [e.value for e in events if e.kind == zmq.EVENT_ACCEPTED]
        return len(self.accepted)

    def time(self) -> float:
        return self.now

    def close(self) -> None:
        self.door.close()
        for raw in self._raw:
            raw.close()
        for dealer in self._dealers:
            dealer.close()
        self.router.disable_monitor()
        self._monitor.close()
        self.router.close(0)
        end(self._context)


@pytest.fixture
def place() -> Iterator[Place]:
    with closing(Place()) as here:
        yield here


@pytest.fixture
def keyed() -> Iterator[Place]:
    with closing(Place(secret=zmq.curve_keypair())) as here:
        yield here


def test_a_number_that_is_used_again_leaves_no_copy_open(place: Place) -> None:
    """What ZeroMQ accepts may be told before the end of the connection that had its number."""
    place.connect()
    (fd,) = place.accepted
    before = place.door._connections[fd]
    place.door._accepted(fd)
    assert before.socket is not None
    assert before.socket.fileno() == -1
    assert place.door._connections[fd] is not before


def test_a_number_that_is_a_files_by_now_costs_no_descriptor(place: Place, tmp_path: Path) -> None:
    """What ZeroMQ accepted and closed again may be told when a file has its number."""
    with (tmp_path / "file").open("w") as file:
        before = len(os.listdir("/proc/self/fd"))
        place.door._accepted(file.fileno())
        assert len(os.listdir("/proc/self/fd")) == before
        place.door._disconnected(file.fileno())


def is_closed(connection: socket.socket) -> bool:
    """Whether the other end let go; ZeroMQ greets before."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1_000) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_of_a_connection_that_was_reset_before_anybody_looked_no_copy_is_left_open(
    place: Place,
) -> None:
    with socket.socket() as unconnected:  # as a reset leaves it; what is left open warns
        before = len(os.listdir("/proc/self/fd"))
        connection = place.door._copy(unconnected.fileno())
        assert len(os.listdir("/proc/self/fd")) == before
    assert connection.socket is None


def test_who_does_not_join_in_time_is_closed_and_who_has_joined_is_not(place: Place) -> None:
    idle, agent = place.connect(2)
    place.members[place.accepted[1]] = 0
    assert place.look() == []
    place.now = JOIN_WITHIN + 0.1
    assert place.look() == ["idle"]
    until(lambda: is_closed(idle), "the end of the idle connection")
    assert place.look() == []
    assert not is_closed(agent)


def test_the_connection_that_an_agent_left_for_another_is_closed_without_a_word(
    place: Place,
) -> None:
    """What is queued for an agent that comes back again and again, and reads nothing, ends so."""
    left, taken = place.connect(2)
    old, new = place.accepted
    place.members[old] = 0
    assert place.look() == []
    place.members = {new: 0}
    assert place.look() == []
    until(lambda: is_closed(left), "the end of the older connection")
    assert not is_closed(taken)


def test_of_too_many_from_one_address_any_go(place: Place) -> None:
    most = 1 + SPARE_PER_HOST
    connections = place.connect(most + 5)
    assert place.look() == ["too-many"] * 5
    until(lambda: sum(map(is_closed, connections)) == 5, "the end of five")
    assert place.look() == []


def test_who_has_proved_a_key_is_not_among_those_who_have_not(keyed: Place) -> None:
    dealer = keyed.dealer()
    dealer.send(b"hello")
    keyed.router.recv_multipart()  # so the handshake is over
    strangers = keyed.connect(1 + SPARE_PER_HOST + 40)
    assert keyed.look() == ["too-many"] * 40
    until(lambda: sum(map(is_closed, strangers)) == 40, "the end of forty")
    dealer.send(b"again")
    assert keyed.router.recv_multipart()[1] == b"again"


def test_of_too_many_that_have_proved_a_key_the_oldest_go(keyed: Place) -> None:
    for number in range(1 + SPARE_PER_HOST + 1):
        keyed.dealer().send(str(number).encode())
        keyed.now += 0.01
        keyed.router.recv_multipart()
    oldest = keyed.door._connections[keyed.accepted[0]]
    assert keyed.look() == ["too-many"]
    assert oldest.closed


def test_it_looks_at_once_when_many_have_come(place: Place) -> None:
    place.connect()
    place.look()
    assert not place.door.due(place.now)
    place.connect(1 + SPARE)
    assert not place.door.due(place.now)
    place.connect()
    assert place.door.due(place.now)
    place.look()
    assert not place.door.due(place.now)


@pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")
def test_while_too_many_are_there_nobody_is_let_in(place: Place) -> None:
    place.connect(2 * (1 + SPARE) + 1)
    place.door.admit()
    with socket.socket() as late:
        late.settimeout(0.2)
        with pytest.raises(TimeoutError):
            late.connect(("127.0.0.1", place.port))
    place.door.hang_up()
    place.now = 60.0
    place.door.admit()  # what was dropped meanwhile was not seen: the storm may go on
    place.now = 120.0
    place.door.admit()
    with socket.create_connection(("127.0.0.1", place.port), 0.5):
        pass


def test_it_ends_all_connections_and_waits_until_they_have_ended(place: Place) -> None:
    connections = place.connect(3)
    place.members[place.accepted[0]] = 0
    place.door.hang_up()
    assert place.door._connections == {}
    until(lambda: all(map(is_closed, connections)), "the ends of all")


def test_what_a_stranger_sends_is_bounded_however_many_parts_it_has(place: Place) -> None:
    dealer = place.dealer()
    for _ in range(40):
        dealer.send(bytes(64 << 10), zmq.SNDMORE)
    dealer.send(b"")
    assert place.closes() == ["too-much"]


def test_what_an_agent_sends_and_nobody_took_is_bounded(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "AHEAD", 4 << 20)
    dealer = place.dealer()
    fd = place.accepted[0]
    place.members[fd] = 0
    assert place.look() == []
    for _ in range(8):  # what is taken may be as much as it likes
        dealer.send(bytes(1 << 20))
        place.router.recv_multipart()
        place.members[fd] += 1 << 20
        assert place.look() == []
    for _ in range(6):
        dealer.send(bytes(1 << 20), zmq.SNDMORE)
    dealer.send(b"")
    assert place.closes() == ["too-much"]


@pytest.mark.parametrize(("times", "most"), [(32, 9), (3, 24)])
def test_who_fills_the_memory_slowly_by_small_parts_is_closed(
    place: Place, times: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From look to look little is added, but 32 bytes for each that came, as by empty parts."""
    dealer = place.dealer()
    fd = place.accepted[0]
    place.members[fd] = 0
    connection = place.door._connections[fd]
    monkeypatch.setattr(door, "resident", lambda: times * connection.counts()[1])
    closed = place.look()
    sent = 0
    while not closed and sent < 24:
        sent += 1
        dealer.send(bytes(1 << 20))
        until(lambda: connection.counts()[1] >> 20 >= sent, "that it has come")  # noqa: B023
        closed = place.look()
    assert (closed, sent) == (["too-much"] if most < 24 else [], most)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "around"), [("place", AROUND), ("keyed", AROUND_WITH_KEYS)])
@pytest.mark.parametrize("size", [0, 50, 300])
def test_after_many_frames_nobody_seems_ahead_who_is_not(
    kind: str, around: int, size: int, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    monkeypatch.setattr(door, "AHEAD", 16 << 10)
    here: Place = request.getfixturevalue(kind)
    dealer = here.dealer()
    fd = here.accepted[0]
    for number in range(10_000):
        dealer.send(bytes(size))
        here.router.recv_multipart()
        here.members[fd] = here.members.get(fd, 0) + size + around
        if number % 500 == 0:
            assert here.look() == []
    assert here.look() == []


def test_without_a_descriptor_for_a_copy_a_connection_is_closed_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(fd: int) -> int:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(os, "dup", none_left)
    (idle,) = place.connect()
    place.now = JOIN_WITHIN + 0.1
    assert place.look() == ["idle"]
    until(lambda: is_closed(idle), "the end of the idle connection")


def test_bytes_are_the_kernels_own_and_outlive_their_connection(place: Place) -> None:
    place.connect()
    place.door.begin()
    dealer = place.dealer()
    dealer.send(bytes(100_000))
    place.router.recv_multipart()
    dealer.close()

    def counted() -> int:
        place.door.drain()
        found = place.door.counted()
        return found.received if found else 0

    until(lambda: counted() > 100_000, "the count")
    assert counted() < 101_000
