"""An agent on another machine: what it waits for before it resumes."""

import socket
from typing import Any

import pytest

from posse.agent import remote
from posse.errors import RunFailed
from posse.wire.world import World


class Waiting(World):
    """A world in which sleeping takes no time."""

    def __init__(self) -> None:
        self.now = self.way_after = 0.0
        self.monotonic = lambda: self.now
        self.sleep = self._slept

    def own_address(self, endpoint: str) -> str:
        if self.now < self.way_after:
            raise socket.gaierror(-2, "Name or service not known")
        return "10.0.0.9"

    def _slept(self, seconds: float) -> None:
        self.now += seconds


def test_an_agent_that_resumes_waits_for_the_network_and_its_coordinators_name() -> None:
    world = Waiting()
    world.way_after = 20.0
    remote._await_way("tcp://coordinator:7000", 300.0, world)
    assert world.now == 20.0


def test_it_gives_up_after_its_wait_in_a_sentence() -> None:
    world = Waiting()
    world.way_after = 400.0
    with pytest.raises(RunFailed, match=r"no way to tcp://coordinator:7000 for 300 s \(Name or"):
        remote._await_way("tcp://coordinator:7000", 300.0, world)
    assert world.now == 300.0


@pytest.mark.parametrize(
    ("given", "journal", "binds"),
    [
        ("", "tcp://10.0.0.7:4000", "tcp://10.0.0.9:*"),  # a container that was made again
        ("", "tcp://10.0.0.9:4000", ""),
        ("tcp://0.0.0.0:4000", "tcp://0.0.0.0:4000", ""),
    ],
)
def test_an_agent_that_resumes_opens_its_inbox_where_its_machine_is_now(
    given: str, journal: str, binds: str
) -> None:
    guard: Any = None
    site = remote.RemoteSite(guard, "tcp://10.0.0.1:7000", given, 300.0, None, Waiting())
    assert site.elsewhere(journal) == binds


def test_neighbours_are_told_the_address_that_is_advertised() -> None:
    """That of a published port, or of a NAT, which this machine does not have."""
    guard: Any = None
    endpoint, told = "tcp://10.0.0.1:7000", "tcp://203.0.113.5:7101"
    site = remote.RemoteSite(guard, endpoint, "tcp://0.0.0.0:7001", 1.0, None, Waiting(), told)
    assert site.bind("private-ucb") == "tcp://0.0.0.0:7001"
    assert site.address_for_neighbours("tcp://0.0.0.0:7001") == told
