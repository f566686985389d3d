"""Simulated sockets, as far as posse uses ZeroMQ's: the same names, flags and errors."""

import errno
import struct
from collections import deque
from collections.abc import Callable
from typing import Any

import zmq

from posse.engines.simulated.handshake import Credentials, SimulatedGate
from posse.engines.simulated.network import Connector, LinkEnd, SimulatedNetwork, arrived
from posse.engines.simulated.schedule import Killed, Process
from posse.security.zap import ZapStatus

_EVENT = struct.Struct("=hi")
_ROOM = 0.05
"""Seconds between looks whether a full queue has room."""
_NOBLOCK, _SNDMORE = int(zmq.NOBLOCK), int(zmq.SNDMORE)


class NothingHere(zmq.Again):
    """pyzmq's own takes long to make, and most looks find nothing."""

    def __init__(self) -> None:
        self.errno, self.strerror = zmq.EAGAIN, "nothing is here"


class SimulatedFrame:
    """A part of a message, with what is known of its sender."""

    more = False

    def __init__(self, data: bytes, end: LinkEnd) -> None:
        self.bytes = data
        self._end = end

    def __len__(self) -> int:
        return len(self.bytes)

    def get(self, what: int | str) -> int | str:
        """A property of its connection; `zmq.ZMQError` if it has none."""
        if what == zmq.SRCFD:
            return self._end.descriptor
        if what == "Peer-Address":
            return self._end.peer
        if what == "User-Id" and self._end.key:
            return self._end.key
        raise zmq.ZMQError(zmq.EINVAL)


class Readable:
    """What can be polled and read."""

    def __init__(self, process: Process, network: SimulatedNetwork) -> None:
        self.process = process
        self.closed = False
        self.network = network
        self.came: deque[Any] = deque()

    def arrives(self, what: Any) -> None:
        """Something came."""
        if not self.closed:
            self.came.append(what)
            self.process.wake()

    def poll(self, milliseconds: int | None = None) -> int:
        """Whether something is here, or comes within this time."""
        _await(self.process, self.network, [self], milliseconds)
        return zmq.POLLIN if self.came else 0


def _await(
    process: Process, network: SimulatedNetwork, sources: list[Readable], milliseconds: float | None
) -> None:
    """Wait until one of these has something, but no longer than this."""
    schedule = network.schedule
    if milliseconds == 0:
        if not process.alive:
            raise Killed
        return
    until = float("inf") if milliseconds is None or milliseconds < 0 else milliseconds / 1000
    until += schedule.now
    while schedule.now < until:
        for source in sources:
            if source.came:
                return
        process.wait(until)


class SimulatedPoller:
    """Waits for several sources. A look without waiting takes some time, or none would pass."""

    def __init__(self, process: Process, network: SimulatedNetwork) -> None:
        self._process, self._network = process, network
        self._sources: list[Readable] = []

    def register(self, source: Readable, flags: int = zmq.POLLIN) -> None:
        """Listen to a source."""
        self._sources.append(source)

    def unregister(self, source: Readable) -> None:
        """Stop listening to it."""
        self._sources.remove(source)

    def poll(self, milliseconds: float | None = None) -> list[tuple[Readable, int]]:
        """The sources that have something."""
        schedule = self._network.schedule
        if milliseconds == 0:
            self._process.wait(schedule.now + schedule.random.uniform(2e-5, 1e-4), deaf=True)
        else:
            _await(self._process, self._network, self._sources, milliseconds)
        return [(source, zmq.POLLIN) for source in self._sources if source.came]


class SimulatedMonitor(Readable):
    """A socket's monitor."""

    def __init__(self, process: Process, network: SimulatedNetwork, events: int) -> None:
        super().__init__(process, network)
        self.events = events

    def recv_multipart(self, flags: int = 0) -> list[bytes]:
        """The next event; `zmq.Again` if there is none."""
        if not self.poll(0):
            raise NothingHere
        event: list[bytes] = self.came.popleft()
        return event

    def setsockopt(self, option: int, value: int) -> None:
        """Any option is set already: there is room for every event."""

    def close(self, linger: int = 0) -> None:
        """Stop listening."""
        self.closed = True


class SimulatedSocket(Readable):
    """A socket of any of the types that posse uses."""

    def __init__(self, process: Process, network: SimulatedNetwork, kind: int) -> None:
        super().__init__(process, network)
        self._kind = kind
        self._options: dict[int, Any] = {}
        self._topics: list[bytes] = []
        self._peers: dict[bytes, LinkEnd] = {}
        self._connectors: dict[str, Connector] = {}
        self._monitor: SimulatedMonitor | None = None
        self._endpoint = ""
        self._to: LinkEnd | None = None
        self._half: tuple[bytes, LinkEnd] | None = None

    # --- options ---------------------------------------------------------------------------------

    def setsockopt(self, option: int, value: Any) -> None:
        """Set an option; those of subscriptions act at once."""
        if option in (zmq.SUBSCRIBE, zmq.UNSUBSCRIBE):
            is_new = option == zmq.SUBSCRIBE
            (self._topics.append if is_new else self._topics.remove)(value)
            for end in self._peers.values():
                self._subscribe(end, value, is_new=is_new)
        else:
            self._options[option] = value

    set = setsockopt

    def getsockopt(self, option: int) -> int:
        """The value of an option."""
        if option == zmq.EVENTS:
            return zmq.POLLIN if self.came else 0
        value: int = self._options.get(option, 0)
        return value

    get = getsockopt

    def getsockopt_string(self, option: int) -> str:
        """The address that was bound last."""
        return self._endpoint

    @property
    def heartbeat(self) -> bool:
        """Whether it notices that the other end is silent."""
        return bool(self._options.get(zmq.HEARTBEAT_IVL))

    @property
    def reconnect(self) -> tuple[float, float]:
        """Seconds between attempts to connect: at first, at most."""
        first = self._options.get(zmq.RECONNECT_IVL, 100) / 1000
        return first, self._options.get(zmq.RECONNECT_IVL_MAX, 0) / 1000

    @property
    def connect_timeout(self) -> float:
        """Seconds after which an attempt is given up; by default the system's."""
        return self._options.get(zmq.CONNECT_TIMEOUT, 0) / 1000 or 127.0

    @property
    def handshake(self) -> float:
        """Seconds that a handshake may take."""
        return float(self._options.get(zmq.HANDSHAKE_IVL, 30_000)) / 1000

    @property
    def secret(self) -> bytes | None:
        """The secret key with which it listens; None without keys."""
        return self._options[zmq.CURVE_SECRETKEY] if zmq.CURVE_SERVER in self._options else None

    @property
    def credentials(self) -> Credentials | None:
        """The keys with which it connects next; None without keys."""
        server = self._options.get(zmq.CURVE_SERVERKEY)
        return server and Credentials(self._options[zmq.CURVE_PUBLICKEY], server)

    # --- connections -----------------------------------------------------------------------------

    def bind(self, address: str) -> None:
        """Listen."""
        self._endpoint = self.network.listen(self, address)

    def connect(self, address: str) -> None:
        """Connect, now and whenever the connection is lost."""
        self._connectors[address] = Connector(self.network, self, address)

    def disconnect(self, address: str) -> None:
        """Stop connecting to this address."""
        if (connector := self._connectors.pop(address, None)) is None:
            raise zmq.ZMQError(errno.ENOENT)
        connector.close()
        others = [c.topics for c in self._connectors.values()]
        for topic in sorted(connector.topics):
            if not any(topic in topics for topics in others):
                self.arrives(b"\0" + topic)

    def accepted(self, end: LinkEnd) -> None:
        """A peer connected."""
        self._peers[end.name] = end
        self.monitor_says(zmq.EVENT_ACCEPTED, end.descriptor, self._endpoint)
        self.monitor_says(zmq.EVENT_HANDSHAKE_SUCCEEDED, end.descriptor, self._endpoint)
        for topic in self._topics:
            self._subscribe(end, topic, is_new=True)

    def _subscribe(self, end: LinkEnd, topic: bytes, *, is_new: bool) -> None:
        data = (b"\1" if is_new else b"\0") + topic
        self.network.transmit(end, data, _subscribed)

    def subscribed(self, end: LinkEnd, data: bytes) -> None:
        """A peer subscribed, or unsubscribed."""
        assert end.connector is not None
        (end.connector.topics.add if data[:1] == b"\1" else end.connector.topics.discard)(data[1:])
        self.arrives(data)

    def connected(self, end: LinkEnd) -> None:
        """This socket connected."""
        self.monitor_says(zmq.EVENT_CONNECTED, end.descriptor, end.address)
        self.monitor_says(zmq.EVENT_HANDSHAKE_SUCCEEDED, end.descriptor, end.address)

    def lost(self, end: LinkEnd) -> None:
        """A connection is gone."""
        self.monitor_says(zmq.EVENT_DISCONNECTED, end.descriptor, end.address)
        if end.connector is not None:
            end.connector.lost()
        else:
            self._peers.pop(end.name, None)

    def get_monitor_socket(self, events: int, address: str | None = None) -> SimulatedMonitor:
        """The monitor, which reports these events."""
        if self._monitor is None or self._monitor.closed:
            self._monitor = SimulatedMonitor(self.process, self.network, events)
        return self._monitor

    def disable_monitor(self) -> None:
        """Report nothing more."""
        self._monitor = None

    def monitor_says(self, event: int, value: int, address: str) -> None:
        """Report an event."""
        monitor = self._monitor
        if monitor is not None and event & monitor.events:
            monitor.arrives([_EVENT.pack(event, value), address.encode()])

    def close(self, linger: int | None = None) -> None:
        """Close it; what was sent still goes out."""
        if self.closed or not self.process.alive:
            return
        self.closed = True
        self.network.silence(self)
        lingers = self._options.get(zmq.LINGER, 0) if linger is None else linger
        for connector in self._connectors.values():
            connector.close(lingers / 1000)
        for end in list(self._peers.values()):
            if end.open:
                self.network.finish(end)
        self.monitor_says(zmq.EVENT_MONITOR_STOPPED, 0, "")

    # --- messages --------------------------------------------------------------------------------

    def arrived(self, end: LinkEnd, data: bytes) -> None:
        """A message came."""
        self.arrives((end.name, data, end))

    def recv(self, flags: int = 0, copy: bool = True) -> Any:
        """The next part; `zmq.Again` if none comes in time."""
        if self._half is not None:  # the content after the routing id
            (data, end), self._half = self._half, None
            return data if copy else SimulatedFrame(data, end)
        if not self.came:
            if flags & _NOBLOCK:
                if not self.process.alive:
                    raise Killed
                raise NothingHere
            _await(self.process, self.network, [self], self._options.get(zmq.RCVTIMEO, -1))
            if not self.came:
                raise NothingHere
        message = self.came.popleft()
        self.process.reads()
        if self._kind == zmq.XPUB:
            return message
        name, data, end = message
        if self._kind == zmq.ROUTER:
            self._half = data, end
            return name
        return data if copy else SimulatedFrame(data, end)

    def send(self, data: bytes, flags: int = 0) -> None:
        """Send a part; to a peer that is gone it raises `zmq.ZMQError`."""
        if not self.process.alive:
            raise Killed
        if self._kind == zmq.ROUTER:
            if flags & _SNDMORE:
                if (end := self._peers.get(data)) is None:
                    raise zmq.ZMQError(zmq.EHOSTUNREACH)
                self._await_room(end.other.rank, flags)
                self._to = end
            elif self._to is not None:
                self.network.transmit(self._to, data, arrived)
                self._to = None
            return
        if self._kind != zmq.XPUB:
            self._await_queue(flags)
        for connector in self._connectors.values():
            if self._kind != zmq.XPUB or data.startswith(tuple(connector.topics)):
                target = self.network.rank_at(connector.address)
                self._await_room(self.process.rank if target is None else target, flags)
                connector.send(data)

    def _await_queue(self, flags: int) -> None:
        """Wait while no connection is tried, as none has a queue then."""
        until = self.network.schedule.now + self._options.get(zmq.SNDTIMEO, -1) / 1000
        while all(connector.over for connector in self._connectors.values()):
            if flags & _NOBLOCK or self.network.schedule.now >= until:
                raise NothingHere
            self.process.wait(min(until, self.network.schedule.now + _ROOM), deaf=True)

    def _await_room(self, target: int, flags: int) -> None:
        """Wait while the queue to this process is full; `zmq.Again` if it stays so."""
        path, schedule = self.network.path(self.process.rank, target), self.network.schedule
        until = schedule.now + self._options.get(zmq.SNDTIMEO, -1) / 1000
        while path.full:
            if flags & _NOBLOCK or schedule.now >= until:
                raise NothingHere
            self.process.wait(min(until, schedule.now + _ROOM), deaf=True)

    def send_multipart(self, parts: tuple[bytes, bytes], flags: int = 0) -> None:
        """Send a message of two parts, the first of them its routing id."""
        self.send(parts[0], flags | zmq.SNDMORE)
        self.send(parts[1], flags)


def _subscribed(end: LinkEnd, data: bytes) -> None:
    assert isinstance(end.socket, SimulatedSocket)
    end.socket.subscribed(end, data)


class SimulatedContext:
    """Makes the sockets of a process."""

    def __init__(self, process: Process, network: SimulatedNetwork) -> None:
        self._process, self._network = process, network

    def guard(
        self,
        decide: Callable[[str], ZapStatus],
        refused: Callable[[str, str], None],
        clock: Callable[[], float],
    ) -> None:
        """See `World.authenticate`."""
        gate = SimulatedGate(self._process, self._network.schedule, decide, refused, clock)
        self._network.gates[self._process] = gate

    def socket(self, kind: int) -> SimulatedSocket:
        """A new socket."""
        return SimulatedSocket(self._process, self._network, kind)
