"""The coordinator's sockets: who has joined, and the loop that carries its host's frames."""

import errno
import math
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from posse.engines.roster import SUPERSEDED, Member, NotAdmitted, Roster
from posse.engines.socket_bytes import SocketBytes
from posse.engines.sockets import configure, heartbeat, why_failed
from posse.errors import PosseError, RunFailed
from posse.hosts.agent import AgentSetup
from posse.hosts.coordinator import CoordinatorHost
from posse.log import LOG
from posse.results.record import RunRecord
from posse.security.keys import CoordinatorKeys
from posse.security.zap import Gate, Verdict, key_of, serve_with
from protocol import control
from protocol.errors import RemoteProtocolError
from protocol.machine import COORDINATOR
from protocol.wire import Codec, Message, encode, kind_of, read_header

_LOBBY = Codec(control.TO_LOBBY)
_WATCHED = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
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
    with the right key or token. What strangers send is refused and counted in `refused`.
    """

    def __init__(
        self,
        bind: str,
        agents: int,
        token: str,
        deadline: float,
        keys: CoordinatorKeys | None = None,
        configuration: dict[str, str] | None = None,
        system: str = "",
    ) -> None:
        self.refused: Counter[str] = Counter()
        self.on_join: Callable[[int], None] = lambda joined: None
        self.roster = Roster(agents, token, keys, configuration)
        self.completed = 0
        self.frames = 0
        self._missing: Callable[[], list[int]] = list
        self._waiting = ""
        self.changed = False
        """Whether somebody joined since all were configured."""
        self._agents = agents
        self._deadline = deadline
        self._system = system
        self._running = False
        self._survivor: CoordinatorHost | None = None
        self._ready: set[int] = set()
        self._setups: list[AgentSetup] = []
        self._turned_away: deque[tuple[str, str]] = deque()
        self._operators: set[int] = set()
        """File descriptors of those who asked for the status; they come and go."""
        self._deaths: tuple[int, Callable[[], tuple[int | None, str]]] | None = None
        self._context = zmq.Context(io_threads=1)
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        configure(self._socket, deadline)
        heartbeat(self._socket, bind)
        if keys is not None:
            self._guard(keys)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        try:
            self._socket.bind(bind)
        except zmq.ZMQError as error:
            self._socket.close()
            self._context.term()
            raise PosseError(f"{bind} cannot be bound: {_why_unbound(error)}") from None
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._monitor = self._socket.get_monitor_socket(_WATCHED)
        self._socket_bytes = SocketBytes()
        self._woken, self._wake = os.pipe()
        self._socket.setsockopt(zmq.RCVTIMEO, int(_LOOK * 1000))
        self._poller = zmq.Poller()
        self._poller.register(self._monitor, zmq.POLLIN)
        self._poller.register(self._woken, zmq.POLLIN)

    @property
    def inboxes(self) -> dict[int, str]:
        """Where each agent that joined is reached by its neighbours."""
        return {rank: member.inbox for rank, member in self.roster.members.items()}

    def watch(self, fd: int, describe: Callable[[], tuple[int | None, str]]) -> None:
        """When `fd` is readable ask `describe` which agent is gone, and why, in a sentence.

        That ends the run, unless its server's machine can do without the agent.
        """
        self._deaths = (fd, describe)
        self._poller.register(fd, zmq.POLLIN | zmq.POLLERR)

    def interrupt(self) -> None:
        """From another thread: end the wait under way."""
        os.write(self._wake, b"x")

    def gather(self) -> None:
        """Wait until every agent has joined."""
        self._until(
            lambda: not self.roster.missing(),
            self.roster.missing,
            "to join",
            self._lobby,
        )

    def configure(self, setups: list[AgentSetup]) -> None:
        """Tell every agent what it may know, and wait until each is ready."""
        self._ready.clear()
        self.changed = False
        self._setups = setups
        for rank in range(self._agents):
            self._configure(rank)
        self._until(
            lambda: len(self._ready) == self._agents,
            lambda: [n for n in range(self._agents) if n not in self._ready],
            "to be ready",
            self._lobby,
        )
        self._setups = []

    def _configure(self, rank: int) -> None:
        setup = msgspec.msgpack.encode(self._setups[rank])
        self._say(rank, control.Configure(rank, setup))

    def carry(self, host: CoordinatorHost) -> RunRecord:
        """Carry the host's frames until its run is complete."""

        def take(identity: bytes, frame: bytes) -> bool:
            member = self.roster.by_identity.get(identity)
            if member is None:
                return False
            if not member.arrived:  # it comes back, for the next run
                return self._lobby(identity, frame)
            member.heard = time.monotonic()
            member.last = frame
            self.frames += 1
            host.receive(member.rank, frame)
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

        def silence() -> bool:
            ended = host.fall_silent()
            self._flush(host)
            return ended

        self._running = True
        self._survivor = host if host.outlives_agents else None
        try:
            self._until(
                lambda: host.record is not None,
                host.waiting_for,
                "to act",
                take,
                lambda: host.timer,
                fire,
                silence,
                lambda: host.trouble,
            )
        finally:
            self._running = False
            self._survivor = None
        self.refused = Counter()
        assert host.record is not None
        self.completed += 1
        host.record.refused = dict(host.refused)
        host.record.communication["socket_bytes"] = self._socket_bytes.counted()
        return host.record

    def close(self) -> None:
        """Say goodbye and free everything."""
        for rank in self.roster.members:
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
        silence: Callable[[], bool] = lambda: False,
        trouble: Callable[[], str] = lambda: "",
    ) -> None:
        """Take frames until `done`. The deadline counts from the last honest frame.

        When it has passed `silence` is asked whether that is a result. `fire` is called when
        `timer`, in seconds of `time.monotonic`, has passed.
        """
        self._missing = missing
        self._waiting = what
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
            elif now >= heard + self._deadline and silence():
                heard = now
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
        if identity not in self.roster.by_identity:
            return self._stranger(identity, self._socket.recv(copy=False))
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
            rank, why = self._deaths[1]()
            if rank is None or self._survivor is None:
                raise RunFailed(why)
            LOG.warning("%s; the run goes on without it", why)
            self._survivor.lose(rank)
            self._flush(self._survivor)

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
            elif event["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self._report_turned_away()
            elif event["event"] == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                self.refused["handshake"] += 1
                LOG.warning("refused a connection: %s", why_failed(event["value"]))
            elif event["event"] == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                self.refused["handshake"] += 1
                LOG.warning(
                    "a connection was closed in the handshake: the other side may have keys and "
                    "this one none, or it went away"
                )
            else:
                self._socket_bytes.disconnected(event["value"])
                if event["value"] in self._operators:
                    self._operators.remove(event["value"])
                    continue
                self.refused["connection-dropped"] += 1
                self._lose(event["value"])

    def _lose(self, connection: int) -> None:
        member = self.roster.lost(connection)
        if member is None:
            return
        if self._running and self._survivor is None:
            raise RunFailed(_gone(member.rank))
        LOG.warning(
            "the connection of agent %d was lost; %s",
            member.rank,
            "the run goes on without it" if self._running else "waiting for it to join again",
        )
        if self._survivor is not None:
            self._survivor.lose(member.rank)
            self._flush(self._survivor)

    def _guard(self, keys: CoordinatorKeys) -> None:
        """Let only keys of the allowlist connect."""

        def decide(key: str) -> Verdict:
            return Verdict.NO if keys.rank_of(key) is None else Verdict.YES

        def refused(address: str, key: str) -> None:
            self._turned_away.append((address, key))

        Gate(self._context, decide, refused)
        serve_with(self._socket, keys.own.secret)

    def _report_turned_away(self) -> None:
        while self._turned_away:
            address, key = self._turned_away.popleft()
            self.refused["stranger-key"] += 1
            LOG.warning(
                "refused %s: its key %s is not in the allowlist; if it belongs here, add it and "
                "start the coordinator again",
                address,
                key,
            )

    def _lobby(self, identity: bytes, frame: bytes) -> bool:
        """Take what agents say outside of runs."""
        member = self.roster.by_identity[identity]
        member.heard = time.monotonic()
        member.last = frame
        try:
            message = _LOBBY.decode(read_header(frame), frame)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            return False
        match message:
            case control.Ready():
                self._ready.add(member.rank)
            case control.Sync(sent):
                self._reply(identity, control.Synced(sent, time.monotonic_ns()))
            case control.Arrived(inbox):
                member.inbox = inbox
                member.arrived = True
                LOG.info("agent %d joined (%d of %d)", member.rank, *self._counts())
                self.on_join(self.roster.arrived())
                if self._setups:  # it came back while the others were being configured
                    self._configure(member.rank)
            case control.Failed(reason):
                raise RunFailed(reason)
            case _:
                self.refused["out-of-turn"] += 1
                return False
        return True

    def _counts(self) -> tuple[int, int]:
        return self.roster.arrived(), self._agents

    def _stranger(self, identity: bytes, part: zmq.Frame) -> bool:
        """A frame of a peer that has not joined: the only one allowed is `Join`."""
        frame = part.bytes
        if self._socket.get(zmq.RCVMORE):
            self._skip()
            self.refused["malformed"] += 1
            return False
        try:
            message = _LOBBY.decode(read_header(frame), frame)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            return False
        # a connection that is gone may have had this one's file descriptor
        self._connections()
        connection = int(part.get(zmq.SRCFD))
        if isinstance(message, control.Ask) and self.roster.is_operator(key_of(part)):
            self._operators.add(connection)
            self._reply(identity, control.Status(msgspec.json.encode(self.status())))
            return False
        if not isinstance(message, control.Join):
            self.refused["never-joined"] += 1
            return False
        try:
            member, old = self.roster.admit(message, identity, key_of(part), connection)
        except NotAdmitted as error:
            self.refused[error.kind] += 1
            LOG.warning("refused agent %s: %s", _asked(message.rank), error.reason)
            self._reply(identity, control.Refused(error.reason))
            return False
        if old is not None:
            self._replace(member, old)
        self.changed = True
        if member.incarnation:
            self._reply(identity, control.Welcome(member.rank, self._system))
        else:
            self.on_join(self.roster.arrived())
        return True

    def status(self) -> dict[str, Any]:
        """Who is up, when they were last heard, what is waited for; also asked by other threads."""
        now = time.monotonic()
        members = sorted(self.roster.members.values(), key=lambda m: m.rank)
        here = [member for member in members if member.arrived]
        return {
            "agents": self._agents,
            "arrived": self.roster.arrived(),
            "running": self._running,
            "runs_completed": self.completed,
            "waiting_for": self._missing(),
            "waiting": self._waiting,
            "heard_seconds_ago": {m.rank: round(now - m.heard, 3) for m in here},
            "heard": {m.rank: kind_of(m.last) for m in here},
            "frames": self.frames,
            "refused": dict(self.refused),
        }

    def _replace(self, member: Member, old: Member) -> None:
        """A newer incarnation, or a new connection of the same one, takes an agent's place."""
        again = member.incarnation == old.incarnation
        if not again and old.connection >= 0:
            LOG.warning("agent %d was started again; the older one is told to stop", member.rank)
            self._reply(
                old.identity,
                control.Refused(SUPERSEDED),
            )
        if self._survivor is not None:
            self._survivor.lose(member.rank)
            self._flush(self._survivor)
        elif self._running:
            raise RunFailed(
                f"agent {member.rank} "
                + ("lost its connection" if again else "was started again")
                + " in the middle of a run, and what it sent may be lost; start the run again"
            )

    def _flush(self, host: CoordinatorHost) -> None:
        for rank, frame in host.outbox:
            self._send(rank, frame)
        host.outbox.clear()

    def _say(self, rank: int, message: Message) -> None:
        self._send(rank, encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0))

    def _send(self, rank: int, frame: bytes) -> None:
        try:
            self._socket.send(self.roster.members[rank].identity, zmq.SNDMORE)
            self._socket.send(frame)
        except zmq.Again:
            raise RunFailed(f"agent {rank} does not read what it is sent") from None
        except zmq.ZMQError as error:
            # that it is gone will be said too, and then the run goes on without it
            if self._survivor is None:
                raise RunFailed(_gone(rank)) from error

    def _reply(self, identity: bytes, message: Message) -> None:
        """An answer to a stranger, who may be gone."""
        frame = encode(message, run=0, source=COORDINATOR, sequence=0, now=0.0, sent=0)
        try:
            self._socket.send_multipart((identity, frame), zmq.NOBLOCK)
        except zmq.ZMQError:
            self.refused["unreachable"] += 1


def _gone(rank: int) -> str:
    return (
        f"the connection of agent {rank} was lost: its process ended, or the network between it "
        "and the coordinator; what it sent may be lost, start the run again"
    )


def _asked(rank: int) -> str:
    return str(rank) if rank >= 0 else "(rank not said)"


def _why_unbound(error: zmq.ZMQError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use; stop who uses it, or choose another"
    if error.errno in (errno.ENODEV, errno.EADDRNOTAVAIL):
        return "this machine has no such address; tcp://0.0.0.0:PORT is all of them"
    return f"{error.strerror}"
