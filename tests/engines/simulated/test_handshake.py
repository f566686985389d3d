"""What simulated handshakes assume of CURVE and ZAP: the same end with real sockets."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from posse.engines.simulated.network import SimulatedNetwork
from posse.engines.simulated.schedule import START, Process, TurnSchedule
from posse.engines.simulated.sockets import SimulatedContext
from posse.security import keys
from posse.security.zap import Authenticator, ZapStatus, connect_with, key_of, serve_with
from posse.wire.sockets import HANDSHAKE_FAILURES, monitor_events

PATIENCE_MS = 20_000
_WHY = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_ENDS = HANDSHAKE_FAILURES | zmq.EVENT_HANDSHAKE_SUCCEEDED
_PAIRS = keys.make_ephemeral_keys(3)[1]
OTHERS, COORDINATORS, AGENTS = ((pair.public, pair.secret) for pair in _PAIRS)
MISMATCH, WRONG = (
    (zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, code)
    for code in (
        zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH,
        zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC,
    )
)
CLOSED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_AUTH, 400
LET_IN = zmq.EVENT_HANDSHAKE_SUCCEEDED, 0


def how_it_ended(monitor: Any) -> tuple[int, int]:
    """The next end of a handshake, and why if the protocol says it."""
    assert monitor.poll(PATIENCE_MS)
    event = next(monitor_events(monitor))
    return event.kind, event.value if event.kind & _WHY else 0


def meet(context: Any, status: ZapStatus | None, server: str) -> Iterator[Any]:
    """An agent knocks: how that ends at both ends; what comes, or whether there is more to hear.

    `status` is the answer about its key, None where no keys are asked for; `server` is the key that
    it expects, "" if it has no keys.
    """
    router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    for socket in (router, dealer):
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)
        socket.setsockopt(zmq.HANDSHAKE_IVL, 1_000)
    if status is not None:
        if isinstance(context, SimulatedContext):
            context.guard(lambda key: status, lambda address, key: None, lambda: 0.0)
        else:
            answers = context.socket(zmq.ROUTER)
            Authenticator(answers, lambda key: status, lambda address, key: None).start()
        serve_with(router, COORDINATORS[1])
    if server:
        connect_with(dealer, *AGENTS, server)
    router.bind("tcp://127.0.0.1:*")
    there, here = (
        socket.get_monitor_socket(_ENDS, f"inproc://monitor-{number}")
        for number, socket in enumerate((router, dealer))
    )
    dealer.connect(router.getsockopt_string(zmq.LAST_ENDPOINT))
    dealer.send(b"hello")
    yield how_it_ended(there), how_it_ended(here)
    if router.poll(600):
        router.recv()
        frame = router.recv(copy=False)
        yield frame.bytes, key_of(frame)
    yield bool(here.poll(0))
    for socket, monitor in ((router, there), (dealer, here)):
        socket.disable_monitor()
        monitor.close(0)
        socket.close()


@pytest.mark.parametrize(
    ("status", "server", "end"),
    [
        (ZapStatus.YES, COORDINATORS[0], [(LET_IN, LET_IN), (b"hello", AGENTS[0]), False]),
        (ZapStatus.NO, COORDINATORS[0], [(REFUSED, REFUSED), False]),
        (ZapStatus.YES, OTHERS[0], [(WRONG, CLOSED), True]),
        (None, "", [(LET_IN, LET_IN), (b"hello", ""), False]),
    ],
    ids=["listed", "not listed", "another server", "none at all"],
)
def test_a_key_is_let_in_as_by_zeromq(
    status: ZapStatus | None, server: str, end: list[Any]
) -> None:
    assert real(status, server) == simulated(status, server) == end


@pytest.mark.parametrize(
    ("status", "server"), [(ZapStatus.YES, ""), (None, COORDINATORS[0])], ids=["there", "here"]
)
def test_of_two_mechanisms_one_end_says_so_and_who_found_it_tries_no_more(
    status: ZapStatus | None, server: str
) -> None:
    """Which end finds it is chance with real sockets, and drawn with simulated ones."""
    for made in (real, simulated):
        (there, here), again = made(status, server)
        assert MISMATCH in (there, here)
        assert {there, here} <= {MISMATCH, CLOSED}
        assert again == (here == CLOSED)


def real(status: ZapStatus | None, server: str) -> list[Any]:
    context = zmq.Context()
    made = list(meet(context, status, server))
    context.term()
    return made


def simulated(status: ZapStatus | None, server: str) -> list[Any]:
    schedule = TurnSchedule("1")
    network = SimulatedNetwork(schedule, lambda what, source, target, data: None)

    def main() -> list[Any]:
        return list(meet(SimulatedContext(process, network), status, server))

    process = Process(schedule, 0, main)
    schedule.carry_on(lambda: not process.alive, math.inf)
    assert process.error is None
    return list(process.result)


def test_who_comes_too_early_is_asked_about_again_until_it_is_known() -> None:
    """With real sockets: `tests/security/test_zap.py`."""
    schedule = TurnSchedule("1")
    network = SimulatedNetwork(schedule, lambda what, source, target, data: None)
    known: list[float] = []

    def main() -> tuple[float, bytes]:
        context: Any = SimulatedContext(process, network)
        context.guard(
            lambda key: ZapStatus.YES if schedule.now > START + 3 else ZapStatus.NOT_YET,
            lambda address, key: known.append(schedule.now),
            lambda: schedule.now,
        )
        router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        serve_with(router, COORDINATORS[1])
        connect_with(dealer, *AGENTS, COORDINATORS[0])
        router.bind("tcp://127.0.0.1:5555")
        dealer.connect("tcp://127.0.0.1:5555")
        dealer.send(b"hello")
        router.recv()
        return schedule.now - START, router.recv()

    process = Process(schedule, 0, main)
    schedule.carry_on(lambda: not process.alive, math.inf)
    after, data = process.result
    assert data == b"hello"
    assert 3.0 < after < 3.1
    assert len(known) == 1  # it is told once that it must wait
