"""What the simulated sockets assume of ZeroMQ: the same scenarios, the same end with both."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zmq

from posse.engines.simulated.network import SimulatedNetwork
from posse.engines.simulated.schedule import Process, TurnSchedule
from posse.engines.simulated.sockets import SimulatedContext
from posse.wire.lookup import in_the_way
from posse.wire.sockets import monitor_events

Scenario = Callable[[Any, str], Any]
PATIENCE_MS = 20_000
EVENTS = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_CONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
)


def made(context: Any, kind: int) -> Any:
    socket = context.socket(kind)
    for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
        socket.setsockopt(option, PATIENCE_MS)
    socket.setsockopt(zmq.LINGER, 0)
    return socket


def seen(monitor: Any, until: int) -> list[int]:
    """The kinds of events up to this one."""
    kinds: list[int] = []
    while until not in kinds:
        assert monitor.poll(PATIENCE_MS)
        kinds += [event.kind for event in monitor_events(monitor)]
    return kinds


def unreachable(router: Any, identity: bytes) -> int:
    """The error of sending to a peer that is gone, once the socket knows."""
    while True:
        try:
            router.send_multipart((identity, b"too late"))
        except zmq.ZMQError as error:
            return error.errno
        router.poll(5)


def what_was_sent_before_there_was_a_listener_comes(context: Any, address: str) -> Any:
    dealer, router = made(context, zmq.DEALER), made(context, zmq.ROUTER)
    dealer.connect(address)
    dealer.send(b"early")
    router.bind(address)
    identity = router.recv()
    yield len(identity), identity[:1], router.recv()
    dealer.close()
    router.close()


def what_was_sent_without_a_connection_goes_over_the_next(context: Any, address: str) -> Any:
    dealer, router = made(context, zmq.DEALER), made(context, zmq.ROUTER)
    monitor = dealer.get_monitor_socket(EVENTS, "inproc://dealer")
    router.bind(address)
    dealer.connect(address)
    dealer.send(b"one")
    router.recv()
    yield router.recv()
    router.close()
    yield seen(monitor, zmq.EVENT_DISCONNECTED)
    dealer.send(b"two")
    again = made(context, zmq.ROUTER)
    again.bind(address)
    again.recv()
    yield again.recv()
    dealer.disable_monitor()
    monitor.close(0)
    dealer.close()
    again.close()


def what_came_stays_readable_and_nobody_is_there_to_answer(context: Any, address: str) -> Any:
    dealer, router = made(context, zmq.DEALER), made(context, zmq.ROUTER)
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)
    monitor = router.get_monitor_socket(EVENTS, "inproc://router")
    router.bind(address)
    dealer.setsockopt(zmq.LINGER, PATIENCE_MS)
    dealer.connect(address)
    dealer.send(b"last words")
    dealer.close()
    yield seen(monitor, zmq.EVENT_DISCONNECTED)
    identity = router.recv()
    yield router.recv()
    yield unreachable(router, identity)
    router.disable_monitor()
    monitor.close(0)
    router.close()


def a_new_listener_subscribes_again_and_is_heard(context: Any, address: str) -> Any:
    publisher = made(context, zmq.XPUB)
    publisher.setsockopt(zmq.XPUB_VERBOSE, 1)
    publisher.connect(address)
    for frame in (b"one", b"two"):
        listener = made(context, zmq.SUB)
        listener.setsockopt(zmq.SUBSCRIBE, b"a")
        listener.bind(address)
        while not publisher.poll(5):
            listener.poll(5)  # a socket subscribes when its process looks at it
        yield publisher.recv()
        publisher.send(b"b, nobody's")
        publisher.send(b"a " + frame)
        yield listener.recv()
        listener.close()
    publisher.close()


def an_address_is_bound_once_and_by_a_machine_that_has_it(context: Any, address: str) -> Any:
    first, second = made(context, zmq.ROUTER), made(context, zmq.ROUTER)
    first.bind("tcp://127.0.0.1:*")
    taken = first.getsockopt_string(zmq.LAST_ENDPOINT)
    for at in (taken, "tcp://192.0.2.1:5555"):  # no machine has that (RFC 5737)
        with pytest.raises(zmq.ZMQError) as failed:
            second.bind(at)
        yield failed.value.errno
    first.close()
    second.close()


def a_socket_s_file_is_taken_over_in_silence_and_left(context: Any, address: str) -> Any:
    first, second, dealer = (made(context, kind) for kind in (zmq.ROUTER, zmq.ROUTER, zmq.DEALER))
    first.bind(address)
    yield in_the_way(address)
    second.bind(address)
    dealer.connect(address)
    dealer.send(b"to the second")
    second.recv()
    yield second.recv(), first.poll(5)
    second.close()
    while in_the_way(address):
        first.poll(5)
    yield Path(address.removeprefix("ipc://")).is_socket()
    dealer.close()
    first.close()


SCENARIOS: list[Scenario] = [
    what_was_sent_before_there_was_a_listener_comes,
    what_was_sent_without_a_connection_goes_over_the_next,
    what_came_stays_readable_and_nobody_is_there_to_answer,
    a_new_listener_subscribes_again_and_is_heard,
    an_address_is_bound_once_and_by_a_machine_that_has_it,
    a_socket_s_file_is_taken_over_in_silence_and_left,
]


def with_zeromq(scenario: Scenario, folder: Path) -> list[Any]:
    with zmq.Context() as context:
        return list(scenario(context, f"ipc://{folder}/socket"))


def simulated(scenario: Scenario, folder: Path) -> list[Any]:
    schedule = TurnSchedule("1")
    network = SimulatedNetwork(schedule, lambda what, source, target, data: None)

    def main() -> list[Any]:
        return list(scenario(SimulatedContext(process, network), f"ipc://{folder}/other"))

    process = Process(schedule, 0, main)
    schedule.carry_on(lambda: not process.alive, math.inf)
    network.close()
    if process.error is not None:
        raise process.error
    result: list[Any] = process.result
    return result


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_simulated_sockets_do_as_zeromqs(scenario: Scenario, tmp_path: Path) -> None:
    real = with_zeromq(scenario, tmp_path)
    assert simulated(scenario, tmp_path) == real
    assert len(real) > 0
