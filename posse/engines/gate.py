"""The gate: which keys may connect to the server sockets of this process (ZAP, ZeroMQ RFC 27).

pyzmq's authenticator answers yes or no. A neighbour may connect before this process was told of
it, and a peer that was answered no never tries again on that socket; so this gate also knows
*not yet* (status 300), after which ZeroMQ lets the peer try again.
"""

import threading
from collections.abc import Callable
from enum import Enum

import zmq
from zmq.utils import z85

ZAP = "inproc://zeromq.zap.01"
DOMAIN = b"posse"


class Verdict(Enum):
    """What the gate says to a key."""

    YES = b"200"
    NOT_YET = b"300"
    NO = b"400"


class Gate:
    """Answers for all server sockets of one context, in a thread of its own.

    `decide(key)` is asked about every connection, `refused(address, key)` told of each that was
    not let in. Both are called in the gate's thread. The thread ends with its context.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        decide: Callable[[str], Verdict],
        refused: Callable[[str, str], None],
    ) -> None:
        self._decide = decide
        self._refused = refused
        self._socket: zmq.Socket[bytes] = context.socket(zmq.REP)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(ZAP)
        threading.Thread(target=self._serve, name="gate", daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                request = self._socket.recv_multipart()
                self._socket.send_multipart(self._answer(request))
        except zmq.ContextTerminated:
            self._socket.close()

    def _answer(self, request: list[bytes]) -> list[bytes]:
        version, number, _, address, _, mechanism, *credentials = request
        if mechanism != b"CURVE" or len(credentials) != 1:
            self._refused(address.decode(), "")
            return [version, number, Verdict.NO.value, b"keys are required", b"", b""]
        key = z85.encode(credentials[0]).decode()
        verdict = self._decide(key)
        if verdict is not Verdict.YES:
            self._refused(address.decode(), key)
        user = key.encode() if verdict is Verdict.YES else b""
        return [version, number, verdict.value, b"", user, b""]


def serve_with(socket: zmq.Socket[bytes], secret: str) -> None:
    """Let only those connect whom the context's gate lets in."""
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


def connect_with(socket: zmq.Socket[bytes], public: str, secret: str, server: str) -> None:
    """Connect only to whoever has the secret of the key `server`."""
    socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    socket.setsockopt(zmq.CURVE_SERVERKEY, server.encode())


def key_of(frame: zmq.Frame) -> str:
    """The key of the peer that sent this frame, "" where there are no keys."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""
