"""The coordinator's sockets: who has joined, and the loop that carries its host's frames."""

import math
import os
import time
from collections import Counter
from collections.abc import Callable

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from posse.agent_host import AgentSetup
from posse.coordinator_host import CoordinatorHost
from posse.engines.socket_bytes import SocketBytes
from posse.engines.sockets import configure, heartbeat
from posse.errors import PosseError, RunFailed
from posse.record import RunRecord
from protocol import control
from protocol.errors import RemoteProtocolError
from protocol.machine import COORDINATOR
from protocol.wire import Codec, Message, encode, read_header

_LOBBY = Codec((control.Join, control.Ready, control.Failed))
_NAMED = 10
_LOOK = 0.02
"""Seconds between looks at what is no frame. A poll of everything before each frame would double
what a frame costs."""


def names(ranks: list[int]) -> str:
    """Agents by rank for a person: the first ten, and how many more."""
    shown = ", ".join(map(str, ranks[:_NAMED]))
    more = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"agent{'s' if len(ranks) > 1 else ''} {shown}{more}"


class Hub:
    """A ROUTER socket and the agents behind it.

    A peer is known by the identity that ZeroMQ gave its connection, bound to a rank when it joins
    with the right token. What strangers send is refused and counted in `refused`.
    """

    def __init__(self, bind: str, agents: int, token: str, deadline: float) -> None:
        self.refused: Counter[str] = Counter()
        self.on_join: Callable[[int], None] = lambda joined: None
        self._agents = agents
        self._token = token
        self._deadline = deadline
        self._ranks: dict[bytes, int] = {}
        self._identities: dict[int, bytes] = {}
        self._inboxes: dict[int, str] = {}
        self._ready: set[int] = set()
        self._deaths: tuple[int, Callable[[], str | None]] | None = None
        self._context = zmq.Context(io_threads=1)
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        configure(self._socket, deadline)
        heartbeat(self._socket, bind)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        try:
            self._socket.bind(bind)
        except zmq.ZMQError as error:
            self._socket.close()
            self._context.term()
            raise PosseError(f"{bind} cannot be bound: {error.strerror}") from None
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._socket_bytes = SocketBytes()
        self._woken, self._wake = os.pipe()
        self._socket.setsockopt(zmq.RCVTIMEO, int(_LOOK * 1000))
        self._poller = zmq.Poller()
        self._poller.register(self._monitor, zmq.POLLIN)
        self._poller.register(self._woken, zmq.POLLIN)

    @property
    def inboxes(self) -> dict[int, str]:
        """Where each agent that joined is reached by its neighbours."""
        return self._inboxes

    def watch(self, fd: int, describe: Callable[[], str | None]) -> None:
        """When `fd` is readable ask `describe`; a sentence from it ends the run."""
        self._deaths = (fd, describe)
        self._poller.register(fd, zmq.POLLIN | zmq.POLLERR)

    def interrupt(self) -> None:
        """From another thread: end the wait under way."""
        os.write(self._wake, b"x")

    def gather(self) -> None:
        """Wait until every agent has joined."""
        self._until(
            lambda: len(self._identities) == self._agents,
            lambda: [n for n in range(self._agents) if n not in self._identities],
            "to join",
            self._lobby,
        )

    def configure(self, setups: list[AgentSetup]) -> None:
        """Tell every agent what it may know, and wait until each is ready."""
        self._ready.clear()
        encoder = msgspec.msgpack.Encoder()
        for rank, setup in enumerate(setups):
            self._say(rank, control.Configure(rank, encoder.encode(setup)))
        self._until(
            lambda: len(self._ready) == self._agents,
            lambda: [n for n in range(self._agents) if n not in self._ready],
            "to be ready",
            self._lobby,
        )

    def carry(self, host: CoordinatorHost) -> RunRecord:
        """Carry the host's frames until its run is complete."""

        def take(identity: bytes, frame: bytes) -> bool:
            rank = self._ranks.get(identity)
            if rank is None:
                self._stranger(identity, frame)
                return False
            host.receive(rank, frame)
            self._flush(host)
            return True

        host.refused.update(self.refused)
        self.refused = host.refused
        self._socket_bytes.begin()
        host.begin()
        self._flush(host)

        def fire() -> None:
            host.fire()
            self._flush(host)

        self._until(
            lambda: host.record is not None,
            host.waiting_for,
            "to act",
            take,
            lambda: host.timer,
            fire,
            trouble=lambda: host.trouble,
        )
        self.refused = Counter()
        assert host.record is not None
        host.record.refused = dict(host.refused)
        host.record.communication["socket_bytes"] = self._socket_bytes.counted()
        return host.record

    def close(self) -> None:
        """Say goodbye and free everything."""
        for rank in self._identities:
            try:
                self._say(rank, control.Goodbye())
            except PosseError:
                continue
        self._socket.disable_monitor()
        self._monitor.close()
        self._socket_bytes.close()
        self._socket.close(linger=500)
        self._context.term()
        os.close(self._woken)
        os.close(self._wake)

    def _until(
        self,
        done: Callable[[], bool],
        missing: Callable[[], list[int]],
        what: str,
        take: Callable[[bytes, bytes], bool],
        timer: Callable[[], float] = lambda: math.inf,
        fire: Callable[[], None] = lambda: None,
        trouble: Callable[[], str] = lambda: "",
    ) -> None:
        """Take frames until `done`. The deadline counts from the last honest frame.

        `fire` is called when `timer`, in seconds of `time.monotonic`, has passed.
        """
        heard = now = time.monotonic()
        look = now + _LOOK
        while not done():
            if self._receive(take):
                heard = now
            now = time.monotonic()
            if now < look:
                continue
            look = now + _LOOK
            self._look()
            if now >= timer():
                fire()
            elif now >= heard + self._deadline:
                raise RunFailed(
                    f"nothing was heard for {self._deadline:g} s; waiting for "
                    f"{names(missing())} {what}{trouble()}"
                )

    def _receive(self, take: Callable[[bytes, bytes], bool]) -> bool:
        """Take one frame if there is one or one comes within `_LOOK`; whether it was honest."""
        receive = self._socket.recv
        try:
            identity = receive()
        except zmq.Again:
            return False
        # ROUTER puts the identity before what was sent, which has one part or more
        frame = receive()
        if self._socket.get(zmq.RCVMORE):
            self._skip()
            self.refused["malformed"] += 1
            return False
        return take(identity, frame)

    def _look(self) -> None:
        """See to what is no frame: an interruption, connections, deaths."""
        ready = dict(self._poller.poll(0))
        if self._woken in ready:
            raise RunFailed("the run was interrupted")
        if self._monitor in ready:
            self._connections()
        if self._deaths is not None and self._deaths[0] in ready:
            death = self._deaths[1]()
            if death:
                raise RunFailed(death)

    def _skip(self) -> None:
        """Drop the parts left of a message that has too many."""
        while self._socket.get(zmq.RCVMORE):
            self._socket.recv()

    def _connections(self) -> None:
        """A connection came, or ZeroMQ closed one: oversized frame, bad framing, peer gone."""
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)
            if event["event"] == zmq.EVENT_ACCEPTED:
                self._socket_bytes.accepted(event["value"])
            else:
                self.refused["connection-dropped"] += 1

    def _lobby(self, identity: bytes, frame: bytes) -> bool:
        """Take what concerns joining."""
        rank = self._ranks.get(identity)
        if rank is None:
            return self._stranger(identity, frame)
        try:
            message = _LOBBY.decode(read_header(frame), frame)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            return False
        match message:
            case control.Ready():
                self._ready.add(rank)
            case control.Failed(reason):
                raise RunFailed(reason)
            case _:
                self.refused["out-of-turn"] += 1
                return False
        return True

    def _stranger(self, identity: bytes, frame: bytes) -> bool:
        """A frame of a peer that has not joined: the only one allowed is `Join`."""
        try:
            message = _LOBBY.decode(read_header(frame), frame)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            return False
        if not isinstance(message, control.Join):
            self.refused["never-joined"] += 1
            return False
        reason = ""
        rank = message.rank
        free = [n for n in range(self._agents) if n not in self._identities]
        if message.token != self._token:
            reason = "its token is not this run's"
        elif not free:
            reason = f"all {self._agents} agents are here"
        elif rank >= self._agents or rank in self._identities:
            reason = f"rank {rank} is taken or not below {self._agents}"
        if reason:
            self.refused["join"] += 1
            self._reply(identity, control.Refused(reason))
            return False
        rank = free[0] if rank < 0 else rank
        self._ranks[identity] = rank
        self._identities[rank] = identity
        self._inboxes[rank] = message.inbox
        self.on_join(len(self._identities))
        return True

    def _flush(self, host: CoordinatorHost) -> None:
        for rank, frame in host.outbox:
            self._send(rank, frame)
        host.outbox.clear()

    def _say(self, rank: int, message: Message) -> None:
        self._send(rank, encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0))

    def _send(self, rank: int, frame: bytes) -> None:
        try:
            self._socket.send(self._identities[rank], zmq.SNDMORE)
            self._socket.send(frame)
        except zmq.Again:
            raise RunFailed(f"agent {rank} does not read what it is sent") from None
        except zmq.ZMQError as error:
            raise RunFailed(f"agent {rank} is gone: {error.strerror}") from None

    def _reply(self, identity: bytes, message: Message) -> None:
        """An answer to a stranger, who may be gone."""
        frame = encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0)
        try:
            self._socket.send_multipart((identity, frame), zmq.NOBLOCK)
        except zmq.ZMQError:
            self.refused["unreachable"] += 1
