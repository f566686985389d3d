"""How much of a coordinator may wait to be taken by an agent."""

import os
from collections.abc import Iterator

import pytest
import zmq

from posse.wire import door
from posse.wire.door import AROUND
from posse.wire.sockets import end
from posse.wire.uplink_door import UplinkDoor
from tests.support.remote import until


class Flood:
    """A coordinator that sends what nobody reads, and an agent's socket and door."""

    def __init__(self) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.SNDHWM, 0)
        endpoint = f"tcp://127.0.0.1:{self._router.bind_to_random_port('tcp://127.0.0.1')}"
        self.agent = self._context.socket(zmq.DEALER)
        self.agent.setsockopt(zmq.RCVHWM, 0)
        self._closed = self.agent.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.agent.connect(endpoint)
        self.door = UplinkDoor(endpoint, guarded=False)
        self.agent.send(b"here")
        self._identity = self._router.recv_multipart()[0]

    def sends(self, frames: int, size: int) -> None:
        for _ in range(frames):
            self._router.send_multipart((self._identity, bytes(size)))

    def takes(self, frames: int) -> None:
        for _ in range(frames):
            self.door.taken += len(self.agent.recv()) + AROUND

    def is_closed(self) -> bool:
        self.door.look()
        return bool(self._closed.poll(10))

    def close(self) -> None:
        self.door.close()
        self.agent.disable_monitor()
        self._closed.close(0)
        self.agent.close(0)
        self._router.close(0)
        end(self._context)


@pytest.fixture
def flood(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flood]:
    for name in ("AHEAD", "FAST_AHEAD"):
        monkeypatch.setattr(door, name, 4 << 20)
    here = Flood()
    yield here
    here.close()


def test_the_connection_is_closed_when_more_waits_than_an_honest_coordinator_has_to_say(
    flood: Flood,
) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    flood.sends(64, 1 << 17)
    flood.takes(64)
    assert not flood.is_closed()
    flood.sends(24, 1 << 17)  # 3 MiB
    assert not flood.is_closed()
    flood.sends(24, 1 << 17)
    until(flood.is_closed, "that the door closes it")
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_what_came_over_an_older_connection_does_not_count(flood: Flood) -> None:
    flood.sends(64, 1 << 17)
    flood.takes(64)
    flood.door.connected()
    flood.sends(1, 1)
    until(flood.is_closed, "that all of this connection counts")
