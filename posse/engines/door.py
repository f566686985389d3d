"""Who is connected to a socket, by the kernel's own counts, and who must go.

ZeroMQ bounds the size of a part and the number of messages, not how many parts a message has, nor
how many connections say nothing. What is under way inside it cannot be seen from outside; but what
came over a connection can, as the kernel counts it (Linux, `TCP_INFO`). So a connection is closed

- when more came over it than a stranger has to say, or, from an agent that joined, so much more
  than was taken that no honest one has as much unconfirmed (`posse.durable.session`),
- when whoever made it has not joined in time, or goes on over a newer one: what was queued for it
  there is dropped with it, so that an agent that comes back without end holds no more than one,
- when there are too many of those, from one address or in all: the oldest goes,
- when the process grows fast, and much came over it that is not taken.

So a ROUTER over tcp has no high-water mark of its own (`configure`). It would not bound this, and
where it is reached libzmq 4.3.5 stops reading; when such a connection ends then, the next heartbeat
aborts the process (`zmq_assert (!_io_error)` in `out_event`).

A thread of its own looks, because the loop may be busy with a run or with writing its result while
a stranger is not. `look` decides; it is the same for one connection as for a thousand, and looks at
each as seldom as its number allows, or when the process has grown or many have come.
"""

import contextlib
import os
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import zmq

from posse.durable.session import MOST_BYTES
from posse.engines.sockets import HANDSHAKE_FAILURES, Happening, happened
from posse.results.traffic import KernelBytes
from posse.security.address import plain

_BYTES = struct.Struct("=QQ")
_OFFSET = 120
"""Where `struct tcp_info` has tcpi_bytes_acked and tcpi_bytes_received (linux/tcp.h, since 4.1)."""

WATCHED = zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | HANDSHAKE_FAILURES

JOIN_WITHIN = 15.0
"""Seconds from a connection to joining. An honest agent joins over the first round trips."""

STRANGERS_BYTES = 1 << 20
"""What somebody who has not joined may send; `Join` with a large run file's hashes has 50 kB."""

AHEAD = MOST_BYTES + (16 << 20)
"""What an agent may have sent and we not taken: what its session keeps, and what surrounds it."""

AROUND, AROUND_WITH_KEYS = 9, 42
"""Bytes that ZeroMQ sends around a frame at most (ZMTP 3.1; CURVE). They count as taken with it, so
that no honest agent seems ahead after a million frames."""

PER_SECOND = 128
"""Bytes that come without a frame, of signs of life, per second of a connection's life at most."""

SPARE, SPARE_PER_HOST = 64, 16
"""Connections of those who have not joined, besides one per agent: in all, from one address."""

EVERY = 0.05
_PER_CONNECTION = 0.001
"""Seconds between looks, at least, and per connection: some 2 µs each, so 0.2 % of a core."""

HANG_UP = 10.0
"""Seconds at most for ZeroMQ to see the ends of all connections."""

GROWN = 32 << 20
"""Bytes that the process grows by before all are looked at, whatever the time."""

FAST, FAST_AHEAD = 2 * GROWN, 8 << 20
"""Bytes that it grows by from one look to the next, and that are not taken of one connection, for
that to be closed: small frames take 30 times their bytes."""


@dataclass
class Connection:
    """One connection: a copy of ZeroMQ's socket (None if there was no descriptor left for it).

    `base`: what had come when it was first an agent's, less what had been taken of it.
    """

    socket: socket.socket | None
    host: str
    since: float
    base: int | None = None
    closed: bool = False

    def close(self) -> None:
        """Give our copy back."""
        if self.socket is not None:
            self.socket.close()

    def counts(self) -> tuple[int, int]:
        """Bytes sent (and acknowledged) and received."""
        if self.socket is None:
            return 0, 0
        try:
            length = _OFFSET + _BYTES.size
            info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, length)
            sent, received = _BYTES.unpack_from(info, _OFFSET)
        except (OSError, struct.error, AttributeError):
            return 0, 0
        return sent, received


Closing = tuple[int, Connection, str, str]
"""A connection that must go: descriptor, what is known of it, reason, and a sentence."""


class Door:
    """See the module's text. `members`: bytes taken of each agent that joined, by descriptor.

    `happened` has the monitor's events as they came, for who else must know; `refused` why
    connections were closed here. `guarded` False: nobody is closed, as over ipc.
    """

    def __init__(
        self,
        monitor: zmq.Socket[bytes],
        agents: int,
        members: Callable[[], Mapping[int, int]],
        *,
        guarded: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.happened: deque[Happening] = deque()
        self.refused: deque[tuple[str, str]] = deque(maxlen=1_000)
        self._monitor = monitor
        self._agents = agents
        self._members = members
        self._clock = clock
        self._lock = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._gone = (0, 0)
        self._before = (0, 0)
        self._look_at = 0.0
        self._fresh = 0
        self._calm = resident()
        self._over = threading.Event()
        if guarded:
            threading.Thread(target=self._watch, name="door", daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            now = self._clock()
            self.drain()
            if self.due(now):
                self.look(now)

    def due(self, now: float) -> bool:
        """Whether it is time to look: each connection has two descriptors until one is closed."""
        many = self._fresh > self._agents + SPARE
        return many or now >= self._look_at or resident() > self._calm + GROWN

    # --- what the monitor tells ------------------------------------------------------------------

    def drain(self) -> None:
        """Take what happened to connections so far."""
        with self._lock:
            if self._over.is_set():
                return
            for told in happened(self._monitor):
                match told.event:
                    case zmq.EVENT_ACCEPTED:
                        self._accepted(told.value)
                    case zmq.EVENT_DISCONNECTED:
                        self._disconnected(told.value)
                self.happened.append(told)

    def events(self) -> Iterator[Happening]:
        """What happened since this was last asked, oldest first."""
        self.drain()
        while self.happened:
            yield self.happened.popleft()

    def _accepted(self, fd: int) -> None:
        self._disconnected(fd)  # its number is used again, and nobody said yet that it was free
        self._connections[fd] = self._copy(fd)
        self._fresh += 1

    def _copy(self, fd: int) -> Connection:
        connection = Connection(None, "", self._clock())
        with contextlib.suppress(OSError):
            connection.socket = socket.socket(fileno=os.dup(fd))
            peer = connection.socket.getpeername()
            connection.host = plain(str(peer[0])) if isinstance(peer, tuple) else ""
        return connection

    def _disconnected(self, fd: int) -> None:
        """ZeroMQ closed this connection. It is only closed for the peer when our copy is, too."""
        connection = self._connections.pop(fd, None)
        if connection is not None:
            sent, received = connection.counts()
            self._gone = (self._gone[0] + sent, self._gone[1] + received)
            connection.close()

    # --- who must go -----------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Close the connections that must go."""
        with self._lock:
            members = self._members()
            most = FAST_AHEAD if resident() > self._calm + FAST else AHEAD
            for fd, connection, reason, said in list(self._too_much(members, most, now)):
                shut(fd, connection)
                if said:
                    self._refuse(reason, f"closed a connection from {connection.host}: {said}")
            self._look_at = now + _PER_CONNECTION * len(self._connections)
            self._fresh = 0
            self._calm = resident()

    def _refuse(self, reason: str, said: str) -> None:
        self.refused.append((reason, said))

    def _too_much(self, members: Mapping[int, int], most: int, now: float) -> Iterator[Closing]:
        """Those that must go."""
        strangers: list[tuple[int, Connection]] = []
        for fd, connection in self._connections.items():
            if connection.closed:
                continue
            _, received = connection.counts()
            taken = members.get(fd)
            if taken is None and connection.base is not None:
                yield fd, connection, "replaced", ""
            elif taken is None:
                if received > STRANGERS_BYTES:
                    yield fd, connection, "too-much", f"{received >> 20} MiB came before it joined"
                elif now > connection.since + JOIN_WITHIN:
                    yield fd, connection, "idle", f"it did not join in {JOIN_WITHIN:g} s"
                else:
                    strangers.append((fd, connection))
            else:
                if connection.base is None:
                    connection.base = received - taken
                ahead = received - connection.base - taken
                if ahead > most + PER_SECOND * (now - connection.since):
                    said = f"{ahead >> 20} MiB came that make no message"
                    yield fd, connection, "too-much", said
        yield from self._too_many(strangers)

    def _too_many(self, strangers: list[tuple[int, Connection]]) -> Iterator[Closing]:
        """The oldest of those who have not joined, where they are too many."""
        strangers.sort(key=lambda item: item[1].since)
        hosts = Counter(connection.host for _, connection in strangers)
        left = len(strangers)
        for fd, connection in strangers:
            crowded = hosts[connection.host] > self._agents + SPARE_PER_HOST
            if crowded or left > self._agents + SPARE:
                hosts[connection.host] -= 1
                left -= 1
                yield fd, connection, "too-many", "too many that have not joined"

    # --- what is counted -------------------------------------------------------------------------

    def begin(self) -> None:
        """Count bytes from here on."""
        self.drain()
        self._before = self._totals()

    def counted(self) -> KernelBytes | None:
        """Bytes sent (and acknowledged) and received since `begin`; None where nobody tells."""
        sent, received = self._totals()
        if not received:
            return None
        return KernelBytes(sent - self._before[0], received - self._before[1])

    def _totals(self) -> tuple[int, int]:
        with self._lock:
            counts = [self._gone, *(one.counts() for one in self._connections.values())]
        return sum(sent for sent, _ in counts), sum(received for _, received in counts)

    def hang_up(self) -> None:
        """End all connections, before their socket is closed.

        While a socket is closed (or unbound) libzmq 4.3.5 reads no more; when a connection ends
        then, the next heartbeat aborts the process. Closing takes seconds where a machine has more
        to do than it can; who connects anew meanwhile has no heartbeat within the first.
        """
        until = self._clock() + HANG_UP
        self.drain()
        while self._connections and self._clock() < until:
            with self._lock:
                for fd, connection in self._connections.items():
                    if not connection.closed:
                        shut(fd, connection)
            time.sleep(_PER_CONNECTION)
            self.drain()

    def close(self) -> None:
        """Look no more, and give the file descriptors back."""
        with self._lock:
            self._over.set()
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()


def shut(fd: int, connection: Connection) -> None:
    """End a connection under ZeroMQ, which then forgets it and what of it was no message yet."""
    connection.closed = True
    with contextlib.suppress(OSError):
        if connection.socket is not None:
            connection.socket.shutdown(socket.SHUT_RDWR)
        else:
            its_own = socket.socket(fileno=fd)
            try:
                its_own.shutdown(socket.SHUT_RDWR)
            finally:
                its_own.detach()


def resident() -> int:
    """Bytes of memory that this process has; 0 where nobody tells."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:
            return int(statm.read().split()[1]) * 4096
    except OSError:
        return 0
