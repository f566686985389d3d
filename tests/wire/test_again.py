"""After whatever answer to a handshake, a connection that is followed by `Again` comes back."""

import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import zmq

from posse.security import keys
from posse.security.zap import connect_with
from posse.wire.again import WATCHED, Again, Became
from posse.wire.links import patient
from posse.wire.sockets import MonitorEvent, configure, end, monitor_events, monitored, reconnect
from tests.support.patience import PATIENCE

_SIGNATURE = b"\xff" + bytes(8) + b"\x7f\x03\x00"
_NULL, _CURVE = (_SIGNATURE + name.ljust(20, b"\0") + bytes(32) for name in (b"NULL", b"CURVE"))
_READY = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB"
ANSWERS = {
    "http": b"HTTP/1.0 503 Service Unavailable\r\n\r\n",
    "ssh": b"SSH-2.0-x\r\n",
    "zeros": bytes(100),
    "a PUB": _NULL + _READY,
    "another mechanism": _CURVE + bytes(10),
    "junk after a greeting": _NULL + b"\x04\xff" + b"x" * 300,
    "junk after a greeting with keys": _CURVE + b"\x04\xff" + b"x" * 300,
    "junk after the signature": _SIGNATURE + b"x" * 60,
    "nothing": b"",
}
ENDPOINT = "tcp://h:1"


@contextmanager
def answering(data: bytes) -> Iterator[tuple[int, list[int]]]:
    """A program on a port that says `data` to everybody; the port, and how many came."""
    server, came = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection = server.accept()[0]
                came.append(1)
                with connection, suppress(OSError):
                    connection.sendall(data)
                    connection.recv(64)

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1], came
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.fixture
def context() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    made: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    yield made
    end(made)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_answered_the_next_attempt_is_made(
    answer: str, keyed: bool, context: zmq.Context[zmq.Socket[bytes]]
) -> None:
    here, there = context.socket(zmq.DEALER), context.socket(zmq.ROUTER)
    for one in (here, there):
        configure(one, 10.0)
        one.setsockopt(zmq.LINGER, 0)
    reconnect(here)
    own, others = (pair for pair in keys.make_ephemeral_keys(2)[1])
    if keyed:
        connect_with(here, own.public, own.secret, others.public)
        there.curve_secretkey, there.curve_server = others.secret.encode(), True
    monitor, again, now = monitored(here, WATCHED), Again(2.0), 0.0

    def follow() -> None:
        nonlocal now
        monitor.poll(50)
        for event in monitor_events(monitor):
            if again.follow(event, now) is Became.NOT_LET_IN:
                with suppress(zmq.ZMQError):
                    here.disconnect(event.address)
        now += 2.0
        for address in again.due(now):
            with suppress(zmq.ZMQError):
                here.disconnect(address)
            here.connect(address)

    with answering(ANSWERS[answer]) as (port, came):
        endpoint = f"tcp://127.0.0.1:{port}"
        here.connect(endpoint)
        while len(came) < 3:
            follow()
    there.bind(endpoint)
    while not there.poll(0):
        follow()
        with suppress(zmq.Again):
            here.send(b"hello", zmq.NOBLOCK)
    assert there.recv_multipart()[1] == b"hello"
    here.disable_monitor()
    for one in (monitor, here, there):
        one.close(0)


def test_who_sends_before_it_hears_of_a_wrong_answer_does_not_wait_for_room(
    context: zmq.Context[zmq.Socket[bytes]],
) -> None:
    """ZeroMQ has no queue then, and its own wait would last until the deadline."""
    here = context.socket(zmq.DEALER)
    configure(here, 10.0)
    here.setsockopt(zmq.LINGER, 0)
    monitor = monitored(here, WATCHED)
    with answering(ANSWERS["a PUB"]) as (port, _):
        here.connect(f"tcp://127.0.0.1:{port}")
        assert monitor.poll(int(1000 * PATIENCE))
        with suppress(zmq.Again):  # a moment later: it never tries again
            for _ in itertools.count():
                here.send(b"hello", zmq.NOBLOCK)
        patient(here, monitor, lambda: 0.0)(b"hello")  # by this clock it would wait for ever
    here.disable_monitor()
    for one in (monitor, here):
        one.close(0)


def event(kind: int) -> MonitorEvent:
    return MonitorEvent(kind, 0, ENDPOINT)


def test_the_wait_doubles_and_a_success_forgets_it() -> None:
    """0.2, 0.4, … s, each up to the next eighth of a second, in which it is asked."""
    again, waits, now = Again(3.0), [], 0.0
    for _ in range(6):
        assert again.follow(event(zmq.EVENT_DISCONNECTED), now) is Became.NOT_LET_IN
        assert again.follow(event(zmq.EVENT_CONNECT_RETRIED), now) is None
        before = now
        while not again.due(now):
            now += 0.125
        waits.append(now - before)
    assert waits == [0.25, 0.5, 0.875, 1.625, 3.0, 3.0]
    again.follow(event(zmq.EVENT_HANDSHAKE_SUCCEEDED), now)
    assert again.failures[ENDPOINT] == 0


@pytest.mark.parametrize("tries", [False, True])
def test_a_lost_connection_is_made_again_if_zeromq_does_not_say_that_it_tries(tries: bool) -> None:
    again = Again(3.0)
    again.follow(event(zmq.EVENT_HANDSHAKE_SUCCEEDED), 0.0)
    assert again.follow(event(zmq.EVENT_DISCONNECTED), 0.0) is Became.LOST
    if tries:
        again.follow(event(zmq.EVENT_CONNECT_RETRIED), 0.0)
    assert again.due(0.9) == []
    assert again.due(1.0) == ([] if tries else [ENDPOINT])
    assert again.due(9.0) == []


def test_who_is_forgotten_is_not_connected_to() -> None:
    again = Again(3.0)
    again.follow(event(zmq.EVENT_DISCONNECTED), 0.0)
    again.forget(ENDPOINT)
    assert again.due(9.0) == []


@pytest.mark.parametrize("late", [zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED])
def test_what_zeromq_still_says_of_a_connection_that_was_let_go_does_not_count(late: int) -> None:
    """It tries again at once after a handshake cut short, and may succeed before we disconnect."""
    again = Again(3.0)
    assert again.follow(event(zmq.EVENT_DISCONNECTED), 0.0) is Became.NOT_LET_IN
    assert again.follow(event(late), 0.0) is None
    assert again.due(0.2) == [ENDPOINT]
