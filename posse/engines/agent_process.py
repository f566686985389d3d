"""An agent's process: its sockets around its host."""

import os
import resource
import sys
import threading
import time
import traceback

import msgspec
import zmq

from posse.engines.links import LINK_DEADLINE, EachLink, Links, OneToAll, listen
from posse.engines.sockets import configure, heartbeat
from posse.engines.sources import of_this_machine
from posse.errors import PosseError, RunFailed
from posse.hosts.agent import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.endpoint import NEIGHBOURS
from posse.hosts.sources import ResourceMeter
from posse.systems import get_system
from protocol import control
from protocol.control import Resources
from protocol.errors import RemoteProtocolError
from protocol.machine import COORDINATOR
from protocol.wire import Codec, Message, encode, read_header, sent_at

_JOINING = Codec(control.TO_JOINING)
_SETUP = msgspec.msgpack.Decoder(AgentSetup)
_LISTEN_EVERY = 64
_MOST_AT_ONCE = 1_024
"""Frames kept before they are looked at, however many are waited for: a bound on what peers may
make an agent hold."""

_LOOK_UP_MS = 50
"""How long an agent listens to its neighbours alone."""


class ProcessResources(ResourceMeter):
    """Processor time and memory of this process."""

    def __init__(self) -> None:
        self._cpu = 0.0

    def begin(self) -> None:
        """See `ResourceMeter`."""
        self._cpu = time.process_time()

    def used(self) -> Resources:
        """See `ResourceMeter`. Memory shared with others counts in proportion where Linux tells."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return Resources(time.process_time() - self._cpu, peak, _proportional(peak))


def _proportional(otherwise: int) -> int:
    try:
        with open("/proc/self/smaps_rollup") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return otherwise


def _heed(leash: int) -> None:
    """Go when the leash is let go, whatever the agent is doing: nobody is left to hear of it."""
    while os.read(leash, 1):
        pass
    os._exit(0)


class AgentProcess:
    """Joins the coordinator at `endpoint`, then carries its host's frames until told to leave.

    `rank` -1 lets the coordinator choose. `inbox`: where neighbours reach this agent ("" if the
    system has no links between agents), a ZeroMQ address that may end in `:*`; it needs `system`,
    which says of what kind the links are. `leash` is a file descriptor whose other end is closed
    when the agent must go.
    """

    def __init__(
        self,
        endpoint: str,
        rank: int,
        token: str,
        inbox: str = "",
        leash: int | None = None,
        system: str = "",
    ) -> None:
        self._context = zmq.Context(io_threads=1)
        self._hub: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        configure(self._hub, deadline=60.0)
        heartbeat(self._hub, endpoint)
        self._poller = zmq.Poller()
        self._poller.register(self._hub, zmq.POLLIN)
        if leash is not None:
            threading.Thread(target=_heed, args=(leash,), daemon=True).start()
        self._inbox: zmq.Socket[bytes] | None = None
        self._links: Links | None = None
        self._host: AgentHost | None = None
        self._pending: tuple[AgentSetup, float] | None = None
        self._rank = rank
        self._join(endpoint, token, inbox, system)

    def _join(self, endpoint: str, token: str, inbox: str, system: str) -> None:
        """Ask to be let in. A local coordinator answers with `Configure`, when all are here."""
        self._hub.connect(endpoint)
        address = self._open_inbox(inbox, system) if inbox else ""
        self._say(control.Join(self._rank, token, address, os.getpid()))

    def _open_inbox(self, bind: str, system: str) -> str:
        """Let neighbours reach this agent; returns the address."""
        kind: type[OneToAll | EachLink] = OneToAll if get_system(system).broadcasts else EachLink
        self._links = kind(self._context, self._guard_link)
        self._inbox = self._context.socket(kind.inbox_type)
        configure(self._inbox, LINK_DEADLINE)
        self._inbox.setsockopt(zmq.RCVTIMEO, _LOOK_UP_MS)
        listen(self._inbox, self._rank)
        self._guard_inbox(self._inbox)
        self._inbox.bind(bind)
        self._poller.register(self._inbox, zmq.POLLIN)
        return self._inbox.getsockopt_string(zmq.LAST_ENDPOINT)

    def _guard_inbox(self, inbox: zmq.Socket[bytes]) -> None:
        """On this machine, in a private folder or on loopback, nobody is kept out."""

    def _guard_link(self, link: zmq.Socket[bytes], rank: int) -> None:
        """On this machine a neighbour's address is enough."""

    def serve(self) -> int:
        """Until told to leave; returns an exit code."""
        try:
            return self._loop()
        except PosseError as error:
            self._fail(str(error))
            return error.exit_code
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._fail(f"agent {self._rank} has a defect: {type(error).__name__}: {error}")
            return 70
        finally:
            self._close()
            for socket in (self._hub, self._inbox, self._links):
                if socket is not None:
                    socket.close()
            self._context.term()

    def _fail(self, reason: str) -> None:
        """Say why this agent cannot go on: to the coordinator, and here what it is not told."""
        if self._host is not None and self._host.field:
            print(f"posse: {reason}", file=sys.stderr)
        self._tell(reason)

    def _tell(self, reason: str) -> None:
        if self._host is not None and self._host.field:
            # the reason may quote rewards
            reason = f"agent {self._rank} cannot go on; its own log says why"
        self._say(control.Failed(reason[:4000]))

    def _close(self) -> None:
        """Before the sockets are closed."""

    def _loop(self) -> int:
        while True:
            host = self._host
            if host is not None and host.busy:
                for _ in range(_LISTEN_EVERY):
                    host.step()
                    if host.outbox or not host.busy:
                        break
                self._flush(host)
                ready = dict(self._poller.poll(0))
            elif self._inbox is None:
                # one socket to listen to: a poll before each frame would double its cost
                if not self._take(self._hub.recv()):
                    return 0
                continue
            elif host is not None and host.hears_neighbours_only:
                self._hear_neighbours(host, self._inbox)
                ready = dict(self._poller.poll(0))
            else:
                ready = dict(self._poller.poll(self._patience()))
            self._go_on_when_heard()
            if self._hub in ready and not self._drain_hub():
                return 0
            if self._inbox in ready:
                self._drain_inbox()

    def _drain_hub(self) -> bool:
        """Take what the coordinator sent; False if it said goodbye."""
        while True:
            try:
                frame = self._hub.recv(zmq.NOBLOCK)
            except zmq.Again:
                return True
            if not self._take(frame):
                return False

    def _take(self, frame: bytes) -> bool:
        """Take one frame of the coordinator's; False if it said goodbye."""
        host = self._host
        if host is None or not host.knows(frame):
            return self._lobby(frame)
        host.receive(COORDINATOR, frame)
        self._flush(host)
        return True

    def _hear_neighbours(self, host: AgentHost, inbox: zmq.Socket[bytes]) -> None:
        """Take neighbours' frames as they come, with one blocking receive each and no poll.

        Frames are looked at when as many are here as it takes: one after the other, with nothing
        in between, they cost a third of what they do each by itself. Comes back now and then to
        look at the hub.
        """
        listened = 0
        while listened < _LISTEN_EVERY:
            frames = self._listen(inbox, host)
            listened += len(frames) or _LISTEN_EVERY
            for frame, arrived in frames:
                host.receive(None, frame, arrived)
            acts = host.busy
            if acts:
                host.step()
            self._flush(host)
            if not host.hears_neighbours_only:
                return
            if acts:
                # the others must act before more arrives: let them, and find it all at once
                os.sched_yield()

    def _listen(self, inbox: zmq.Socket[bytes], host: AgentHost) -> list[tuple[bytes, int]]:
        """As many frames as the host waits for, or fewer if no more come, and when they came.

        What a neighbour sent that is a slot further on is not among those waited for.
        """
        receive, stamp, slot = inbox.recv, host.stamp, host.slot
        frames: list[tuple[bytes, int]] = []
        awaited = max(host.awaited, 1)
        try:
            while awaited > 0 and len(frames) < _MOST_AT_ONCE:
                frame = receive()
                frames.append((frame, stamp()))
                if sent_at(frame) <= slot:
                    awaited -= 1
        except zmq.Again:
            pass
        return frames

    def _drain_inbox(self) -> None:
        assert self._inbox is not None
        while True:
            try:
                frame = self._inbox.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            if self._host is not None:
                self._host.receive(None, frame)
                self._flush(self._host)

    def _lobby(self, frame: bytes) -> bool:
        """Take what concerns joining; False if this agent is to leave."""
        try:
            message = _JOINING.decode(read_header(frame), frame)
        except RemoteProtocolError:
            return True
        match message:
            case control.Configure(rank, setup):
                self._rank = rank
                decoded = _SETUP.decode(setup)
                self._begin(decoded, rank)
                return True
            case control.Refused(reason):
                raise PosseError(f"the coordinator refused this agent: {reason}")
            case control.Goodbye():
                return False
            case _:
                self._joining(message)
                return True

    def _joining(self, message: Message) -> None:
        """A step of joining that an agent on the coordinator's machine does not need."""

    def _begin(self, setup: AgentSetup, rank: int) -> None:
        """Link up with the neighbours; then make a host for what this agent was told."""
        self._host = None
        if self._links is not None:
            self._links.connect(setup.inboxes)
        self._pending = (setup, time.monotonic() + LINK_DEADLINE)
        self._go_on_when_heard()

    def _go_on_when_heard(self) -> None:
        """Make the host, which says `Ready`, once every neighbour would hear this agent."""
        if self._pending is None:
            return
        setup, deadline = self._pending
        deaf = self._links.deaf() if self._links is not None else []
        if not deaf:
            self._pending = None
            self._host = AgentHost(
                setup, self._rank, of_this_machine(self.stamp, ProcessResources())
            )
            self._flush(self._host)
        elif time.monotonic() > deadline:
            raise RunFailed(
                f"agent {self._rank} waited {LINK_DEADLINE:g} s for its neighbours "
                f"{', '.join(map(str, deaf))} to listen to it; is the way to their inboxes open?"
            )

    def _patience(self) -> int | None:
        """Milliseconds to listen at most; for ever where the coordinator minds the deadline."""
        return None if self._pending is None else _LOOK_UP_MS

    def stamp(self) -> int:
        """The clock for delays, in nanoseconds; here one clock for all agents."""
        return time.monotonic_ns()

    def _flush(self, host: AgentHost) -> None:
        if host.outbox:
            self._flush_frames(host.outbox)
            host.outbox.clear()

    def _flush_frames(self, frames: list[tuple[int, bytes]]) -> None:
        links = self._links
        for target, frame in frames:
            if target == COORDINATOR:
                self._hub.send(frame)
            elif target == NEIGHBOURS:
                assert links is not None
                links.to_all(frame)
            else:
                assert links is not None
                links.to_one(target, frame)

    def _say(self, message: Message) -> None:
        """Outside a run: joining and failing."""
        if self._host is not None:
            self._host.say(message)
            self._flush(self._host)
            return
        frame = encode(message, run=0, source=self._rank, sequence=0, now=0.0, sent=0)
        self._hub.send(frame)
