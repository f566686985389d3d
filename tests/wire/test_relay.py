"""Relays between plain ZeroMQ sockets."""

import gc
import socket
from collections.abc import Iterator

import pytest
import zmq

from posse.durable.frames import COORDINATOR
from posse.wire.relay import Relays
from posse.wire.session import Session
from posse.wire.sockets import heartbeat, monitor_events

PATIENCE_MS = 30_000


class Pair:
    """A PUSH socket, a relay, and a PULL socket behind it."""

    def __init__(self, relays: Relays, ends: tuple[int, int]) -> None:
        self.context = zmq.Context()
        self.inbox = self.context.socket(zmq.PULL)
        self.inbox.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)
        port = self.inbox.bind_to_random_port("tcp://127.0.0.1")
        self.out = self.context.socket(zmq.PUSH)
        self.address = relays.way(*ends, f"tcp://127.0.0.1:{port}")
        self.out.connect(self.address)

    def say(self, *frames: bytes) -> None:
        for frame in frames:
            self.out.send(frame)

    def close(self) -> None:
        self.out.close(0)
        self.inbox.close(0)
        self.context.term()


@pytest.fixture
def relays() -> Iterator[Relays]:
    relays = Relays()
    yield relays
    relays.close()


@pytest.fixture
def pair(relays: Relays) -> Iterator[Pair]:
    pair = Pair(relays, (0, 1))
    yield pair
    pair.close()


def test_frames_pass_whole_and_in_order(relays: Relays, pair: Pair) -> None:
    frames = [b"", b"po" * 10, bytes(255), bytes(256), b"x" * (1 << 20), b"last"]
    pair.say(*frames)
    assert [pair.inbox.recv() for _ in frames] == frames


def test_a_link_has_one_relay_per_address(relays: Relays, pair: Pair) -> None:
    target = "tcp://127.0.0.1:1"
    assert relays.way(0, 1, target) == relays.way(0, 1, target) != pair.address


def test_what_is_said_while_a_link_is_cut_arrives_when_it_is_healed(
    relays: Relays, pair: Pair
) -> None:
    pair.say(b"before")
    assert pair.inbox.recv() == b"before"
    monitor = pair.out.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    relays.change(1, 0, cut=True)
    # what is said before that is noticed is lost: that is what sessions are for
    assert monitor.poll(PATIENCE_MS)
    pair.out.disable_monitor()
    monitor.close()
    pair.say(b"while it is cut")
    assert not pair.inbox.poll(300)
    relays.heal()
    assert pair.inbox.recv() == b"while it is cut"


def test_a_share_of_the_frames_is_lost_and_the_same_each_time(relays: Relays) -> None:
    session = Session()
    frames = [session.wrap(b"po%d" % number) for number in range(400)]
    arrived = []
    for _ in range(2):
        own = Relays()
        pair = Pair(own, (0, COORDINATOR))
        own.change(0, COORDINATOR, share=0.25)
        pair.say(*frames, b"end")
        came = []
        while (frame := pair.inbox.recv()) != b"end":
            came.append(frame)
        pair.close()
        own.close()
        arrived.append(came)
    assert arrived[0] == arrived[1]
    # 400 draws of 0.25: 100 lost, within four standard deviations of 8.7
    assert 400 - 135 <= len(arrived[0]) <= 400 - 65


def test_joining_and_what_is_not_posses_is_never_lost(relays: Relays) -> None:
    pair = Pair(relays, (0, COORDINATOR))
    relays.change(0, COORDINATOR, share=1.0)
    pair.say(b"pn\x01F and a frame", b"po joining", b"other")
    assert [pair.inbox.recv() for _ in range(2)] == [b"po joining", b"other"]
    pair.close()


def test_what_is_for_one_of_those_who_are_said_the_same_is_lost_too(
    relays: Relays, pair: Pair
) -> None:
    relays.change(0, 1, share=1.0)
    pair.say(b"pt and a rank, and what it missed", b"other")
    assert pair.inbox.recv() == b"other"


def test_a_frame_that_is_held_comes_after_the_next(relays: Relays, pair: Pair) -> None:
    relays.change(0, 1, behind=1.0)
    frames = [b"pn\x01F%d" % number for number in range(4)]
    pair.say(frames[0], b"po joining", *frames[1:])
    assert [pair.inbox.recv() for _ in range(4)] == [b"po joining", *(frames[n] for n in (0, 2, 1))]


def test_late_frames_keep_their_order_when_a_link_becomes_quick(relays: Relays, pair: Pair) -> None:
    pair.say(b"first")
    assert pair.inbox.recv() == b"first"
    relays.change(0, 1, delay=0.2)
    pair.say(b"late")
    pair.inbox.poll(50)
    relays.heal()
    pair.say(b"quick")
    assert [pair.inbox.recv(), pair.inbox.recv()] == [b"late", b"quick"]


def test_connections_that_come_at_the_end_are_closed_with_the_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as target:
        for _ in range(20):
            own = Relays()
            way = own.way(0, 1, f"tcp://127.0.0.1:{target.getsockname()[1]}")
            port = int(way.rsplit(":")[-1])
            clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
            own.close()
            for client in clients:
                client.close()
    gc.collect()  # what was left open warns when it is collected, and a warning is an error


@pytest.mark.slow
def test_a_heartbeat_that_is_not_answered_ends_the_connection_where_nothing_else_comes(
    relays: Relays, pair: Pair
) -> None:
    """The simulated network assumes it; the other end sends no heartbeat of its own."""
    out = pair.context.socket(zmq.PUSH)
    heartbeat(out)
    monitor = out.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
    out.connect(pair.address)
    for event in (zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED):
        assert monitor.poll(PATIENCE_MS)
        assert [seen.kind for seen in monitor_events(monitor)] == [event]
        relays.change(0, 1, silent=frozenset({0}))
    out.disable_monitor()
    monitor.close(0)
    out.close(0)
