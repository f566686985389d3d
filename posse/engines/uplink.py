"""An agent's connection to its coordinator: a DEALER, and what its monitor tells."""

import time
from collections.abc import Iterator

import zmq
from zmq.utils.monitor import recv_monitor_message

from posse.engines.events import Closure, Connected, Disconnected, NotLetIn
from posse.engines.sockets import HANDSHAKE_FAILURES, configure, heartbeat, why_failed
from posse.errors import PosseError
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with

_SEND_DEADLINE = 60.0
_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | HANDSHAKE_FAILURES


class Uplink:
    """See the module's text. `socket` is the link to the coordinator.

    Beside its coordinator (`remote` false) an agent needs no monitor: it is there, and when it goes
    so does the agent.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        endpoint: str,
        *,
        remote: bool,
        keys: AgentKeys | None = None,
    ) -> None:
        self.monitor: zmq.Socket[bytes] | None = None
        self.socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        configure(self.socket, _SEND_DEADLINE)
        heartbeat(self.socket, endpoint)
        if remote:
            self.socket.setsockopt(zmq.RECONNECT_IVL, 100)
            self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2_000)
            self.monitor = self.socket.get_monitor_socket(_WATCHED)
        if keys is not None:
            connect_with(self.socket, keys.own.public, keys.own.secret, keys.coordinator)
        try:
            self.socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise PosseError(f"{endpoint} is not an address: {error.strerror}") from None

    def frames(self) -> Iterator[bytes]:
        """What is here."""
        while True:
            try:
                frame = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            yield frame

    def events(self) -> Iterator[Connected | Disconnected | NotLetIn]:
        """What happened to the connection."""
        assert self.monitor is not None
        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)
            match event["event"]:
                case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    yield Connected(time.time())
                case zmq.EVENT_DISCONNECTED:
                    yield Disconnected()
                case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                    yield NotLetIn(Closure.NOT_UNDERSTOOD, why_failed(event["value"]))
                case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    yield NotLetIn(Closure.UNKNOWN_KEY)
                case _:
                    yield NotLetIn(Closure.WITHOUT_A_WORD)

    def close(self) -> None:
        """Close it, after what was sent is on its way."""
        if self.monitor is not None:
            self.monitor.close(0)
        self.socket.close()
