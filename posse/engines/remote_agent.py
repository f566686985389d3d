"""An agent on another machine than its coordinator: it finds, joins and rejoins it.

What it goes through, each step with a deadline (`wait`):

    connecting    until a coordinator answers at the address; it may be started later
    joining       `Join`, until `Welcome` or `Refused`
    synchronising `Sync` and `Synced` a few times, then `Arrived`
    joined        `Configure`, runs, `Goodbye`; a lost connection leads back to connecting
"""

import secrets
import socket as sockets
import statistics
import time
from collections import Counter
from pathlib import Path

import msgspec
import zmq
from zmq.utils.monitor import recv_monitor_message

from posse.arms import ArmsSpec
from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.engines.agent_process import AgentProcess
from posse.engines.links import listen
from posse.engines.sockets import HANDSHAKE_FAILURES, why_failed
from posse.errors import PosseError, RunFailed
from posse.hosts.agent_setup import AgentSetup
from posse.log import LOG
from posse.measure.traffic import quantile
from posse.plan import Plan
from posse.security.keys import AgentKeys
from posse.security.zap import Authenticator, Verdict, connect_with, key_of, serve_with
from posse.spec.fingerprint import fingerprint
from posse.systems import get_system
from protocol import control
from protocol.privacy import spent
from protocol.wire import Message

_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | HANDSHAKE_FAILURES
_ROUND_TRIPS = 8
_CLOSED_IN_A_ROW = 3
"""Handshakes that the other side closed without a word before we take it for a wrong key."""

_HANDSHAKE_MS = 2_000
"""How long a neighbour may take to let us in before we knock again. One that was not told of us yet
is silent (`Authenticator`), and ZeroMQ's own patience is half a minute."""

_LISTEN_EVERY = 64


class RemoteAgent(AgentProcess):
    """Joins the coordinator at `endpoint` and stays with it until told to leave.

    `rank` -1 lets key or coordinator choose. `inbox`: where neighbours reach this agent, a ZeroMQ
    address; "" takes any free port of the address by which this machine reaches the coordinator.
    `plan` is this machine's own run file's: its arms are used, and the rest must be as the
    coordinator has it. `wait`: seconds without a coordinator after which the agent gives up.
    `lab` lets real rewards (arms csv, python) be protected by the lab's noise, which is none
    against whoever knows the seed.
    """

    def __init__(
        self,
        endpoint: str,
        rank: int = -1,
        *,
        keys: AgentKeys | None = None,
        inbox: str = "",
        plan: Plan | None = None,
        wait: float = 300.0,
        lab: bool = False,
    ) -> None:
        self._lab = lab
        self._endpoint = endpoint
        self._keys = keys
        self._plan = plan
        self._wait = wait
        self._inbox_wanted = inbox
        self._inbox_address = ""
        self._incarnation = secrets.token_bytes(8)
        self._joined = False
        self._give_up = time.monotonic() + wait
        self._closed_in_a_row = 0
        self._offset = 0
        self._system = ""
        self._trips: list[tuple[int, int]] = []
        self._neighbours: dict[str, int] = {}
        self._strangers: set[str] = set()
        self._link_monitors: dict[zmq.Socket[bytes], Counter[str]] = {}
        self._setup_inboxes: dict[str, int] = {}
        super().__init__(endpoint, rank, token="", inbox=inbox)

    def stamp(self) -> int:
        """The coordinator's clock as this agent knows it, in nanoseconds."""
        return time.monotonic_ns() + self._offset

    def _join(self, endpoint: str, token: str, inbox: str, system: str) -> None:
        """Begin to connect; what follows is said by the monitor."""
        self._hub.setsockopt(zmq.RECONNECT_IVL, 100)
        self._hub.setsockopt(zmq.RECONNECT_IVL_MAX, 2_000)
        if self._keys is not None:
            own = self._keys.own
            connect_with(self._hub, own.public, own.secret, self._keys.coordinator)
        self._monitor = self._hub.get_monitor_socket(_WATCHED)
        self._poller.register(self._monitor, zmq.POLLIN)
        if trouble := _unresolved(endpoint):
            LOG.info("%s; trying for %g s", trouble, self._wait)
        try:
            self._hub.connect(endpoint)
        except zmq.ZMQError as error:
            raise PosseError(f"{endpoint} is not an address: {error.strerror}") from None

    def _loop(self) -> int:
        while True:
            host = self._host
            busy = host is not None and host.busy
            if host is not None and busy:
                for _ in range(_LISTEN_EVERY):
                    host.step()
                    if host.outbox or not host.busy:
                        break
                self._flush(host)
            ready = dict(self._poller.poll(0 if busy else self._patience()))
            self._go_on_when_heard()
            if self._hub in ready and not self._drain_hub():
                LOG.info("the coordinator is done, or gave up, and let this agent go")
                return 0
            if self._inbox in ready:
                self._drain_inbox()
            if self._monitor in ready:
                self._connections()
            for monitor in [m for m in self._link_monitors if m in ready]:
                self._link_trouble(monitor)
            if not self._joined and time.monotonic() > self._give_up:
                raise RunFailed(self._why_alone())

    def _patience(self) -> int | None:
        """Milliseconds to listen; for ever once we belong, as heartbeats notice a loss."""
        if self._joined:
            return super()._patience()
        return max(1, int(1000 * (self._give_up - time.monotonic())) + 1)

    def _why_alone(self) -> str:
        trouble = _unresolved(self._endpoint)
        return (
            f"no coordinator answered at {self._endpoint} for {self._wait:g} s"
            + (f": {trouble}" if trouble else "")
            + "; check the address, and that posse coordinator runs there"
        )

    def _connections(self) -> None:
        """The connection to the coordinator came up, was refused, or went."""
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)
            match event["event"]:
                case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    self._closed_in_a_row = 0
                    self._greet()
                case zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    raise PosseError(
                        f"the coordinator at {self._endpoint} does not know this agent's key "
                        f"{self._keys.own.public if self._keys else ''}: it must be in the "
                        "coordinator's allowlist.toml"
                    )
                case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                    raise PosseError(
                        f"the coordinator at {self._endpoint} was not understood: "
                        f"{why_failed(event['value'])}"
                    )
                case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                    self._closed_in_a_row += 1
                    if self._closed_in_a_row >= _CLOSED_IN_A_ROW:
                        raise PosseError(self._why_closed())
                case _ if self._joined:
                    self._joined = False
                    self._host = self._pending = None
                    self._give_up = time.monotonic() + self._wait
                    LOG.warning(
                        "lost the coordinator at %s; waiting for it for %g s",
                        self._endpoint,
                        self._wait,
                    )
                case _:
                    pass

    def _why_closed(self) -> str:
        if self._keys is None:
            return (
                f"the coordinator at {self._endpoint} asks for keys and this agent has none; start "
                "it with --keys"
            )
        return (
            f"the coordinator at {self._endpoint} does not have the key that this agent's "
            "coordinator.key expects; start it with --keys, and copy coordinator.key from there"
        )

    def _greet(self) -> None:
        self._host = self._pending = None
        self._give_up = time.monotonic() + self._wait
        self._say(
            control.Join(
                self._rank if self._keys is None or self._keys.rank is None else self._keys.rank,
                "",
                "",
                0,
                self._incarnation,
                time.time(),
                fingerprint(self._plan.spec) if self._plan is not None else {},
            )
        )

    def _joining(self, message: Message) -> None:
        match message:
            case control.Welcome(rank, system):
                if self._inbox is not None:
                    listen(self._inbox, rank, before=self._rank)
                self._rank = rank
                self._system = system
                self._trips = []
                self._say(control.Sync(time.monotonic_ns()))
            case control.Synced(sent, clock):
                self._synchronise(sent, clock)
            case _:
                pass

    def _synchronise(self, sent: int, clock: int) -> None:
        """The offset of the coordinator's clock, from the quickest round trips.

        Of a round trip of length d the offset is known up to d/2; the quickest tell most.
        """
        received = time.monotonic_ns()
        self._trips.append((received - sent, clock - (sent + received) // 2))
        if len(self._trips) < _ROUND_TRIPS:
            self._say(control.Sync(time.monotonic_ns()))
            return
        quickest = sorted(self._trips)[: _ROUND_TRIPS // 2]
        self._offset = int(statistics.median(offset for _, offset in quickest))
        if get_system(self._system).wiring is not None:
            self._inbox_address = self._inbox_address or self._advertised(self._inbox_wanted)
        self._joined = True
        LOG.info(
            "joined %s as agent %d; round trip %.1f ms",
            self._endpoint,
            self._rank,
            quickest[0][0] * 1e-6,
        )
        self._say(control.Arrived(self._inbox_address))

    def _advertised(self, wanted: str) -> str:
        """Open the inbox; the address by which others reach it."""
        here = _own_address(self._endpoint)
        try:
            bound = self._open_inbox(wanted or f"tcp://{here}:*", self._system)
        except zmq.ZMQError as error:
            raise PosseError(f"--inbox {wanted} cannot be bound: {error.strerror}") from None
        return bound.replace("//0.0.0.0:", f"//{here}:")

    def _begin(self, setup: AgentSetup, rank: int) -> None:
        """See `AgentProcess`: on another machine the arms are this machine's own."""
        setup = self._own(setup)
        if setup.mode == "field":
            _say_claim(setup)
        self._neighbours = {key: rank for rank, key in setup.keys.items()}
        self._setup_keys = setup.keys
        self._setup_inboxes = {address: rank for rank, address in setup.inboxes.items()}
        super()._begin(setup, rank)

    def _own(self, setup: AgentSetup) -> AgentSetup:
        plan = self._plan
        if plan is None:
            if isinstance(setup.arms, PythonArms):
                raise PosseError(
                    "the coordinator's run file has arms of kind python, and code is not taken "
                    "from the network; start the agent with --run RUN.toml"
                )
            self._refuse_lab(setup, setup.arms)
            return msgspec.structs.replace(setup, base=str(Path.cwd()))
        spec, untold = plan.spec, plan.system.untold
        self._refuse_lab(setup, spec.arms)
        here = {
            "system": spec.system,
            "variant": spec.variant,
            "parameters": {k: v for k, v in spec.parameters.items() if k not in untold},
            "mode": spec.mode,
            "agents": spec.agents.count,
            "clock": plan.clock,
        }
        different = [name for name, value in here.items() if getattr(setup, name) != value]
        if different:
            raise PosseError(
                f"the coordinator's configuration differs from {', '.join(different)} of this "
                "agent's own run file; give both the same"
            )
        if isinstance(setup.arms, int):
            return setup
        return msgspec.structs.replace(setup, arms=spec.arms, base=spec.base)

    def _refuse_lab(self, setup: AgentSetup, arms: ArmsSpec | int) -> None:
        if isinstance(arms, CsvArms | PythonArms) and setup.mode == "lab" and not self._lab:
            raise PosseError(
                "the run is a lab's: its noise is seeded, and whoever knows the seed can take it "
                'off real rewards; put mode = "field" into the run file, or start with --lab'
            )

    def _guard_inbox(self, inbox: zmq.Socket[bytes]) -> None:
        if self._keys is None:
            return

        def decide(key: str) -> Verdict:
            return Verdict.YES if key in self._neighbours else Verdict.NOT_YET

        def refused(address: str, key: str) -> None:
            if self._neighbours and key not in self._strangers:
                self._strangers.add(key)
                LOG.warning(
                    "refused %s at the inbox: its key %s is no neighbour's; only agents that the "
                    "coordinator named may connect",
                    address,
                    key,
                )

        Authenticator(self._context, decide, refused)
        serve_with(inbox, self._keys.own.secret)

    def _guard_link(self, link: zmq.Socket[bytes], rank: int) -> None:
        if self._keys is not None:
            own = self._keys.own
            connect_with(link, own.public, own.secret, self._setup_keys[rank])
        link.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
        monitor = link.get_monitor_socket(HANDSHAKE_FAILURES)
        self._link_monitors.setdefault(monitor, Counter())
        self._poller.register(monitor, zmq.POLLIN)

    def _link_trouble(self, monitor: zmq.Socket[bytes]) -> None:
        """A neighbour did not let us in; it may not have been told of us yet."""
        failures = self._link_monitors[monitor]
        while monitor.poll(0):
            event = recv_monitor_message(monitor)
            address = event["endpoint"].decode()
            failures[address] += 1
            if failures[address] == _CLOSED_IN_A_ROW:
                LOG.warning(
                    "agent %s at %s does not let this agent in: %s",
                    self._setup_inboxes.get(address, "?"),
                    address,
                    why_failed(event["value"])
                    if event["event"] == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
                    else "it was not told of this agent's key; are both from one posse keys?",
                )

    def _drain_inbox(self) -> None:
        if self._keys is None:
            super()._drain_inbox()
            return
        assert self._inbox is not None
        while True:
            try:
                part = self._inbox.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            sender = self._neighbours.get(key_of(part))
            if self._host is not None and sender is not None:
                self._host.receive(sender, part.bytes)
                self._flush(self._host)

    def _take(self, frame: bytes) -> bool:
        """See `AgentProcess`; in the field, what this agent did is said here, and only here."""
        going_on = super()._take(frame)
        host = self._host
        if host is not None and (ledger := host.take_ledger()) is not None:
            if (median := quantile(host.delays.histogram(), 0.5)) is not None:
                LOG.info("what this agent was sent took %.1f ms (median)", 1e3 * median)
            LOG.info(
                "this run used %d rewards and spent epsilon = %g in %d releases%s%s",
                int(ledger.pulls.sum()),
                spent(ledger.releases),
                sum(release.times for release in ledger.releases),
                "" if ledger.answer is None else f"; this agent's arm is {ledger.answer}",
                f"; its rewards are used up: {ledger.exhausted}" if ledger.exhausted else "",
            )
        return going_on

    def _fail(self, reason: str) -> None:
        """See `AgentProcess`; and say it here."""
        LOG.error("%s", reason)
        if self._joined:
            self._tell(reason)

    def _close(self) -> None:
        for monitor in (self._monitor, *self._link_monitors):
            monitor.close(0)


def _say_claim(setup: AgentSetup) -> None:
    """Before any reward is used: what this agent is about to give away."""
    system = get_system(setup.system)
    claim = system.claim(msgspec.convert(setup.parameters, system.parameters), setup.variant)
    if claim is None or claim.mechanism == "none":
        LOG.warning("%s protects no rewards", setup.system)
    if claim is not None:
        bound = "" if claim.epsilon is None else f"epsilon = {claim.epsilon:g} for {claim.unit}"
        broken = "" if claim.holds else "the paper's claim does not hold"
        parts = (bound, f"against {claim.adversary}", broken, claim.note)
        LOG.info("%s: %s", claim.mechanism, "; ".join(part for part in parts if part))


def _host_and_port(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port) if port.isdigit() else 0


def _unresolved(endpoint: str) -> str:
    """Why the address's name means nothing here; empty if it does."""
    if not endpoint.startswith("tcp://"):
        return ""
    host, port = _host_and_port(endpoint)
    try:
        sockets.getaddrinfo(host, port, sockets.AF_INET)
    except OSError as error:
        return f"the name {host} does not resolve ({error.strerror})"
    return ""


def _own_address(endpoint: str) -> str:
    """The address by which this machine reaches the coordinator."""
    if not endpoint.startswith("tcp://"):
        return "127.0.0.1"
    host, port = _host_and_port(endpoint)
    # ZeroMQ too takes names for IPv4 unless told otherwise
    address = sockets.getaddrinfo(host, port, sockets.AF_INET)[0][4]
    with sockets.socket(sockets.AF_INET, sockets.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing: a datagram socket only picks a route
        return str(probe.getsockname()[0])


__all__ = ["RemoteAgent"]
