"""Which keys may connect to the server sockets of this process (ZAP, ZeroMQ RFC 27).

pyzmq's own authenticator answers yes or no. But a neighbour may connect before this process was
told of it, and a peer that was refused never tries again on that socket. So this one also knows
*not yet*: it keeps the question until it knows better, and answers 300 only after `PATIENCE`.
libzmq 4.3.5 should then close the connection, so that the peer tries again. Three times in four it
leaves it as it is, until the handshake times out.
"""

import threading
import time
from collections.abc import Callable
from enum import Enum

import zmq
from zmq.utils import z85

from posse.security.address import plain

ZAP = "inproc://zeromq.zap.01"
DOMAIN = b"posse"
PATIENCE = 10.0
"""Seconds that a question is kept; agents are told of their neighbours at about the same time."""

MOST_KEPT = 1_000
"""Questions kept at once. Beyond that *not yet* is answered at once."""

LOOK_MS = 10
"""Milliseconds between looks at questions that are kept."""


class ZapStatus(Enum):
    """The answer about a key."""

    YES = b"200"
    NOT_YET = b"300"
    NO = b"400"


class Authenticator:
    """Answers over a `socket` for all server sockets of its context.

    `decide(key)` is called for every connection, perhaps repeatedly, and `refused(address, key)`
    for each that is refused or must wait.
    """

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        decide: Callable[[str], ZapStatus],
        refused: Callable[[str, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._decide = decide
        self._refused = refused
        self._socket = socket
        self._clock = clock
        self._kept: list[tuple[float, list[bytes]]] = []

    def start(self) -> None:
        """Answer in a thread of its own, which ends with the context."""
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(ZAP)
        threading.Thread(target=self._serve, name="zap", daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                asked = self._socket.poll(LOOK_MS if self._kept else None)
                self.attend(asked=bool(asked))
        except zmq.ContextTerminated:
            self._socket.close()

    def attend(self, *, asked: bool) -> bool:
        """Take a question if one was `asked`, and answer what can be; whether any are kept."""
        if asked:
            self._ask(self._socket.recv_multipart())
        now = self._clock()
        self._kept = [
            (until, request)
            for until, request in self._kept
            if not self._settled(request, patient=now < until)
        ]
        return bool(self._kept)

    def _ask(self, request: list[bytes]) -> None:
        """Answer a new question, or keep it."""
        if not self._settled(request, patient=len(self._kept) < MOST_KEPT):
            address, key = _who(request)
            self._refused(address, key)
            self._kept.append((self._clock() + PATIENCE, request))

    def _settled(self, request: list[bytes], *, patient: bool) -> bool:
        """Answer a question, but not with *not yet* while `patient`; returns whether it did."""
        address, key = _who(request)
        verdict = self._decide(key) if key else ZapStatus.NO
        if verdict is ZapStatus.NOT_YET and patient:
            return False
        if verdict is not ZapStatus.YES:
            self._refused(address, key)
        text = b"" if key else b"keys are required"
        user = key.encode() if verdict is ZapStatus.YES else b""
        peer, empty, version, number = request[:4]
        self._socket.send_multipart([peer, empty, version, number, verdict.value, text, user, b""])
        return True


def _who(request: list[bytes]) -> tuple[str, str]:
    """The address and key in a question; the key is "" where the peer has none."""
    _, _, _, _, _, address, _, mechanism, *credentials = request
    curve = mechanism == b"CURVE" and len(credentials) == 1
    return plain(address.decode()), z85.encode(credentials[0]).decode() if curve else ""


def serve_with(socket: zmq.Socket[bytes], secret: str) -> None:
    """Let only peers connect that the context's `Authenticator` lets in."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


def connect_with(socket: zmq.Socket[bytes], public: str, secret: str, server: str) -> None:
    """Connect only to a peer that has the secret key of `server`."""
    socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    socket.setsockopt(zmq.CURVE_SERVERKEY, server.encode())


def key_of(frame: zmq.Frame) -> str:
    """The key of the peer that sent this frame, "" without keys."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""


def host_of(frame: zmq.Frame) -> str:
    """The address that this frame came from, 127.0.0.1 over ipc, "" where there is none."""
    try:
        address = str(frame.get("Peer-Address"))
    except zmq.ZMQError:
        return ""
    # over ipc: localhost:USER:GROUP:PROCESS
    return "127.0.0.1" if address.startswith("localhost:") else plain(address)
