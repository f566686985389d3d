"""Access control between agents: whom an inbox lets in, and how an agent gets into others'.

On one machine, in a private folder, there is none: a neighbour's address is enough.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import zmq

from posse.hosts.agent_setup import AgentSetup
from posse.log import LOG
from posse.security.keys import KeyPair, beginning
from posse.security.zap import ZapStatus, connect_with, serve_with
from posse.wire.again import WATCHED as LINKS_WATCHED
from posse.wire.again import Again, Became
from posse.wire.door import AROUND, AROUND_WITH_KEYS, WATCHED
from posse.wire.inbox_door import InboxDoor
from posse.wire.line import Transmit
from posse.wire.links import patient
from posse.wire.sockets import (
    HANDSHAKE_FAILURES,
    HANDSHAKE_MS,
    NOT_OURS,
    MonitorEvent,
    Selector,
    heartbeat,
    know_family,
    monitor_events,
    monitored,
    reconnect,
    why_failed,
)
from posse.wire.world import HERE, World

_WATCHED = zmq.EVENT_CONNECTED | zmq.EVENT_MONITOR_STOPPED | LINKS_WATCHED

_FAILED_IN_A_ROW = 3
"""Failed handshakes of a link before a warning: a neighbour may not know this agent yet, as both
are told of each other at about the same time."""

_LONGEST_WAIT = 8.0
"""Seconds between attempts at most: a neighbour may have named an inbox that is not its own."""

_FLOODS = 2
"""Links to an inbox that the door may close before this agent leaves it."""

_MOST_STRANGERS = 1_000
"""Refused keys to remember, so that each is logged only once."""


class Guard:
    """Watches the links, and logs which neighbours refuse this agent.

    With keys (`own` is this agent's pair) it lets in only keys that the coordinator named:
    `neighbours` has their ranks by key, None without keys. `link_changed` is called with a
    neighbour's rank when the link to it comes up or goes down.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        selector: Selector,
        own: KeyPair | None,
        world: World = HERE,
    ) -> None:
        self._world = world
        self.link_changed: Callable[[int, bool], None] = lambda rank, up: None
        self._context = context
        self._selector = selector
        self._own = own
        self.neighbours: dict[str, int] | None = None if own is None else {}
        self._keys: dict[int, str] = {}
        self._ranks: dict[str, int] = {}
        self._strangers: set[str] = set()
        self._again = Again(_LONGEST_WAIT)
        self._failed: dict[str, MonitorEvent] = {}
        """Why the handshake under way with an address failed."""
        self._floods: Counter[str] = Counter()
        self._monitors: dict[zmq.Socket[bytes], zmq.Socket[bytes]] = {}
        """The link's socket of each monitor."""
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        """The link's socket of each address."""
        self._inbox: zmq.Socket[bytes] | None = None
        self._door: InboxDoor | None = None

    def know(self, setup: AgentSetup) -> None:
        """Learn the neighbours and their keys."""
        if self._door is not None:
            self._door.know(len(setup.inboxes))
        self._keys = setup.keys
        self._ranks = {address: rank for rank, address in setup.inboxes.items()}
        if self.neighbours is not None:
            self.neighbours = {key: rank for rank, key in setup.keys.items()}

    def move(self, rank: int, address: str) -> None:
        """This neighbour's inbox is elsewhere."""
        self._ranks = {old: other for old, other in self._ranks.items() if other != rank}
        self._ranks[address] = rank

    def inbox(self, socket: zmq.Socket[bytes]) -> None:
        """Prepare an inbox; to be called before `bind`."""
        self._close_door()
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        socket.setsockopt(zmq.RCVHWM, 0)  # see `posse.wire.door`
        if self._own is not None:
            if self._inbox is None:  # one answers for all inboxes of the context
                self._world.authenticate(self._context, self._decide, self._refused)
            serve_with(socket, self._own.secret)
        self._inbox = monitored(socket, WATCHED)
        keyed = self._own is not None
        self._door = InboxDoor(self._inbox, keyed=keyed, world=self._world)

    def took(self, size: int) -> None:
        """Count `size` bytes as taken from the inbox."""
        if self._door is not None:
            self._door.taken += size + (AROUND if self._own is None else AROUND_WITH_KEYS)

    def _close_door(self) -> None:
        if self._door is not None and self._inbox is not None:
            self._door.close()
            self._inbox.close(0)

    def _decide(self, key: str) -> ZapStatus:
        return ZapStatus.YES if key in (self.neighbours or {}) else ZapStatus.NOT_YET

    def _refused(self, address: str, key: str) -> None:
        if self.neighbours and key not in self._strangers:
            if len(self._strangers) < _MOST_STRANGERS:
                self._strangers.add(key)
            LOG.warning(
                "refused %s at the inbox: its key %s does not belong to a neighbour; only agents "
                "that the coordinator named may connect",
                address,
                beginning(key),
                extra={"about": "strangers at the inbox"},
            )

    def link(self, socket: zmq.Socket[bytes], rank: int) -> None:
        """Prepare a socket for its next connection, to this neighbour."""
        self._show_keys(socket, rank)
        reconnect(socket)
        heartbeat(socket)
        socket.setsockopt(zmq.RCVHWM, 0)  # see `posse.wire.door`
        monitor = monitored(socket, _WATCHED)
        if monitor not in self._monitors:
            self._monitors[monitor] = socket
            self._selector.watch(monitor, lambda: self._follow(monitor))

    def sender(self, socket: zmq.Socket[bytes]) -> Transmit:
        """What hands a watched socket data; see `patient`."""
        (monitor,) = (m for m, watched in self._monitors.items() if watched is socket)
        return patient(socket, monitor, self._world.monotonic)

    def _follow(self, monitor: zmq.Socket[bytes]) -> None:
        for event in monitor_events(monitor):
            if event.kind == zmq.EVENT_MONITOR_STOPPED:
                # only now: ZeroMQ's thread blocks for ever on a closed monitor
                self._selector.forget(monitor)
                del self._monitors[monitor]
                monitor.close(0)
                return
            rank = self._ranks.get(event.address)
            if event.kind == zmq.EVENT_CONNECTED:
                if self._door is not None:
                    self._door.connected(event.value)
                continue
            self._sockets[event.address] = self._monitors[monitor]
            became = self._again.follow(event, self._world.monotonic())
            if event.kind & HANDSHAKE_FAILURES:
                self._failed[event.address] = event
            ended, door = event.kind == zmq.EVENT_DISCONNECTED, self._door
            if ended and door is not None and door.disconnected(event.value):
                self._leave(event.address)
            if became is Became.NOT_LET_IN:
                self._let_go(event.address)
                self._not_let_in(event.address, rank, self._failed.pop(event.address, None))
            if became is not None and rank is not None:
                self.link_changed(rank, became is Became.UP)

    def probe(self) -> None:
        """Connect again to the inboxes for which it is time; call it every `PROBE_EVERY` seconds.

        A socket may lead to several neighbours, each with its key.
        """
        for address in self._again.due(self._world.monotonic()):
            socket = self._sockets[address]
            if address in self._ranks and not socket.closed:
                self._let_go(address)
                self._show_keys(socket, self._ranks[address])
                know_family(socket, address)
                socket.connect(address)

    def _let_go(self, address: str) -> None:
        with suppress(zmq.ZMQError):  # ZeroMQ let it go itself, or it was closed meanwhile
            self._sockets[address].disconnect(address)

    def _not_let_in(self, address: str, rank: int | None, failed: MonitorEvent | None) -> None:
        """A neighbour refused the handshake; it may not know this agent yet."""
        if self._again.failures[address] != _FAILED_IN_A_ROW:
            return
        why = "it closes each connection at once; check that it runs, and the network to it"
        if failed is None:
            why = NOT_OURS
        elif failed.kind == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            why = why_failed(failed.value)
        elif self._own is not None:
            why = "it does not know this agent's key; are both from the same posse keys?"
        name = "?" if rank is None else rank
        LOG.warning(
            "agent %s at %s does not let this agent in, which tries ever less often: %s",
            name,
            address,
            why,
            extra={"about": f"agent {name}'s inbox"},
        )

    def _leave(self, address: str) -> None:
        """Leave an inbox that sent too much twice: its topics would all come again at once.

        ZeroMQ takes 50 bytes of memory for each byte of a topic. Once may be a mistake of ours: a
        descriptor may have become another connection's before it was looked at.
        """
        self._floods[address] += 1
        if self._floods[address] < _FLOODS:
            return
        LOG.warning(
            "this agent does not connect again to the inbox %s of agent %s, which sends too much",
            address,
            self._ranks.get(address, "?"),
        )
        self._again.forget(address)
        self._let_go(address)

    def _show_keys(self, socket: zmq.Socket[bytes], rank: int) -> None:
        if self._own is not None:
            connect_with(socket, self._own.public, self._own.secret, self._keys[rank])

    def close(self) -> None:
        """Close the monitors and the inbox's door."""
        self._close_door()
        for monitor, socket in self._monitors.items():
            if not socket.closed:
                socket.disable_monitor()
            monitor.close(0)
