"""Watches a socket's connections by the kernel's byte counts, and closes those that go too far.

ZeroMQ bounds the size of a part and the number of messages, but neither the parts of a message nor
the number of silent connections. Its queues cannot be seen from outside, but the kernel counts what
each connection received (Linux, `TCP_INFO`). The door closes a connection

- that received more than a stranger needs to join, or, for an agent that joined, more bytes beyond
  those taken than an honest agent can have unconfirmed (`posse.wire.session`),
- whose peer has not joined in time, or has moved to a newer connection: the old queue goes with it,
  so that an agent that reconnects without end fills only one,
- when too many have not joined, from one address or in total: of those that have proved a key the
  oldest goes, of the others any, from the address that has most (as OpenSSH's MaxStartups),
- when the process grows fast, or by far more than arrived, and much that this connection received
  is not taken: small parts of a message take 30 times their bytes in memory.

So a ROUTER over tcp has no receive high-water mark. It would bound none of this, and at the mark
libzmq 4.3.5 stops reading: if such a connection then ends, the next heartbeat aborts the process
(`zmq_assert (!_io_error)` in `out_event`).

While more connect than it takes in a second, the kernel drops a share of their requests
(`posse.wire.admission`).

The door has its own thread, because strangers can send while the loop is busy with a run or its
result. `look` decides. It runs less often the more connections there are, but at once when the
process has grown or many connections are new.
"""

import contextlib
import math
import os
import random
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import zmq

from posse.gates import files
from posse.results.traffic import KernelBytes
from posse.security.address import plain
from posse.wire import syn_filter
from posse.wire.admission import TAKEN_PER_SECOND, Admission, source_of
from posse.wire.session import MOST_BYTES
from posse.wire.sockets import HANDSHAKE_FAILURES, MonitorEvent, monitor_events
from posse.wire.syn_filter import PacketSource
from posse.wire.world import HERE, World

_BYTES = struct.Struct("=QQ")
_OFFSET = 120
_STATM = Path("/proc/self/statm")
"""Offset of tcpi_bytes_acked and tcpi_bytes_received in `struct tcp_info` (linux/tcp.h, 4.1)."""

WATCHED = zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED | HANDSHAKE_FAILURES

JOIN_WITHIN = 15.0
"""Seconds in which a new connection must join. An honest agent needs a few round trips."""

STRANGERS_BYTES = 1 << 20
"""Bytes that a peer may send before it has joined; `Join` for a large run file has 50 kB."""

AHEAD = MOST_BYTES + (16 << 20)
"""Bytes that an agent may be ahead of what we took: what its session keeps, plus framing."""

AROUND, AROUND_WITH_KEYS = 9, 42
"""Most bytes that ZeroMQ adds to a frame (ZMTP 3.1; CURVE). They count as taken with the frame;
otherwise an honest agent would seem ahead after a million frames."""

PER_SECOND = 128
"""Most heartbeat bytes per second of a connection's life."""

SPARE, SPARE_PER_HOST = 64, 16
"""Connections that have not joined, allowed besides one per agent: in total, per address."""

PROOF = 270
"""Bytes that a socket with keys sends in more than a stranger's handshake: 64 of greeting and 172
of WELCOME; READY, with 67, follows only on a key that is allowed."""

CROWDED = 0.75
"""Share of the limit of open files above which no copy of a descriptor is made."""

EVERY = 0.05
_PER_CONNECTION = 0.001
"""Seconds between looks: at least, and per connection. One takes 2 µs, so 0.2 % of a core."""

AT_ONCE = 512
"""Events, besides two per agent, after which nobody is let in until all of them are processed."""

HANG_UP = 10.0
"""Longest wait in seconds for ZeroMQ to notice that all connections have ended."""

GROWN = 32 << 20
"""Growth of the process in bytes that triggers a look at once."""

FAST, FAST_AHEAD = 2 * GROWN, 8 << 20
"""If the process grew by the first (bytes) since the last look, the second replaces `AHEAD`."""

SMALL = 6
"""Times what is ahead by which small parts alone make the process grow; an honest frame takes three
times its bytes in memory."""


@dataclass
class Connection:
    """One connection: a copy of ZeroMQ's socket (None if no descriptor was left, or over ipc).

    `proved`: its peer has shown a key that is allowed.
    `base`: bytes received less bytes taken when the connection became an agent's; None before.
    """

    socket: socket.socket | None
    host: str
    since: float
    base: int | None = None
    closed: bool = False
    source: PacketSource | None = None
    proved: bool = False

    def close(self) -> None:
        """Close our copy of the descriptor."""
        if self.socket is not None:
            self.socket.close()

    def shut(self, fd: int, world: World) -> None:
        """Shut it down under ZeroMQ, which drops it with its incomplete message."""
        self.closed = True
        world.shut(fd, self.socket)

    def counts(self) -> tuple[int, int]:
        """Bytes sent (and acknowledged) and received; zeros where they cannot be read."""
        if self.socket is None:
            return 0, 0
        try:
            length = _OFFSET + _BYTES.size
            info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, length)
            sent, received = _BYTES.unpack_from(info, _OFFSET)
        except (OSError, struct.error, AttributeError):
            return 0, 0
        return sent, received


class Growth:
    """The memory of this process between looks at its connections, and since all was calm."""

    def __init__(self) -> None:
        self._before = self._calm = resident()

    def due(self) -> bool:
        """Whether to look at once."""
        return resident() > self._before + GROWN

    def allowed(self, ahead: int, peers: int = 1) -> int:
        """Bytes that `peers` together may be ahead, if all are ahead by this many; asked at a look.

        Somebody who fills the memory slowly is noticed, too: what is compared is the memory of the
        last look at which nobody was far ahead.
        """
        size = resident()
        small = size > self._calm + max(FAST, SMALL * ahead)
        fast = size > self._before + FAST
        self._before = size
        if ahead <= FAST_AHEAD:
            self._calm = size
        return FAST_AHEAD if small else peers * (FAST_AHEAD if fast else AHEAD)


Closing = tuple[int, Connection, str, str]
"""A connection to close: descriptor, connection, reason to count, and text to log ("" for none)."""


class Door:
    """See the module's text.

    `members` returns the bytes taken from each joined agent, by descriptor. `pending` queues the
    monitor's events for other readers, `refused` why connections were closed. With `guarded` False
    the door only counts, as over ipc. `keyed`: the socket lets in no peer without a key.
    """

    def __init__(
        self,
        monitor: zmq.Socket[bytes],
        agents: int,
        members: Callable[[], Mapping[int, int]],
        *,
        guarded: bool,
        keyed: bool = False,
        world: World = HERE,
    ) -> None:
        self.pending: deque[MonitorEvent] = deque()
        self.refused: deque[tuple[str, str]] = deque(maxlen=1_000)
        self._monitor = monitor
        self._agents = agents
        self._members = members
        self._world = world
        self._clock = world.monotonic
        self._keyed = keyed
        self._admission = Admission()
        self._listener: socket.socket | None = None
        self._last_copied = CROWDED * most_files()
        self._random = random.Random()
        self._lock = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._gone = (0, 0)
        self._before = (0, 0)
        self._look_at = 0.0
        self._fresh = 0
        self._growth = Growth()
        self._over = threading.Event()
        if guarded:
            world.watchman("door", self._watch)

    def _watch(self) -> None:
        news = select.poll()
        news.register(self._monitor, select.POLLIN)
        while not self._over.is_set():
            news.poll(1000 * EVERY)
            self.admit()
            now = self._clock()
            if self.due(now):
                self.look(now)

    def admit(self) -> None:
        """Process the monitor's events, and decide whose requests to connect the kernel drops."""
        came_too_fast = self.drain()
        if came_too_fast or self._more_than(2):
            # they come faster than this thread learns who they are, or than ZeroMQ lets go
            self._shut_out()
            while self.drain():
                pass
        now = self._clock()
        with self._lock:
            changed = self._admission.update(now, TAKEN_PER_SECOND + 2 * self._agents)
        if (changed or self._admission.shut) and not self._more_than(2):
            self._admission.shut = False
            self._filter(self._admission.shares, self._admission.others)

    def _more_than(self, times: int) -> bool:
        """Whether this many times the usual connections are there, closed or not."""
        return len(self._connections) > times * (self._agents + SPARE)

    def _shut_out(self) -> None:
        """Let nobody in for now of those who are too many; where that is unknown, nobody at all."""
        self._admission.shut = True
        loud = {} if self._more_than(4) else dict.fromkeys(self._admission.shares, 0.0)
        self._filter(loud, 1.0 if loud else 0.0)

    def _filter(self, shares: Mapping[PacketSource, float], others: float) -> None:
        """Let in these shares of requests to connect, and all from where agents joined."""
        with self._lock:
            joined = {c.host for c in self._connections.values() if c.base is not None}
            if self._listener is not None:
                syn_filter.attach(self._listener, syn_filter.program(shares, others, joined))

    def due(self, now: float) -> bool:
        """Whether to look now: soon if many are new, as each holds two descriptors."""
        many = self._fresh > self._agents + SPARE
        return many or now >= self._look_at or self._growth.due()

    # --- monitor events --------------------------------------------------------------------------

    def drain(self) -> bool:
        """Process the monitor's events so far, or a part; returns whether there are more."""
        with self._lock:
            if self._over.is_set():
                return False
            most = AT_ONCE + 2 * self._agents
            for event in islice(monitor_events(self._monitor), most):
                match event.kind:
                    case zmq.EVENT_ACCEPTED:
                        self._accepted(event.value)
                    case zmq.EVENT_DISCONNECTED:
                        self._disconnected(event.value)
                self.pending.append(event)
                most -= 1
            return most == 0

    def events(self) -> Iterator[MonitorEvent]:
        """The monitor's events since the last call, oldest first."""
        self.drain()
        for _ in range(len(self.pending)):
            yield self.pending.popleft()

    def _accepted(self, fd: int) -> None:
        self._disconnected(fd)  # a reused descriptor, whose DISCONNECTED has not come yet
        self._connections[fd] = connection = self._copy(fd)
        self._admission.accepted(connection.source)
        self._fresh += 1

    def _copy(self, fd: int) -> Connection:
        connection = Connection(None, "", self._clock())
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            copied = stack.enter_context(copy_of(fd))  # closed, too, where it was reset meanwhile
            peer = None if copied.family == socket.AF_UNIX else copied.getpeername()
            if isinstance(peer, tuple):
                connection.host = plain(str(peer[0]))
                connection.source = source_of(connection.host)
            if self._listener is None and connection.source is not None:
                self._listener = listener_of(copied)
            if connection.source is not None and fd <= self._last_copied:  # counts, and room
                connection.socket = copied
                stack.pop_all()
        return connection

    def _disconnected(self, fd: int) -> None:
        """ZeroMQ closed this connection. The peer sees that only when our copy is closed, too."""
        connection = self._connections.pop(fd, None)
        if connection is not None:
            sent, received = connection.counts()
            self._gone = (self._gone[0] + sent, self._gone[1] + received)
            connection.close()

    # --- closing ---------------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Close every connection that breaks a limit."""
        with self._lock:
            members = self._members()
            most = self._growth.allowed(*self._ahead(members, now))
            for fd, connection, reason, text in list(self._too_much(members, most, now)):
                connection.shut(fd, self._world)
                if text:
                    self._refuse(reason, f"closed a connection from {connection.host}: {text}")
            self._look_at = now + _PER_CONNECTION * len(self._connections)
            self._fresh = 0

    def _refuse(self, reason: str, text: str) -> None:
        self.refused.append((reason, text))

    def _ahead(self, members: Mapping[int, int], now: float) -> tuple[int, int]:
        """By how many bytes all are ahead of what we took, and by how many peers it is shared."""
        return sum(
            max(0, connection.counts()[1] - connection.base - members[fd])
            for fd, connection in self._connections.items()
            if connection.base is not None and fd in members and not connection.closed
        ), 1

    def _too_much(self, members: Mapping[int, int], most: int, now: float) -> Iterator[Closing]:
        """The connections to close. `most`: bytes that an agent may be ahead."""
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
                    yield (
                        fd,
                        connection,
                        "too-much",
                        f"it sent {received >> 20} MiB before it joined",
                    )
                elif now > connection.since + JOIN_WITHIN:
                    yield fd, connection, "idle", f"it did not join within {JOIN_WITHIN:g} s"
                else:
                    strangers.append((fd, connection))
            else:
                if connection.base is None:
                    connection.base = received - taken
                ahead = received - connection.base - taken
                if ahead > most + PER_SECOND * (now - connection.since):
                    text = f"it sent {ahead >> 20} MiB that make up no message"
                    yield fd, connection, "too-much", text
        yield from self._too_many(strangers)

    def _too_many(self, strangers: list[tuple[int, Connection]]) -> Iterator[Closing]:
        """The connections to close of those that have not joined, where there are too many."""
        apart: list[dict[PacketSource | None, list[tuple[int, Connection]]]] = [{}, {}]
        for fd, connection in sorted(strangers, key=lambda item: item[1].since):
            if self._keyed and not connection.proved:
                connection.proved = connection.counts()[0] > PROOF
            apart[connection.proved].setdefault(connection.source, []).append((fd, connection))
        for proved, by_source in enumerate(apart):
            left = sum(map(len, by_source.values()))
            while left:
                most = max(by_source.values(), key=len)
                if left <= self._agents + SPARE and len(most) <= self._agents + SPARE_PER_HOST:
                    break
                left -= 1
                fd, connection = most.pop(0 if proved else self._random.randrange(len(most)))
                yield fd, connection, "too-many", "too many connections have not joined"

    # --- counting --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start `counted` at zero."""
        self.drain()
        self._before = self._totals()

    def counted(self) -> KernelBytes | None:
        """Bytes sent (and acknowledged) and received since `begin`; None without kernel counts."""
        sent, received = self._totals()
        if not received:
            return None
        return KernelBytes(sent - self._before[0], received - self._before[1])

    def _totals(self) -> tuple[int, int]:
        with self._lock:
            counts = [
                self._gone,
                *(connection.counts() for connection in self._connections.values()),
            ]
        return sum(sent for sent, _ in counts), sum(received for _, received in counts)

    def hang_up(self) -> None:
        """End all connections, before their socket is closed.

        While libzmq 4.3.5 closes (or unbinds) a socket it does not read: if a connection ends then,
        the next heartbeat aborts the process. On a busy machine closing takes seconds. A peer that
        reconnects meanwhile is safe: its first second has no heartbeat.
        """
        until = self._clock() + HANG_UP
        self.drain()
        while self._connections and self._clock() < until:
            with self._lock:
                for fd, connection in self._connections.items():
                    if not connection.closed:
                        connection.shut(fd, self._world)
            self._world.sleep(_PER_CONNECTION)
            self.drain()

    def close(self) -> None:
        """Stop the thread and close all descriptors."""
        with self._lock:
            self._over.set()
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()
            if self._listener is not None:
                self._listener.close()


def copy_of(fd: int) -> socket.socket:
    """A socket with a copy of this descriptor; `OSError` if by now it is none or a file's."""
    copied = os.dup(fd)
    try:
        return socket.socket(fileno=copied)
    except OSError:
        os.close(copied)
        raise


def listener_of(accepted: socket.socket) -> socket.socket | None:
    """A copy of this process's socket that listens where this connection was accepted."""
    port = accepted.getsockname()[1]
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            copy = copy_of(int(name))
            if (
                copy.family in (socket.AF_INET, socket.AF_INET6)
                and copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                and copy.getsockname()[1] == port
            ):
                return copy
            copy.close()
    return None


def most_files() -> float:
    """How many files this process may have open."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return math.inf
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def resident() -> int:
    """Resident memory of this process in bytes; 0 without /proc."""
    try:
        return int(files.read(_STATM).split()[1]) * 4096
    except OSError:
        return 0
