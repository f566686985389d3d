"""Whether a coordinator would let an agent in (`posse check --join`)."""

import zmq

from posse.errors import PosseError
from posse.gates.shown import printable
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with
from posse.wire.lookup import greets
from posse.wire.sockets import (
    HANDSHAKE_FAILURES,
    configure,
    end,
    know_family,
    monitor_events,
    monitored,
)

_EVENTS = HANDSHAKE_FAILURES | zmq.EVENT_HANDSHAKE_SUCCEEDED


def reach(endpoint: str, keys: AgentKeys | None, wait: float) -> None:
    """`PosseError` unless the coordinator lets these keys of an agent in; it is asked nothing."""
    context = zmq.Context()
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    configure(socket, wait)
    socket.setsockopt(zmq.LINGER, 0)
    if keys is not None:
        connect_with(socket, keys.own.public, keys.own.secret, keys.coordinator)
    monitor = monitored(socket, _EVENTS)
    try:
        know_family(socket, endpoint)
        socket.connect(endpoint)
        if not monitor.poll(int(1000 * wait)):
            raise PosseError(
                f"{endpoint} did not answer within {wait:g} s: no coordinator runs there, or it "
                "has another key; check the address, and that the folder of keys has its "
                "coordinator's key"
            )
        if next(iter(monitor_events(monitor))).kind != zmq.EVENT_HANDSHAKE_SUCCEEDED:
            raise PosseError(f"{endpoint} {_why_refused(endpoint, keys)}")
    except zmq.ZMQError as error:
        raise PosseError(
            f"{endpoint} cannot be asked: {printable(str(error))}; check the address"
        ) from None
    finally:
        socket.disable_monitor()
        monitor.close(0)
        socket.close()
        end(context)


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
