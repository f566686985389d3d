"""Asks a coordinator for its status (`posse status`)."""

import time

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
from posse.wire.sockets import HANDSHAKE_FAILURES, configure, end, know_family, monitored

_ANSWER = Codec((control.Status, control.Refused))


def ask(endpoint: str, keys: AgentKeys | None, wait: float) -> CoordinatorStatus:
    """The coordinator's status; `PosseError` if it does not answer within `wait` seconds."""
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    configure(socket, wait)
    socket.setsockopt(zmq.LINGER, 0)
    if keys is not None:
        connect_with(socket, keys.own.public, keys.own.secret, keys.coordinator)
    monitor = monitored(socket, HANDSHAKE_FAILURES)
    try:
        know_family(socket, endpoint)
        socket.connect(endpoint)
        socket.send(outside_runs(control.Ask()))
        frame = _answer(socket, monitor, endpoint, keys, wait)
        message = _ANSWER.decode(read_header(frame).plane, frame)
        if isinstance(message, control.Status):
            status: CoordinatorStatus = from_json(message.document, CoordinatorStatus)
            return status
        assert isinstance(message, control.Refused)
        raise PosseError(f"{endpoint} does not tell its status: {printable(message.reason, 1_000)}")
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
    raise PosseError(
        f"{endpoint} did not answer within {wait:g} s: no coordinator runs there, or it has "
        "another key; check the address, and that the folder of keys has its coordinator.key_secret"
    )


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
