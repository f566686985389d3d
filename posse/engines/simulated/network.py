"""The simulated network: connections between sockets, and what becomes of what is under way.

What it assumes about TCP and ZeroMQ (`tests/engines/simulated/test_sockets.py` shows some with real
ones):

- A connection is a stream: what arrives is in order; between connections nothing is.
- What is under way is lost with its connection. What a connecting socket was handed while it had
  none is sent over the next one; a listening socket keeps nothing for a connection that is gone.
- What came stays readable after its connection is gone.
- A process that is killed: the system still sends what it had taken, then closes.
- Where packets are dropped nothing is noticed, except by a heartbeat: an end to which nothing
  comes for 4 to 5 s, not even an answer, is closed, and the other end hears of it once packets
  pass. The system sends again at ever longer intervals, and asks for a connection after 1, 3, 7,
  15, 31 … s.
- A machine with a new address has lost the old one: nothing that is sent to it or from it arrives,
  which is noticed as silence is, and nobody reaches what listened there.
- Over ipc the address is a file, here too: who listens removes what is there, and a killed process
  leaves it. A connecting socket reaches whoever listens at the file that is there now.
- A closed socket still tries to send what waits, until its linger is over or its process ends.
- A subscription goes out at once; a real one waits until its process looks at the socket.
- A monitor speaks before what comes over a new connection, and after what came over an old one.
"""

import contextvars
import itertools
import math
import os
import pathlib
import random
import socket as sockets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec
import zmq

from posse.engines.simulated.handshake import Credentials, SimulatedGate, shake_hands
from posse.engines.simulated.schedule import Process, TurnSchedule
from posse.gates import files
from posse.protocol.wire import HEADER, kind_of
from posse.security.address import split
from posse.spec.network import Conditions, LinkConditions, lateness
from posse.wire.forwarding import FORWARD
from posse.wire.session import content, is_numbered

_HOST = "127.0.0.1"
_LOOPBACK = f"tcp://{_HOST}:*"
"""Every machine has this; who moved is reached there by itself alone."""

FIRST_DESCRIPTOR = 1 << 28
"""Far above every descriptor of the real process."""

_REPEATED = {"Join", "Welcome", "Sync", "Synced", "Resume", "Resumed", "Whose", "Unknown"}
"""Kinds of frames without a number that are asked for again if they, or their answers, are lost."""

_SILENCE = 4.0
_RETRANSMIT = 0.2
_OVERTAKEN = 0.05
_LONGEST_RETRANSMIT = 30.0
_ASK_AGAIN = 1.0

_WRONG_ANSWERS = (
    (None, True),
    ((zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0), False),
    *(
        ((zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, int(code)), True)
        for code in (
            zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH,
            zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC,
            zmq.PROTOCOL_ERROR_ZMTP_UNSPECIFIED,
        )
    ),
)
"""What the monitor says of a handshake that another program answers, and whether ZeroMQ then
gives up (`tests/wire/test_again.py`)."""

FrameNote = Callable[[str, int, int, bytes], None]
"""Hears what happens: what, from whom, to whom, data."""


class Socket(Protocol):
    """What the network asks of a socket; see `posse.engines.simulated.sockets`."""

    process: Process

    @property
    def secret(self) -> bytes | None:
        """The secret key with which it listens."""

    @property
    def credentials(self) -> Credentials | None:
        """The keys with which it connects next."""

    @property
    def heartbeat(self) -> bool:
        """Whether it notices that the other end is silent."""

    @property
    def reconnect(self) -> tuple[float, float]:
        """Seconds between attempts to connect: at first, at most."""

    @property
    def connect_timeout(self) -> float:
        """Seconds after which an attempt is given up."""

    @property
    def handshake(self) -> float:
        """Seconds that a handshake may take."""

    def accepted(self, end: "LinkEnd") -> None:
        """A peer connected."""

    def connected(self, end: "LinkEnd") -> None:
        """This socket connected."""

    def lost(self, end: "LinkEnd") -> None:
        """A connection is gone."""

    def arrived(self, end: "LinkEnd", data: bytes) -> None:
        """A message came."""

    def monitor_says(self, event: int, value: int, address: str) -> None:
        """Report an event."""


@dataclass
class Path:
    """The way from one process to another: seconds, bytes per second, shares of frames.

    Frames of the share `lost` are gone; those of the share `resent` are sent again by the system,
    and those of the share `overtaken` come after others. `full`: sockets take no more.
    `cut`: connections are reset and refused. `foreign`: what answers a handshake is another
    program, or was damaged on its way. Frames of the share `garbled` are not what an honest peer
    would send. `dropped_since`: from then on no packet passes.
    """

    delay: float = 1e-4
    jitter: float = 5e-5
    lost: float = 0.0
    resent: float = 0.0
    twice: float = 0.0
    garbled: float = 0.0
    overtaken: float = 0.0
    bandwidth: float = math.inf
    full: bool = False
    cut: bool = False
    foreign: bool = False
    dropped_since: float | None = None

    @classmethod
    def under(cls, conditions: LinkConditions) -> "Path":
        """The way that a run file declares; what is lost the system sends again."""
        return cls(
            conditions.delay or 0.0,
            conditions.jitter or 0.0,
            resent=conditions.loss or 0.0,
            bandwidth=conditions.bandwidth or math.inf,
        )

    @property
    def passes(self) -> bool:
        """Whether packets pass."""
        return self.dropped_since is None


@dataclass(eq=False)
class LinkEnd:
    """One end of a connection. The last of what was sent to it is `due` then, and last `came`."""

    socket: Socket
    descriptor: int
    address: str
    name: bytes = b""
    key: str = ""
    open: bool = True
    peer: str = _HOST
    """The address from which the other end connected."""
    severed: bool = False
    """Whether an end's machine has lost the address over which it was connected."""
    due: float = 0.0
    came: float = 0.0
    free_at: float = 0.0
    cutoff: float = math.inf
    held: list[Callable[[], None]] = field(default_factory=list)
    other: "LinkEnd" = None  # type: ignore[assignment]
    connector: "Connector | None" = None

    @property
    def rank(self) -> int:
        """The process at this end."""
        return self.socket.process.rank


class SimulatedNetwork:
    """All connections of a simulation."""

    def __init__(self, schedule: TurnSchedule, note: FrameNote) -> None:
        self.schedule = schedule
        self.note = note
        self.listening: dict[str, Socket] = {}
        self.gates: dict[Process, SimulatedGate] = {}
        """What decides whom the sockets of a process with keys let in."""
        self.base = Path()
        self.most_waited = 0
        """Most messages that waited in a socket for one connection."""
        self.declared: Conditions | None = None
        """What a run file says of the link between two ranks."""
        self._paths: dict[tuple[int, int], Path] = {}
        self._ends: dict[LinkEnd, None] = {}
        self._ports = itertools.count(40_000)
        self._names = itertools.count(1)
        self._places: dict[str, int] = {}
        self._hosts: dict[int, str] = {}
        self._nowhere: set[str] = set()
        """Addresses that no machine has any more."""
        self._files: dict[Socket, SocketFile] = {}
        """Of the sockets that listen over ipc."""

    # --- paths -----------------------------------------------------------------------------------

    def path(self, source: int, target: int) -> Path:
        """The way from one rank to another."""
        ends = (source, target)
        if ends not in self._paths:
            declared = self.declared
            self._paths[ends] = (
                replace(self.base) if declared is None else Path.under(declared(source, target))
            )
        return self._paths[ends]

    def passes(self, a: int, b: int) -> bool:
        """Whether packets pass between these two, in both directions."""
        return self.path(a, b).passes and self.path(b, a).passes

    def cut(self, a: int, b: int) -> None:
        """Reset all connections between two processes, and refuse new ones."""
        self.path(a, b).cut = self.path(b, a).cut = True
        for end in self._between(a, b):
            if end.open:
                self.reset(end)

    def join(self, a: int, b: int) -> None:
        """Undo `cut`."""
        self.path(a, b).cut = self.path(b, a).cut = False

    def drop(self, source: int, target: int) -> None:
        """Drop all packets in this direction."""
        path = self.path(source, target)
        if path.passes:
            path.dropped_since = since = self.schedule.now
            for end in self._between(source, target):
                # a source's heartbeats are not answered; the other end's own ones still come
                if end.rank == target or not end.other.socket.heartbeat:
                    self._watch(end, lambda: path.dropped_since == since)

    def deliver_again(self, source: int, target: int) -> None:
        """Undo `drop`: what was held comes when the system sends it again."""
        path, now = self.path(source, target), self.schedule.now
        since, path.dropped_since = path.dropped_since, None
        if since is None:
            return
        due, wait = since, _RETRANSMIT
        while due < now:
            due, wait = due + wait, min(2 * wait, _LONGEST_RETRANSMIT)
        for end in [*self._ends]:
            if end.rank == target and end.other.rank == source and end.held:
                held, end.held = end.held, []
                end.due = max(due, end.due)
                for act in held:
                    self.schedule.call_at(end.due, act)

    def _between(self, a: int, b: int) -> Iterator[LinkEnd]:
        for end in [*self._ends]:
            if {end.rank, end.other.rank} == {a, b} and (a != b):
                yield end

    def ends_of(self, process: Process) -> list[LinkEnd]:
        """The open ends of a process."""
        return [end for end in self._ends if end.open and end.socket.process is process]

    def _watch(self, end: LinkEnd, silent: Callable[[], bool]) -> None:
        """Close this end if it is still silent after the heartbeat's patience."""

        def look() -> None:
            if not end.open or not silent():
                return
            rest = end.came + _SILENCE - self.schedule.now
            if rest > 0 or end.socket.process.stopped_at is not None:  # it notices when it goes on
                self.schedule.call_later(max(rest, 1.0), look)
            else:
                self.note("silence", end.other.rank, end.rank, b"")
                self.finish(end)
                self.lose(end)

        if end.open and end.socket.heartbeat:
            self.schedule.call_later(_SILENCE + self.schedule.random.random(), look)

    # --- processes -------------------------------------------------------------------------------

    def killed(self, process: Process, *, silently: bool = False) -> None:
        """Close the ends of a process, in order or, as with its machine, `silently`."""
        if (gate := self.gates.pop(process, None)) is not None:
            gate.close()
        chance = self.schedule.random
        for end in self.ends_of(process):
            other = end.other
            self._release(end)
            if silently:
                other.cutoff = self.schedule.now
                self._watch(other, lambda: True)
            else:
                if chance.random() < 0.5 and other.due > self.schedule.now:
                    other.cutoff = chance.uniform(self.schedule.now, other.due)
                self.finish(end)
        for socket in [*self.listening.values(), *self._files]:
            if socket.process is process:
                self.silence(socket)

    def host(self, rank: int) -> str:
        """The address of a process's machine."""
        return self._hosts.get(rank, _HOST)

    def move(self, rank: int) -> None:
        """The machine of a process has another address from now on."""
        self._hosts[rank] = f"127.1.{rank}.{next(self._names) % 250 + 1}"
        for address in [a for a, s in self.listening.items() if s.process.rank == rank]:
            del self.listening[address]
        self._nowhere.update(address for address, place in self._places.items() if place == rank)
        for end in [*self._ends]:
            if rank in (end.rank, end.other.rank):
                end.severed, end.cutoff = True, self.schedule.now
                self._watch(end, lambda: True)

    def stopped(self, process: Process) -> None:
        """A process was stopped: its ends say nothing any more."""
        since = process.stopped_at
        for end in self.ends_of(process):
            self._watch(end.other, lambda: process.stopped_at == since)

    def went_on(self, process: Process, after: float) -> None:
        """A process goes on: its own heartbeats may be overdue."""
        if after >= _SILENCE:
            for end in self.ends_of(process):
                if end.socket.heartbeat and self.schedule.random.random() < 0.5:
                    self.finish(end)
                    self.lose(end)

    # --- connections -----------------------------------------------------------------------------

    def listen(self, socket: Socket, address: str) -> str:
        """Listen at an address; returns it, with the port. `zmq.ZMQError` if it is taken."""
        if is_ipc(address):
            self._files[socket] = SocketFile(address.removeprefix("ipc://"))
        elif split(address)[0] != self.host(socket.process.rank) and address != _LOOPBACK:
            raise zmq.ZMQError(zmq.EADDRNOTAVAIL)
        elif address.endswith(":*"):
            address = f"{address[:-1]}{next(self._ports)}"
        elif address in self.listening:
            raise zmq.ZMQError(zmq.EADDRINUSE)
        self.listening[address] = socket
        self._places[address] = socket.process.rank
        return address

    def listener(self, address: str) -> Socket | None:
        """Who can be reached at an address; over ipc the file that is there must be its own."""
        socket = self.listening.get(address)
        file = self._files.get(socket) if socket is not None else None
        return socket if file is None or file.is_there else None

    def rank_at(self, address: str) -> int | None:
        """The rank that listened last at an address."""
        return self._places.get(address)

    def reaches(self, rank: int, address: str) -> bool:
        """Whether packets of a process reach this address, and their answers the process."""
        target = self.rank_at(address)
        return address not in self._nowhere and (target is None or self.passes(rank, target))

    def silence(self, socket: Socket) -> None:
        """Stop listening."""
        for address in [a for a, s in self.listening.items() if s is socket]:
            del self.listening[address]
        if (file := self._files.pop(socket, None)) is not None:
            file.close()

    def close(self) -> None:
        """Leave nothing behind."""
        for socket in [*self._files]:
            self.silence(socket)

    def _release(self, end: LinkEnd) -> None:
        end.open = False
        end.socket.process.descriptors.discard(end.descriptor)
        if not end.other.open and not end.held and not end.other.held:
            for gone in (end, end.other):
                if gone in self._ends:
                    del self._ends[gone]

    def establish(self, connector: "Connector", listener: Socket, key: str) -> None:
        """Two sockets are connected, the first of which has shown this key."""
        client = LinkEnd(
            connector.socket, new_descriptor(connector.socket.process), connector.address
        )
        number = next(self._names)
        server = LinkEnd(
            listener,
            new_descriptor(listener.process),
            connector.address,
            b"\0" + number.to_bytes(4, "big"),
            key,
        )
        client.other, server.other = server, client
        client.connector = connector
        here = is_ipc(connector.address)
        server.peer = f"localhost:0:0:{client.rank}" if here else self.host(client.rank)
        client.due = server.due = self.schedule.now
        self._ends |= {client: None, server: None}
        self.note("connected", client.rank, server.rank, b"")
        listener.accepted(server)
        connector.connected(client)

    def transmit(self, end: LinkEnd, data: bytes, arrive: Callable[[LinkEnd, bytes], None]) -> None:
        """Send data from this end to the other."""
        schedule, other = self.schedule, end.other
        path, chance = self.path(end.rank, other.rank), schedule.random
        if path.lost and _may_be_lost(data) and chance.random() < path.lost:
            self.note("lost", end.rank, other.rank, data)
            return
        self.note("sent", end.rank, other.rank, data)
        if path.garbled and chance.random() < path.garbled:
            data = garbled(data, chance)

        def land() -> None:
            if other.open and schedule.now <= other.cutoff:
                other.came = schedule.now
                self.note("came", end.rank, other.rank, data)
                arrive(other, data)

        times = 2 if path.twice and _is_resent(data) and chance.random() < path.twice else 1
        for _ in range(times):
            if not path.passes:
                other.held.append(land)
                continue
            took = len(data) / path.bandwidth
            other.free_at = max(other.free_at, schedule.now) + took
            delay = lateness(path.delay, path.jitter, path.resent, chance)
            other.due = max(other.due, other.free_at + delay)
            late = 0.0
            if path.overtaken and _is_resent(data) and chance.random() < path.overtaken:
                late = chance.uniform(0.0, _OVERTAKEN)
            schedule.call_at(other.due + late, land)

    def finish(self, end: LinkEnd) -> None:
        """This end closes: the other one hears of it after all that was sent."""
        other, path = end.other, self.path(end.rank, end.other.rank)
        if end.open:
            self._release(end)

        def lose() -> None:
            if other.open:
                self.lose(other)

        if other.severed:
            return
        if not path.passes:
            other.held.append(lose)
            return
        due = min(other.due, other.cutoff) if other.cutoff < math.inf else other.due
        self.schedule.call_at(max(due, self.schedule.now + path.delay), lose)

    def reset(self, end: LinkEnd) -> None:
        """A connection is reset at both ends; what is under way is lost."""
        self.note("reset", end.rank, end.other.rank, b"")
        other = end.other
        self.lose(end)
        if other.open:
            self.lose(other)

    def lose(self, end: LinkEnd) -> None:
        """The connection of this end is gone."""
        self._release(end)
        end.socket.lost(end)

    def shut(self, process: Process, descriptor: int) -> None:
        """A process closes a connection by its descriptor."""
        for end in self.ends_of(process):
            if end.descriptor == descriptor:
                self.finish(end)
                self.lose(end)
                return


def new_descriptor(process: Process) -> int:
    """The lowest free descriptor of a process, as the kernel gives it."""
    number = FIRST_DESCRIPTOR
    while number in process.descriptors:
        number += 1
    process.descriptors.add(number)
    return number


class SocketFile:
    """The file of a socket that listens over ipc: a real one's, for whoever looks or asks there."""

    def __init__(self, path: str) -> None:
        # ZeroMQ removes it, whatever the disk of its process does
        contextvars.Context().run(files.remove, pathlib.Path(path))
        self._path = path
        self._socket = sockets.socket(sockets.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen()
        self._inode = os.stat(path).st_ino

    @property
    def is_there(self) -> bool:
        """Whether nobody has removed or replaced it."""
        with suppress(FileNotFoundError):
            return os.stat(self._path).st_ino == self._inode
        return False

    def close(self) -> None:
        """Stop listening; the file stays."""
        self._socket.close()


class Connector:
    """What a socket that connects has for one address: a connection, or the attempts at one."""

    def __init__(self, network: SimulatedNetwork, socket: Socket, address: str) -> None:
        self.network, self.socket, self.address = network, socket, address
        self.credentials = socket.credentials
        self.end: LinkEnd | None = None
        self.closed = self.over = False
        """`over`: it has given up, and ZeroMQ has no queue for it."""
        self.until = math.inf
        """How long a socket that was closed still tries to send what waits."""
        self.waiting: list[bytes] = []
        self.topics: set[bytes] = set()
        self._interval = 0.0
        self.attempt = 0
        self._begin(0.0)

    def _begin(self, after: float) -> None:
        self.attempt += 1
        number = self.attempt
        schedule = self.network.schedule
        schedule.call_later(after, lambda: self._try(number, schedule.now, _ASK_AGAIN))

    def _again(self) -> None:
        """Try again after the socket's interval."""
        first, most = self.socket.reconnect
        self._interval = min(max(2 * self._interval, first), max(first, most))
        self.socket.monitor_says(zmq.EVENT_CONNECT_RETRIED, 0, self.address)
        self._begin(self._interval * self.network.schedule.random.uniform(1.0, 1.5))

    def _try(self, number: int, since: float, wait: float) -> None:
        network, socket = self.network, self.socket
        schedule, process = network.schedule, socket.process
        if number != self.attempt or schedule.now > self.until or not process.alive:
            return
        if process.stopped_at is not None:
            schedule.call_later(0.05, lambda: self._try(number, since, wait))
            return
        listener = network.listener(self.address)
        target = network.rank_at(self.address)
        near = process.rank
        limit = socket.connect_timeout
        if not network.reaches(near, self.address):
            if schedule.now + wait > since + limit:
                schedule.call_at(since + limit, self._again)
            else:
                schedule.call_later(wait, lambda: self._try(number, since, 2 * wait))
            return
        if listener is None or target is None or network.path(near, target).cut:
            self._again()
            return
        if network.path(target, near).foreign:
            self._answered_wrongly()
            return
        if listener.process.stopped_at is not None:
            if schedule.now >= since + socket.handshake:
                self.socket.monitor_says(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0, self.address)
                self.socket.monitor_says(zmq.EVENT_DISCONNECTED, 0, self.address)
                self._again()
            else:
                schedule.call_later(0.1, lambda: self._try(number, since, wait))
            return
        trip = network.path(near, target).delay + network.path(target, near).delay
        trip *= 2 if self.credentials is None else 4

        def shake() -> None:
            if self._may_go_on(number, listener):
                self._interval = 0.0
                shake_hands(self, listener, let_in)

        def let_in(key: str) -> None:
            if self._may_go_on(number, listener):
                network.establish(self, listener, key)

        schedule.call_later(trip, shake)

    def _may_go_on(self, number: int, listener: Socket) -> bool:
        """Whether this attempt can succeed; if it cannot now, there will be another."""
        network, process = self.network, self.socket.process
        if number != self.attempt or network.schedule.now > self.until or not process.alive:
            return False
        near, far = process.rank, listener.process.rank
        up = network.listener(self.address) is listener and listener.process.alive
        running = listener.process.stopped_at is None and process.stopped_at is None
        if not up or not running or network.path(near, far).cut or not network.passes(near, far):
            self._again()
            return False
        return True

    def refused(
        self,
        listener: Socket,
        there: tuple[int, int],
        here: tuple[int, int],
        *,
        for_good: bool = False,
    ) -> None:
        """The handshake failed, with these events at both ends; there is another unless `for_good`.

        What the monitors say of it comes at once, although an end may notice it later.
        """
        network, own = self.network, self.socket
        self.attempt += 1
        self.over = for_good
        what = "refused" if for_good else "not let in"
        network.note(what, own.process.rank, listener.process.rank, b"")
        for socket, (event, value), first in (
            (listener, there, zmq.EVENT_ACCEPTED),
            (own, here, zmq.EVENT_CONNECTED),
        ):
            if socket.process.alive:
                descriptor = new_descriptor(socket.process)
                socket.monitor_says(first, descriptor, self.address)
                socket.monitor_says(event, value, self.address)
                socket.monitor_says(zmq.EVENT_DISCONNECTED, descriptor, self.address)
                socket.process.descriptors.discard(descriptor)
        if not for_good and not self.closed and own.process.alive:
            self._again()

    def _answered_wrongly(self) -> None:
        """After such an answer ZeroMQ tries again as after a closed connection, or never."""
        self.attempt += 1
        own, chance = self.socket, self.network.schedule.random
        self.network.note("wrong answer", own.process.rank, own.process.rank, b"")
        answer, for_good = chance.choice(_WRONG_ANSWERS)
        own.monitor_says(zmq.EVENT_CONNECTED, 0, self.address)
        if answer is not None:
            own.monitor_says(*answer, self.address)
        own.monitor_says(zmq.EVENT_DISCONNECTED, 0, self.address)
        if for_good:
            self.over = True
        else:
            self._again()

    def connected(self, end: LinkEnd) -> None:
        """There is a connection: what waited goes."""
        self.end = end
        self.socket.connected(end)
        waiting, self.waiting = self.waiting, []
        for data in waiting:
            self.send(data)
        if self.closed:
            self.network.finish(end)

    def send(self, data: bytes) -> None:
        """Send data now, or over the next connection."""
        if self.end is None:
            self.waiting.append(data)
            network = self.network
            network.most_waited = max(network.most_waited, len(self.waiting))
        else:
            self.network.transmit(self.end, data, arrived)

    def lost(self) -> None:
        """The connection is gone."""
        self.end = None
        if not self.closed:
            self._again()

    def close(self, linger: float = 0.0) -> None:
        """Stop connecting; what was sent still goes out, for this many seconds."""
        self.closed = True
        self.until = self.network.schedule.now + (linger if self.waiting else -1.0)
        if self.end is not None and self.end.open:
            self.network.finish(self.end)


_ODD = (0, -1, 2**31, 2**53, 2**63 - 1, -(2**63), 1.5, math.nan, math.inf, True, None)
_ODD_TEXTS: tuple[Any, ...] = ("", "x", b"", b"x" * 32, [], {}, [[]], "\x1b[2J")


def garbled(data: bytes, chance: random.Random) -> bytes:
    """Data as a peer might send them that is broken or hostile: cut, flipped, or other values."""
    start = len(data) - len(content(data)) + HEADER.size
    if chance.random() < 0.3 or len(data) <= start:
        place = chance.randrange(len(data))
        flipped = data[place] ^ 1 << chance.randrange(8)
        return (
            data[:place]
            if chance.random() < 0.3
            else (data[:place] + bytes([flipped]) + data[place + 1 :])
        )
    try:
        message = msgspec.msgpack.decode(data[start:])  # noqa: TID251  (garbled on purpose)
        within = message
        while isinstance(within, list) and within:
            place = chance.randrange(len(within))
            if isinstance(within[place], list) and chance.random() < 0.7:
                within = within[place]
                continue
            within[place] = chance.choice((*_ODD, *_ODD_TEXTS, *within))
            break
        return data[:start] + msgspec.msgpack.encode(message)
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, TypeError):
        return data


def is_ipc(address: str) -> bool:
    """Whether an address is a file."""
    return address.startswith("ipc:")


def _may_be_lost(data: bytes) -> bool:
    """Whether the ends repeat this: all but subscriptions, and words that end a connection."""
    return _is_resent(data) or kind_of(data) in _REPEATED


def _is_resent(data: bytes) -> bool:
    """Whether it is of a session, be it within what the coordinator forwards."""
    return is_numbered(data) or data.startswith(FORWARD)


def arrived(end: LinkEnd, data: bytes) -> None:
    """Hand data to the socket of this end."""
    end.socket.arrived(end, data)
