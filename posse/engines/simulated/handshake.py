"""Handshakes of simulated connections: who is let in by which key.

What it assumes is shown with real sockets by `tests/engines/simulated/test_handshake.py`: a socket
with keys that listens asks the `Authenticator` of its context. Who is refused (400), or sees that
only one side has keys, gives up on that socket; with *not yet* (300), or with another server's key,
it tries again.
"""

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import zmq
from zmq.utils import z85

from posse.engines.simulated.schedule import Process, TurnSchedule
from posse.security.zap import DOMAIN, LOOK_MS, Authenticator, ZapStatus

_HOST = b"127.0.0.1"
_SEEN = 0.5
"""How often who connects sees that only one side has keys before the other end closes."""

_LEFT_OPEN = 0.75
"""How often ZeroMQ leaves a connection open after *not yet*, until its handshake times out."""

_CLOSED = int(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL), 0
_MISMATCH, _OTHER_SERVER = (
    (int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL), int(code))
    for code in (
        zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH,
        zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC,
    )
)
"""Events of a monitor, with their values."""

public_of = functools.lru_cache(maxsize=1_000)(zmq.curve_public)


class Credentials(NamedTuple):
    """What a connecting socket shows: its public key, and the server's that it expects."""

    own: bytes
    server: bytes


class SimulatedGate:
    """Brings the handshakes of a process before its real `Authenticator`, and the answers back."""

    def __init__(
        self,
        process: Process,
        schedule: TurnSchedule,
        decide: Callable[[str], ZapStatus],
        refused: Callable[[str, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._process, self._schedule = process, schedule
        self._asked: deque[list[bytes]] = deque()
        self._then: list[Callable[[bytes], None]] = []
        self._keeps = False
        self._authenticator: Authenticator | None = Authenticator(
            self,  # type: ignore[arg-type]
            decide,
            refused,
            clock,
        )

    def ask(self, key: bytes, then: Callable[[bytes], None]) -> None:
        """Ask about a key; `then` is told the status, perhaps later."""
        number = b"%d" % len(self._then)
        self._then.append(then)
        curve = (DOMAIN, _HOST, b"", b"CURVE", z85.decode(key))
        self._asked.append([b"", b"", b"1.0", number, *curve])
        self._attend(asked=True)

    def _attend(self, *, asked: bool) -> None:
        schedule = self._schedule
        if self._authenticator is None:
            return
        before, schedule.running = schedule.running, self._process
        keeps = self._authenticator.attend(asked=asked)
        schedule.running = before
        if keeps and not (self._keeps and asked):  # else a look is due already
            schedule.call_later(LOOK_MS / 1000, lambda: self._attend(asked=False))
        self._keeps = keeps

    def close(self) -> None:
        """The process ended: let go of all that it had."""
        self._authenticator = None

    def recv_multipart(self) -> list[bytes]:
        """The next question."""
        return self._asked.popleft()

    def send_multipart(self, parts: list[bytes]) -> None:
        """The answer to a question."""
        number, status = int(parts[3]), parts[4]
        self._schedule.call_later(0.0, lambda: self._then[number](status))


def shake_hands(connector: Any, listener: Any, let_in: Callable[[str], None]) -> None:
    """Let a `Connector` in at a socket under its key ("" without keys), or fail its attempt."""
    shown, secret = connector.credentials, listener.secret
    if shown is None and secret is None:
        let_in("")
        return
    schedule, attempt = connector.network.schedule, connector.attempt
    if shown is None or secret is None:
        seen = schedule.random.random() < _SEEN
        connector.refused(listener, _MISMATCH, _MISMATCH if seen else _CLOSED, for_good=seen)
        return
    if public_of(secret) != shown.server:
        connector.refused(listener, _OTHER_SERVER, _CLOSED)
        return
    auth = int(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
    until = schedule.now + min(listener.handshake, connector.socket.handshake)

    def answered(status: bytes) -> None:
        if attempt != connector.attempt:
            return
        if status == ZapStatus.YES.value:
            let_in(shown.own.decode())
        elif status == ZapStatus.NO.value:
            connector.refused(listener, (auth, 400), (auth, 400), for_good=True)
        elif schedule.random.random() >= _LEFT_OPEN:
            connector.refused(listener, (auth, 300), _CLOSED)

    def too_late() -> None:
        if attempt == connector.attempt and connector.end is None:
            connector.refused(listener, _CLOSED, _CLOSED)

    schedule.call_at(until, too_late)
    connector.network.gates[listener.process].ask(shown.own, answered)
