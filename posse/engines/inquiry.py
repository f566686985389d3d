"""Asks a coordinator for its status (`posse status`)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import zmq

from posse.errors import PosseError
from posse.gates.decode import Undecodable, from_json
from posse.gates.shown import printable
from posse.hosts.status import CoordinatorStatus
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.wire import Codec, read_header
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with
from posse.wire.links import outside_runs
from posse.wire.lookup import greets
from posse.wire.sockets import (
    HANDSHAKE_FAILURES,
    configure,
    end,
    know_family,
    monitor_events,
    monitored,
)

_ANSWER = Codec((control.Status, control.Refused))


def ask(endpoint: str, keys: AgentKeys | None, wait: float) -> CoordinatorStatus:
    """The coordinator's status; `PosseError` if it does not answer within `wait` seconds."""
    with _connected(endpoint, keys, wait, HANDSHAKE_FAILURES) as (socket, monitor):
        socket.send(outside_runs(control.Ask()))
        frame = _answer(socket, monitor, endpoint, keys, wait)
        message = _ANSWER.decode(read_header(frame).plane, frame)
        if isinstance(message, control.Status):
            status: CoordinatorStatus = from_json(message.document, CoordinatorStatus)
            return status
        assert isinstance(message, control.Refused)
        raise PosseError(f"{endpoint} does not tell its status: {printable(message.reason, 1_000)}")


def reach(endpoint: str, keys: AgentKeys, wait: float) -> None:
    """`PosseError` unless the coordinator lets these keys of an agent in; it is asked nothing."""
    events = HANDSHAKE_FAILURES | zmq.EVENT_HANDSHAKE_SUCCEEDED
    with _connected(endpoint, keys, wait, events) as (_, monitor):
        if not monitor.poll(int(1000 * wait)):
            raise PosseError(_SILENT.format(endpoint, wait))
        if next(iter(monitor_events(monitor))).kind != zmq.EVENT_HANDSHAKE_SUCCEEDED:
            raise PosseError(f"{endpoint} {_why_refused(endpoint, keys)}")


@contextmanager
def _connected(
    endpoint: str, keys: AgentKeys | None, wait: float, events: int
) -> Iterator[tuple[zmq.Socket[bytes], zmq.Socket[bytes]]]:
    """A socket of its own context, and its monitor of these events."""
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    configure(socket, wait)
    socket.setsockopt(zmq.LINGER, 0)
    if keys is not None:
        connect_with(socket, keys.own.public, keys.own.secret, keys.coordinator)
    monitor = monitored(socket, events)
    try:
        know_family(socket, endpoint)
        socket.connect(endpoint)
        yield socket, monitor
    except (zmq.ZMQError, RemoteProtocolError, Undecodable) as error:
        raise PosseError(
            f"the status of {endpoint} could not be read: {printable(str(error))}; check the "
            "address, and that the coordinator there has the same version of posse"
        ) from None
    finally:
        socket.disable_monitor()
        monitor.close(0)
        socket.close()
        end(context)


_SILENT = (
    "{} did not answer within {:g} s: no coordinator runs there, or it has another key; check the "
    "address, and that the folder of keys has its coordinator's key"
)


def _answer(
    socket: zmq.Socket[bytes],
    monitor: zmq.Socket[bytes],
    endpoint: str,
    keys: AgentKeys | None,
    wait: float,
) -> bytes:
    """The answer's frame; `PosseError` if the handshake is refused, or at the deadline."""
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    poller.register(monitor, zmq.POLLIN)
    deadline = time.monotonic() + wait
    while (left := deadline - time.monotonic()) > 0:
        ready = dict(poller.poll(int(left * 1000) + 1))
        if socket in ready:
            return socket.recv()
        if monitor in ready:
            raise PosseError(f"{endpoint} {_why_refused(endpoint, keys)}")
    raise PosseError(_SILENT.format(endpoint, wait))


def _why_refused(endpoint: str, keys: AgentKeys | None) -> str:
    if endpoint.startswith("tcp://") and not greets(endpoint):
        return (
            "is no coordinator's address: another program, or a relay with nothing behind it, "
            "answers there; check the address, and that posse coordinator runs there"
        )
    if keys is None:
        return "requires keys; add --keys DIR, the folder that the coordinator was started with"
    return (
        "has no keys, or other keys than this folder's coordinator.key_secret; use the folder that "
        "the coordinator was started with, or --insecure if it was started without keys"
    )
