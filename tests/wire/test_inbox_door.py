"""Who must go at an agent's inbox, and of its own connections to others'."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
import zmq

from posse.wire import inbox_door
from posse.wire.door import AROUND, WATCHED
from posse.wire.inbox_door import InboxDoor
from posse.wire.sockets import end, monitor_events
from tests.support.door import Watched
from tests.support.remote import until


class Inbox(Watched[InboxDoor]):
    """A PULL that neighbours connect to, and its door."""

    def __init__(self) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.PULL)
        self.socket.setsockopt(zmq.RCVHWM, 0)
        self.address = f"tcp://127.0.0.1:{self.socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._monitor = self.socket.get_monitor_socket(WATCHED)
        self.door = InboxDoor(self._monitor, guarded=False)
        self.door.know(1)
        self._neighbours: list[zmq.Socket[bytes]] = []

    def neighbour(self, kind: int = zmq.PUSH) -> zmq.Socket[bytes]:
        self._neighbours.append(neighbour := self.context.socket(kind))
        neighbour.setsockopt(zmq.LINGER, 0)
        neighbour.connect(self.address)
        return neighbour

    def time(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self.door.close()
        for neighbour in self._neighbours:
            neighbour.close()
        self.socket.disable_monitor()
        self._monitor.close()
        self.socket.close(0)
        end(self.context)


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with closing(Inbox()) as here:
        yield here


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posse.wire.door.AHEAD", 4 << 20)


def test_of_those_who_may_send_the_one_that_floods_is_closed(inbox: Inbox) -> None:
    honest, flood = inbox.neighbour(), inbox.neighbour()
    for _ in range(200):
        honest.send(bytes(100_000))
        inbox.socket.recv()
        inbox.door.taken += 100_000 + AROUND
    assert inbox.look() == []
    for _ in range(64):
        flood.send(bytes(1 << 17), zmq.SNDMORE)
    flood.send(b"")
    assert inbox.closes() == ["too-much"]
    honest.send(b"still here")
    said = b""
    while said != b"still here":
        said = inbox.socket.recv()


def test_where_nothing_has_to_come_back_little_may(inbox: Inbox) -> None:
    """A neighbour's inbox that subscribes to topics without end."""
    publisher = inbox.context.socket(zmq.XPUB)
    monitor = publisher.get_monitor_socket(zmq.EVENT_CONNECTED)
    hostile = inbox.context.socket(zmq.SUB)
    hostile.setsockopt(zmq.SNDHWM, 0)
    port = hostile.bind_to_random_port("tcp://127.0.0.1")
    publisher.connect(f"tcp://127.0.0.1:{port}")
    try:
        assert monitor.poll(10_000), "the connection is not told of"
        fd = next(monitor_events(monitor)).value
        inbox.door.connected(fd)
        hostile.setsockopt(zmq.SUBSCRIBE, b"po")
        assert inbox.look() == []
        for number in range(inbox_door.BACK // 100 + 100):
            hostile.setsockopt(zmq.SUBSCRIBE, b"%0100d" % number)
            hostile.poll(0)
        why: list[str] = []

        def closed() -> bool:
            hostile.poll(0)  # what its connection needs is done by nobody else
            why.extend(inbox.look())
            return bool(why)

        until(closed, "that it is closed")
        assert why == ["too-much"]
        again = inbox.door._own[fd]
        inbox.door.connected(fd)  # its number is used again
        assert again.socket is not None
        assert again.socket.fileno() == -1
    finally:
        publisher.disable_monitor()
        monitor.close()
        publisher.close(0)
        hostile.close(0)
