"""An agent's link to its coordinator: a DEALER, what its monitor tells, and the agent's session.

When the connection is lost ZeroMQ makes a new one. What was under way is lost with the old one;
the session keeps it until the coordinator has it.
"""

import math
import time
from collections.abc import Iterator

import zmq

from posse.durable.journal import Journal
from posse.durable.session import Session, SessionBroken, SessionFull, is_numbered
from posse.engines.door import AROUND, AROUND_WITH_KEYS
from posse.engines.effects import JoiningEffect
from posse.engines.joining import Closure, Joining
from posse.engines.links import Heard, Link, sender
from posse.engines.lookup import greets, unresolved
from posse.engines.sockets import (
    HANDSHAKE_FAILURES,
    LINK_DEADLINE,
    PROBE_EVERY,
    configure,
    happened,
    heartbeat,
    know_family,
    monitored,
    reconnect,
    why_failed,
)
from posse.engines.uplink_door import UplinkDoor
from posse.errors import PosseError, RunFailed
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with
from protocol.machine import COORDINATOR

_LOOK_MS = 200
"""How long a loop that listens to the coordinator alone does not look at the monitor."""

_LOOK_UP_EVERY = 1.0

_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | HANDSHAKE_FAILURES


class Uplink(Link):
    """See the module's text. As a `Link` it takes the frames of the session.

    `guarded`: somebody else started the coordinator, who may start it again; over tcp it is not to
    fill this machine's memory.

    Over ipc to the process that started this one it needs no monitor: both end together.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        endpoint: str,
        keys: AgentKeys | None = None,
        *,
        guarded: bool = False,
    ) -> None:
        self.door: UplinkDoor | None = None
        self._around = AROUND if keys is None else AROUND_WITH_KEYS
        self.monitor: zmq.Socket[bytes] | None = None
        self.socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        self._send, self._receive = sender(self.socket), self.socket.recv
        configure(self.socket, LINK_DEADLINE)
        self._endpoint = endpoint
        self.session = Session()
        self.journal: Journal | None = None
        """Where what the session takes is written down first."""
        self._up = False
        """Whether frames of the session may go, and come, over the connection that there is."""
        self._probe_at = 0.0
        fills = guarded and not endpoint.startswith("ipc:")
        if guarded or not endpoint.startswith("ipc:"):
            self.socket.setsockopt(zmq.RCVTIMEO, _LOOK_MS)
            heartbeat(self.socket)
            if fills:
                self.socket.setsockopt(zmq.RCVHWM, 0)
            reconnect(self.socket)
            self.monitor = monitored(self.socket, _WATCHED)
        if keys is not None:
            connect_with(self.socket, keys.own.public, keys.own.secret, keys.coordinator)
        self._look_up_at = 0.0
        """When the coordinator's name is looked up again; infinite once it meant something."""
        self._connect(0.0)
        if fills:
            self.door = UplinkDoor(endpoint)

    def _connect(self, now: float) -> None:
        """Connect, once the name means something; from then on ZeroMQ looks it up by itself."""
        if unresolved(self._endpoint):
            self._look_up_at = now + _LOOK_UP_EVERY
            return
        self._look_up_at = math.inf
        know_family(self.socket, self._endpoint)
        try:
            self.socket.connect(self._endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise PosseError(f"{self._endpoint} is not an address: {error.strerror}") from None

    def through(self, heard: Heard) -> None:
        """Hand what goes to what `heard` puts before the socket."""
        self._send = sender(heard(COORDINATOR, self.socket))

    # --- the session -----------------------------------------------------------------------------

    def begin(self) -> None:
        """From here on frames belong to a new session."""
        self.session = Session()
        self._up = True

    def resume(self, taken: int) -> None:
        """The coordinator took so many frames: send it the rest, and go on."""
        try:
            self.session.resume(taken)
        except SessionBroken as error:
            raise RunFailed(f"the coordinator is not the one it was: {error}") from None
        self._up = True
        self._answer()

    def send(self, data: bytes, /) -> None:
        try:
            numbered = self.session.wrap(data)
        except SessionFull:
            raise RunFailed("the coordinator does not take what this agent sends") from None
        if self._up:
            self._send(numbered)

    def say(self, frame: bytes) -> None:
        """Send a frame that is only for the connection that there is."""
        self._send(frame)

    def mind_time(self, now: float) -> None:
        """Now and then see to it that what was sent is confirmed."""
        if now >= self._look_up_at:
            self._connect(now)
        if self.monitor is not None and self._up and now >= self._probe_at:
            self._probe_at = now + PROBE_EVERY
            self.session.probe()
            self._answer()

    def confirm(self) -> None:
        """Confirm what was taken: nothing else will be sent."""
        self.session.confirm()
        self._answer()

    def ask(self) -> None:
        """Ask how much was taken: nothing is sent before that is known."""
        if self._up:
            self.session.ask()
            self._answer()

    def _answer(self) -> None:
        for data in self.session.replies:
            self._send(data)
        self.session.replies.clear()

    # --- what comes ------------------------------------------------------------------------------

    def wait(self) -> bytes | None:
        """The next frame, if it comes before the monitor is to be looked at, where there is one."""
        try:
            data = self._receive()
        except zmq.Again:
            return None
        if self.door is not None:
            self.door.taken += len(data) + self._around
        if not self._up and is_numbered(data):
            return None  # of a connection that is gone: it comes again
        session, journal = self.session, self.journal
        if journal is not None and is_numbered(data):
            frame = journal.take(COORDINATOR, session, data)
        else:
            frame = session.take(data)
        if session.replies:
            self._answer()
        return frame

    def frames(self) -> Iterator[bytes]:
        """What is here."""
        while int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            if (frame := self.wait()) is not None:
                yield frame

    def connections(self, joining: Joining, now: float) -> Iterator[JoiningEffect]:
        """Tell the machine of joining what happened to the connection; its effects."""
        assert self.monitor is not None
        for told in happened(self.monitor):
            match told.event:
                case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    if self.door is not None:
                        self.door.connected()
                    yield from joining.connected(time.time(), now)
                case zmq.EVENT_DISCONNECTED:
                    self._up = False
                    yield from joining.disconnected(now)
                case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                    yield from joining.not_let_in(Closure.NOT_UNDERSTOOD, why_failed(told.value))
                case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    yield from joining.not_let_in(Closure.UNKNOWN_KEY)
                case _ if greets(self._endpoint):
                    yield from joining.not_let_in(Closure.WITHOUT_A_WORD)

    def close(self) -> None:
        """Close it, after what was sent is on its way."""
        if self.door is not None:
            self.door.close()
        if self.monitor is not None:
            self.monitor.close(0)
        self.socket.close()
