"""Decisions about ZeroMQ sockets, in one place."""

import contextlib
import errno
import itertools
import struct
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import zmq

from posse.errors import PosseError
from posse.log import LOG
from posse.protocol.wire import MAX_FRAME
from posse.wire.lookup import is_ipv6

HIGH_WATER = 100_000
"""Frames queued per peer. A peer is at most a few slots ahead, and one slot sends far fewer frames
to a peer. So a full queue means a peer that does not read; a send to it then times out."""

HEARTBEAT_MS = 1_000
SILENCE_MS = 4_000
"""How often a peer is asked for a sign of life, and how long it may give none. So a peer that
vanishes is noticed within 5 s. A false alarm costs a new connection; the session goes on."""

PROBE_EVERY = 0.1
"""Seconds between checks that sent frames are confirmed; see `posse.wire.session.LATE`."""

HANDSHAKE_MS = 10_000
"""How long a handshake may take. With keys it needs three round trips and more: 6 s if each way
takes one. An agent lets a neighbour wait that it was not told of yet (`posse.security.zap`).
ZeroMQ's own timeout is 30 s."""

CONNECT_MS = 4_000
"""How long the kernel may try to connect, as long as a peer may be silent. Without it each try of
one that is not answered lasts for two minutes, in which the kernel asks ever more rarely, so that a
network which dropped packets for 40 s is used again half a minute after it is back."""

LINK_DEADLINE = 60.0
"""Seconds within which a link must take a frame."""

CONNECT_BACKLOG = 4_096

END_WITHIN = 10.0
"""Seconds for a context to end; its sockets linger for at most two of them."""

_MONITORED = struct.Struct("=hi")
_MONITORS = itertools.count()

HANDSHAKE_FAILURES = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
"""Events of a monitor which tell that a connection was not let in."""


def end(context: zmq.Context[zmq.Socket[bytes]], within: float = END_WITHIN) -> None:
    """End a context whose sockets are closed.

    libzmq 4.3.5 sometimes waits for ever for a connection that broke while much was queued for it:
    1 time in 250 with 6 MB, whatever the linger. After `within` seconds the context is left behind.
    """
    ending = threading.Thread(target=context.term, name="end of ZeroMQ", daemon=True)
    try:
        ending.start()
    except RuntimeError:  # the system permits no more threads
        context.term()
        return
    ending.join(within)
    if ending.is_alive():
        LOG.warning("ZeroMQ did not end within %g s; posse goes on without waiting for it", within)


def configure(socket: zmq.Socket[bytes], deadline: float) -> None:
    """Set the options that every socket of posse has."""
    socket.setsockopt(zmq.LINGER, 2_000)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME)
    socket.setsockopt(zmq.SNDTIMEO, int(deadline * 1000))
    socket.setsockopt(zmq.BACKLOG, CONNECT_BACKLOG)
    socket.setsockopt(zmq.IMMEDIATE, 0)


def know_family(socket: zmq.Socket[bytes], endpoint: str) -> None:
    """Enable IPv6 for the socket's next address, to bind or to connect to, if it is IPv6."""
    socket.setsockopt(zmq.IPV6, int(is_ipv6(endpoint)))


def bound(socket: zmq.Socket[bytes], *addresses: str) -> str:
    """Make a socket listen at the first of these that it can; returns its address, with the port.

    `PosseError` about the last if there is none; the socket is then closed.
    """
    for address in addresses:
        know_family(socket, address)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            failed = error
        else:
            return socket.getsockopt_string(zmq.LAST_ENDPOINT)
    socket.close()
    why = failed.strerror
    if failed.errno == errno.EADDRINUSE:
        why = "the port is in use; stop the program that uses it, or choose another port"
    elif failed.errno in (errno.ENODEV, errno.EADDRNOTAVAIL):
        why = "this machine has no such address; tcp://0.0.0.0:PORT or tcp://[::]:PORT means all"
    raise PosseError(f"{address} cannot be bound: {why}") from None


def heartbeat(socket: zmq.Socket[bytes]) -> None:
    """Notice a peer that vanishes, on links that may lead to another machine.

    Not needed over ipc, where a peer's end is seen at once.
    """
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, SILENCE_MS)


def reconnect(socket: zmq.Socket[bytes]) -> None:
    """Set how soon and how often a lost connection is tried again, and how long each time."""
    socket.setsockopt(zmq.RECONNECT_IVL, 100)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2_000)
    socket.setsockopt(zmq.CONNECT_TIMEOUT, CONNECT_MS)
    socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)


def monitored(socket: zmq.Socket[bytes], events: int) -> zmq.Socket[bytes]:
    """A monitor of the socket that reports these events.

    Its name is unique. pyzmq's is the socket's file descriptor, which the next socket may get while
    ZeroMQ still takes down the last one's monitor.
    """
    monitor: zmq.Socket[bytes] = socket.get_monitor_socket(
        events, f"inproc://monitor-{next(_MONITORS)}"
    )
    return monitor


class Selector:
    """The sockets and file descriptors that a loop listens to, each with its handler."""

    def __init__(self, poller: zmq.Poller | None = None) -> None:
        self._poller = poller or zmq.Poller()
        self._handlers: dict[zmq.Socket[bytes] | int, Callable[[], None]] = {}

    def watch(self, source: zmq.Socket[bytes] | int, handler: Callable[[], None]) -> None:
        """Call `handler` from `wait` whenever `source` has something, or is at its end."""
        self._poller.register(source, zmq.POLLIN | (zmq.POLLERR if isinstance(source, int) else 0))
        self._handlers[source] = handler

    def forget(self, source: zmq.Socket[bytes] | int) -> None:
        """Stop listening to `source`."""
        self._poller.unregister(source)
        del self._handlers[source]

    def wait(self, milliseconds: int | None) -> None:
        """Handle sources that are ready, or become ready within this time (None: for ever)."""
        for source, _ in self._poller.poll(milliseconds):
            if (handler := self._handlers.get(source)) is not None:
                handler()


class MonitorEvent(NamedTuple):
    """An event of a socket's monitor: one of `zmq.EVENT_…`, its value, and its address."""

    kind: int
    value: int
    address: str


def monitor_events(monitor: zmq.Socket[bytes]) -> Iterator[MonitorEvent]:
    """The pending events of a monitor, oldest first.

    `zmq.utils.monitor` does the same, but loads asyncio into every agent.
    """
    with contextlib.suppress(zmq.Again):
        while True:
            numbers, address = monitor.recv_multipart(zmq.NOBLOCK)
            kind, value = _MONITORED.unpack(numbers)
            yield MonitorEvent(kind, value, address.decode())


NOT_OURS = "what answered there does not speak ZeroMQ's protocol, or was damaged on its way"


def why_failed(code: int, *, listens: bool = False) -> str:
    """A failed handshake's protocol error as a sentence for the log of either end.

    Only who `listens` sees another key: what others say they cannot have encrypted otherwise.
    """
    match code:
        case zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
            return "one side has keys and the other has none; start both with --keys"
        case zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC if listens:
            return (
                "the other side expects another coordinator key, or it was damaged on its way; if "
                "it comes again, give the other side the coordinator.key of this coordinator"
            )
        case _:
            return f"{NOT_OURS} (code {code:#x})"
