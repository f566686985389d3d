"""An agent's link to its coordinator: a DEALER socket, its monitor, and the agent's session.

When the connection is lost ZeroMQ makes a new one, but frames under way are lost with the old one.
The session keeps them until the coordinator has them.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress

import zmq

from posse.agent.states import Closure, Connected, Disconnected, NotLetIn
from posse.errors import PosseError, RunFailed
from posse.gates.signatures import SignedRegister
from posse.protocol.machine import COORDINATOR
from posse.protocol.signing import Signer
from posse.security.keys import AgentKeys
from posse.security.zap import connect_with
from posse.wire.again import WATCHED, Again, Became
from posse.wire.door import AROUND, AROUND_WITH_KEYS
from posse.wire.line import Interceptor, Line
from posse.wire.links import patient, sender
from posse.wire.lookup import unresolved
from posse.wire.orders import CheckingLine
from posse.wire.session import Session, SessionBroken, is_numbered
from posse.wire.sockets import (
    HANDSHAKE_FAILURES,
    LINK_DEADLINE,
    NOT_OURS,
    MonitorEvent,
    configure,
    heartbeat,
    know_family,
    monitor_events,
    monitored,
    reconnect,
    why_failed,
)
from posse.wire.uplink_door import UplinkDoor
from posse.wire.world import HERE, World

_LOOK_MS = 200
"""Milliseconds between looks at the monitor, in a loop that listens to the coordinator alone."""

_LOOK_UP_EVERY = 1.0

_LONGEST_WAIT = 2.0
"""Seconds between attempts at most, as between ZeroMQ's own (`posse.wire.sockets.reconnect`)."""


class Uplink:
    """See the module's text. Its `line` carries frames to the coordinator.

    `guarded`: the coordinator was started by others, who may start it again. Over tcp it must not
    be able to fill this machine's memory. `book` keeps what it orders and signs; `who` gives this
    agent's rank and incarnation.

    Over ipc to the process that started this one it needs no monitor: both end together.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        endpoint: str,
        interceptor: Interceptor,
        keys: AgentKeys | None = None,
        *,
        guarded: bool = False,
        world: World = HERE,
        book: SignedRegister | None = None,
        who: Callable[[], tuple[int, bytes]] = lambda: (-1, b""),
    ) -> None:
        self._world = world
        self.door: UplinkDoor | None = None
        self._book = book
        self._around = AROUND if keys is None else AROUND_WITH_KEYS
        self.monitor: zmq.Socket[bytes] | None = None
        self.socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        self._receive = self.socket.recv
        configure(self.socket, LINK_DEADLINE)
        self._endpoint = endpoint
        fills = guarded and not endpoint.startswith("ipc:")
        if guarded or not endpoint.startswith("ipc:"):
            self.socket.setsockopt(zmq.RCVTIMEO, _LOOK_MS)
            heartbeat(self.socket)
            if fills:
                self.socket.setsockopt(zmq.RCVHWM, 0)
            reconnect(self.socket)
            self.monitor = monitored(self.socket, WATCHED)
        self._send = sender(self.socket)
        if self.monitor is not None:
            self._send = patient(self.socket, self.monitor, world.monotonic)
        transmit = interceptor.before(lambda: (COORDINATOR,), self._send)
        self.line = Line(COORDINATOR, Session(), transmit, interceptor, up=False)
        """It is up while the connection may carry frames of the session, in both directions."""
        self._checks: CheckingLine | None = None
        if keys is not None and keys.orders_by:
            checker = Signer(None, {COORDINATOR: keys.orders_by}, b"")
            self._checks = CheckingLine(COORDINATOR, transmit, interceptor, checker, book, who)
            self.line = self._checks
        if keys is not None:
            connect_with(self.socket, keys.own.public, keys.own.secret, keys.coordinator)
        self._again = Again(_LONGEST_WAIT)
        self._failed: MonitorEvent | None = None
        """Why the handshake under way failed."""
        self._look_up_at = 0.0
        """When to look up the coordinator's name again; infinite once it was found."""
        self._connect(0.0)
        if fills:
            self.door = UplinkDoor(endpoint, world=world)

    def _connect(self, now: float) -> None:
        """Connect once the name can be looked up; from then on ZeroMQ does that by itself."""
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

    # --- the session -----------------------------------------------------------------------------

    def require_signed(self) -> None:
        """`PosseError` if the coordinator signed no order, and this agent has its key."""
        if self._checks is not None and not self.line.session.said:
            raise PosseError(
                "the coordinator signed no order, so nobody could prove what it ordered; ask its "
                "operator whether it is posse's own, of this version"
            )

    def begin(self) -> None:
        """Begin a new session, to which all frames from here on belong."""
        self.line.session = Session()
        self.line.up = True

    def resume(self, taken: int) -> None:
        """The coordinator took `taken` frames: send it the rest, and go on."""
        try:
            self.line.resume(taken)
        except SessionBroken as error:
            raise RunFailed(f"the coordinator lost this agent's session: {error}") from None

    def say(self, frame: bytes) -> None:
        """Send a frame outside the session, for the current connection only."""
        with suppress(zmq.Again):  # the queue is full; whoever joins or resumes asks again
            self.line.transmit(frame)

    def forward(self, data: bytes) -> None:
        """Send what is for a neighbour, now or not at all."""
        if self.line.up:
            with suppress(zmq.ZMQError):
                self._send(data, zmq.NOBLOCK)

    def probe(self, now: float) -> None:
        """Look up the coordinator's name if that is due, and ask for missing confirmations."""
        if now >= self._look_up_at:
            self._connect(now)
        if self.monitor is not None:
            for address in self._again.due(now):
                self._let_go(address)
                self._connect(now)
            self.line.probe()

    def _let_go(self, address: str) -> None:
        with suppress(zmq.ZMQError):  # ZeroMQ let it go itself
            self.socket.disconnect(address)

    def show_life(self) -> None:
        """Tell the coordinator that this agent acts."""
        if self.line.up:
            self.line.session.show_life()
            self.line.answer()

    def confirm(self) -> None:
        """Confirm what was taken, because nothing else will be sent."""
        self.line.session.confirm()
        self.line.answer()

    # --- what comes ------------------------------------------------------------------------------

    def wait(self) -> bytes | None:
        """The next frame, or None. With a monitor it waits `_LOOK_MS` at most."""
        try:
            data = self._receive()
        except zmq.Again:
            return None
        if self.door is not None:
            self.door.taken += len(data) + self._around
        if not is_numbered(data):
            return data if self._checks is None else self._checks.checked(data)
        # over a line that is down it came by a connection that is lost, and will be sent again
        return self.line.receive(data) if self.line.up else None

    def frames(self) -> Iterator[bytes]:
        """All frames that are here."""
        while int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            if (frame := self.wait()) is not None:
                yield frame

    def connections(self, now: float) -> Iterator[Connected | Disconnected | NotLetIn]:
        """What happened to the connection since the last call."""
        assert self.monitor is not None
        for event in monitor_events(self.monitor):
            became = self._again.follow(event, now)
            if event.kind & HANDSHAKE_FAILURES:
                self._failed = event
            elif became is Became.UP:
                if self.door is not None:
                    self.door.connected()
                yield Connected()
            elif became is not None:
                self.line.up = False
                yield Disconnected()
            if became is Became.NOT_LET_IN:
                failed, self._failed = self._failed, None
                self._let_go(event.address)
                yield from self._not_let_in(failed)

    def _not_let_in(self, failed: MonitorEvent | None) -> Iterator[NotLetIn]:
        match None if failed is None else failed.kind:
            case None:
                yield NotLetIn(Closure.NOT_UNDERSTOOD, NOT_OURS)
            case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                assert failed is not None
                yield NotLetIn(Closure.NOT_UNDERSTOOD, why_failed(failed.value))
            case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                yield NotLetIn(Closure.UNKNOWN_KEY)
            case _ if self._world.greets(self._endpoint):
                yield NotLetIn(Closure.WITHOUT_A_WORD)

    def close(self) -> None:
        """Close the sockets; what was sent still goes out."""
        if self._book is not None:
            self._book.close()
        if self.door is not None:
            self.door.close()
        if self.monitor is not None:
            self.monitor.close(0)
        self.socket.close()
