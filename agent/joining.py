"""An agent's side of joining, as a machine without input or output.

Each thing that happens is a method, which returns effects (`posse.hosts.effects`) in order. The
states, and what leads from one to the next, are in `posse.agent.states`.

An agent beside its coordinator (its `Join` has no incarnation) is connected from the start, shares
the coordinator's clock, and goes from joining to linking. It has no timeout: only the process that
started it gives it up. An agent that resumes forgets its configuration only if the coordinator
answers `Unknown`: then the coordinator was started again.

Time is an argument, in seconds of the loop's clock. `timer` is when `fire` is to be called.
"""

import logging
import math
import statistics
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

import msgspec

from posse import __version__
from posse.agent.own_run import TheirRun
from posse.agent.states import JOINED_STATES, TRANSITIONS, Closure, JoinEvent, JoinState
from posse.errors import InputError, PosseError
from posse.gates.shown import printable
from posse.hosts.agent_setup import SAME_VERSION, AgentSetup, read_setup
from posse.hosts.effects import (
    BeginSession,
    ConnectNeighbours,
    DropHost,
    Fail,
    GiveUp,
    JoiningEffect,
    Leave,
    LogLine,
    MakeHost,
    MoveNeighbour,
    OpenInbox,
    ResumeSession,
    SendResume,
    SendToCoordinator,
)
from posse.hosts.sources import Left
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.message import Plane
from posse.protocol.signing import nonce_of
from posse.protocol.wire import VERSION, Codec, in_our_version, read_header
from posse.security.address import FORWARDED, inbox_trouble

_CODEC = Codec(control.TO_JOINING)
_LONGEST_REASON = 1_000
_ROUND_TRIPS = 8
_FAILED_IN_A_ROW = 6
"""Failed handshakes before we believe what they seem to say: they take some 5 s, and another
program at that address, a flipped byte or a network that resets connections does so for less."""

_REPEAT = 2.0
"""Seconds after which `Join`, `Sync` or `Resume` is sent again over the same connection, which
nothing else repeats if it, or its answer, is lost."""

_FEWEST_TRIPS = 2
"""Round trips that are enough where frames are lost, each of which makes do with one less."""

_STARTS = 32
"""Low bits of a connection's number; those above count restarts, so that a restarted agent's
numbers are higher than all before."""

NOTICED = 5.0
"""Seconds after which links that do not come up are reported. The coordinator then waits for them
as for any link that is down, and names them."""

NOBODY_LISTED: Mapping[int, str] = MappingProxyType({})


class Joining:
    """See the module's text.

    `join` is the agent's own `Join`. `endpoint` and `key` (its public key, "" without) are for
    messages to people. `system` is known beforehand only beside the coordinator, whose every
    configuration is accepted; elsewhere `own_run` checks it. `wait`: seconds to wait for a
    coordinator. `listed`: other agents' keys for connections as this agent's own allowlist has
    them; None where the coordinator made them.

    Above 300 lines: every state of the table above, and what else may come in it.
    """

    def __init__(
        self,
        join: control.Join,
        now: float,
        *,
        endpoint: str = "",
        key: str = "",
        system: str = "",
        own_run: TheirRun | None = None,
        wait: float = math.inf,
        listed: Mapping[int, str] | None = NOBODY_LISTED,
    ) -> None:
        self.rank = join.rank
        self.state = JoinState.CONNECTING
        self.offset = 0
        """How far the coordinator's clock is ahead of this agent's, in nanoseconds."""
        self.timer = now + wait
        self._join = join
        self._endpoint = endpoint
        self._key = key
        self._system = system
        self._own_run = own_run
        self._wait = wait
        self._listed = listed
        self._failed_in_a_row = self._unknown_in_a_row = 0
        self.last_answer = ""
        """Why the last handshake failed; "" after one that did not."""
        self._wall = self._connected_at = 0.0
        self._connections = 0
        self._online = False
        self._until = math.inf
        """When an agent that joins or resumes gives up."""
        self._before = JoinState.CONNECTING
        """The state to return to from resuming."""
        self._trips: list[tuple[int, int]] = []
        self._needed = _ROUND_TRIPS
        self._setup: AgentSetup | None = None
        self._not_listening: tuple[int, ...] = ()
        self._reported_down: set[int] = set()
        """Neighbours reported to the coordinator as not listening yet."""

    @property
    def remote(self) -> bool:
        """Whether this agent may be on another machine than its coordinator."""
        return bool(self._join.incarnation)

    @property
    def incarnation(self) -> bytes:
        """Identifies this start of the agent; empty beside the coordinator."""
        return self._join.incarnation

    @property
    def belongs(self) -> bool:
        """Whether the coordinator counts this agent among its own."""
        return not self.remote or self.state in JOINED_STATES

    def _to_resume(self) -> SendResume:
        join = self._join
        return SendResume(
            control.Resume(
                self.rank,
                join.token,
                join.incarnation,
                self._connections,
                0,
                self._connections >> _STARTS,
                join.pid,
            )
        )

    def require_still(self, setup: AgentSetup) -> None:
        """`PosseError` unless this agent would accept what its journal has of a run."""
        if self._own_run is not None:
            self._own_run.require_still(setup, self.rank)

    def left(self, rank: int, members: Collection[int]) -> Left | None:
        """See `Sources.left`."""
        return None if self._own_run is None else self._own_run.left(rank, members)

    def recover(self, rank: int, offset: int, incarnation: bytes, starts: int, now: float) -> None:
        """Resume after a kill when linked, at the `starts`th restart; `offset` in nanoseconds."""
        self.rank = rank
        self.offset = offset
        self.state = JoinState.LINKED
        self._join = msgspec.structs.replace(self._join, incarnation=incarnation)
        self._connections = starts << _STARTS
        self._resume(now)

    def stood_still(self, seconds: float) -> None:
        """This process did not listen for this many seconds: they are no part of any wait."""
        self.timer += seconds
        self._until += seconds

    def fire(self, now: float) -> list[JoiningEffect]:
        """The time of `timer` has come."""
        if now < self.timer:
            return []
        if self.state is JoinState.RESUMING and now < self._until:
            self.timer = min(self._until, now + _REPEAT)
            return self._ask_to_resume(now) if self._online else []
        if self._repeats and now < self._until:
            self._repeat_at(now)
            return self._say_again(now) if self._online else []
        if self.state is JoinState.LINKING:
            self.timer = self._report_links_at(now)
            return self._report_down()
        self.timer = math.inf
        return [GiveUp()]

    @property
    def _repeats(self) -> bool:
        """Whether this state asks for something that neither end repeats by itself."""
        return self.remote and self.state in (JoinState.JOINING, JoinState.SYNCHRONISING)

    def _repeat_at(self, now: float) -> None:
        self.timer = min(self._until, now + _REPEAT)

    def _say_again(self, now: float) -> list[JoiningEffect]:
        if self.state is JoinState.JOINING:
            return [self._ask_to_join(now)]
        self._needed = max(_FEWEST_TRIPS, self._needed - 1)
        return [_ask(now)] if len(self._trips) < self._needed else self._synchronised()

    def _ask_to_join(self, now: float) -> SendToCoordinator:
        wall = self._wall + now - self._connected_at  # the connection may be old
        return SendToCoordinator(msgspec.structs.replace(self._join, rank=self.rank, wall=wall))

    def connected(self, wall: float, now: float) -> list[JoiningEffect]:
        """The connection to the coordinator is up; `wall` is this machine's clock in seconds."""
        self._connections += 1
        self._failed_in_a_row = self._unknown_in_a_row = 0
        self.last_answer = ""
        self._online = True
        self._wall, self._connected_at = wall, now
        if self._may_be_known:
            self._resume(now)
            return self._ask_to_resume(now)
        return self._begin(JoinEvent.CONNECTED, now)

    @property
    def _may_be_known(self) -> bool:
        """Whether the coordinator may have admitted this agent."""
        if self.state is JoinState.JOINING:
            return not self.remote
        return self.state is not JoinState.CONNECTING

    def _go(self, event: JoinEvent) -> None:
        """Change the state as the table says; what it does not have is our own mistake."""
        if (self.state, event) not in TRANSITIONS:
            raise LocalProtocolError(f"{event.name} in state {self.state.name}")
        self.state = TRANSITIONS[self.state, event] or self._before

    def _may(self, event: JoinEvent) -> bool:
        """Whether the event has its place in this state; a peer's message without is ignored."""
        return (self.state, event) in TRANSITIONS

    def _begin(self, event: JoinEvent, now: float) -> list[JoiningEffect]:
        """Join from the beginning."""
        self._setup = None
        self._reported_down.clear()
        self._go(event)
        if not self.remote:
            return [BeginSession(), DropHost(), OpenInbox(self._system, self.rank)]
        self._until = now + self._wait
        self._repeat_at(now)
        return [BeginSession(), DropHost(), self._ask_to_join(now)]

    def _resume(self, now: float) -> None:
        if self.state is not JoinState.RESUMING:
            self._before = self.state
        self._go(JoinEvent.MUST_RESUME)
        self._until = now + self._wait
        self.timer = min(self._until, now + _REPEAT)

    def _ask_to_resume(self, now: float) -> list[JoiningEffect]:
        """Ask to resume; the next `Sync` follows at once, as the connection may be short-lived."""
        asks = [_ask(now)] if self._before is JoinState.SYNCHRONISING else []
        return [self._to_resume(), *asks]

    def _resumed(self, taken: int, now: float) -> list[JoiningEffect]:
        self._go(JoinEvent.RESUMED)
        self.timer = self._report_links_at(now) if self.state is JoinState.LINKING else math.inf
        if self.state is JoinState.SYNCHRONISING:
            self._until = now + self._wait
            self._repeat_at(now)
        reconnected = LogLine(
            logging.INFO,
            f"reconnected to the coordinator at {self._endpoint}",
            "the connection",
        )
        return [ResumeSession(taken), *([reconnected] if self.remote else [])]

    def not_let_in(self, how: Closure, why: str = "") -> list[JoiningEffect]:
        """The connection was closed in its handshake; `why` for `NOT_UNDERSTOOD`.

        Who was let in before goes on trying, unless it is its key that is refused again and again.
        """
        coordinator = f"the coordinator at {self._endpoint}"
        admitted = bool(self._connections)
        self._failed_in_a_row += 1
        self._unknown_in_a_row = self._unknown_in_a_row + 1 if how is Closure.UNKNOWN_KEY else 0
        enough = self._failed_in_a_row >= _FAILED_IN_A_ROW
        match how:
            case Closure.UNKNOWN_KEY:
                enough = not admitted or self._unknown_in_a_row >= _FAILED_IN_A_ROW
                reason = (
                    f"{coordinator} does not know this agent's key; on its machine run: posse "
                    f"keys DIR --allow {self.rank if self.rank >= 0 else 'RANK'} {self._key}"
                )
            case Closure.NOT_UNDERSTOOD:
                enough &= not admitted
                reason = f"the handshake with {coordinator} failed: {why}"
                if admitted:
                    reason = f"another program answers at {self._endpoint}, or bytes are damaged"
            case Closure.WITHOUT_A_WORD if admitted or not (self._key or enough):
                return []  # the network closed it
            case Closure.WITHOUT_A_WORD if not self._key:
                reason = (
                    f"{coordinator} closes each connection without a word, as one with keys does "
                    "where an agent has none; start both with --keys"
                )
            case Closure.WITHOUT_A_WORD:
                reason = (
                    f"{coordinator} does not have the key that this agent's coordinator.key "
                    "expects; start the coordinator with --keys, and copy its coordinator.key to "
                    "this agent"
                )
        if enough:
            return [Fail(reason, PosseError)]
        said, self.last_answer = self.last_answer, reason
        again = LogLine(logging.WARNING, f"{reason}; trying again", "the connection")
        return [again] if self._failed_in_a_row > 1 and said != reason else []

    def _other_wire(self, frame: bytes) -> str:
        """The message for a coordinator whose frames have another version."""
        with suppress(RemoteProtocolError):
            refused = _CODEC.decode(Plane.CONTROL, in_our_version(frame))
            if isinstance(refused, control.Refused):  # it names both programs
                return _refused(refused.reason)
        return (
            f"the coordinator at {self._endpoint} speaks version {frame[2]} of the wire, and this "
            f"agent has posse {__version__} and speaks version {VERSION}; {SAME_VERSION}"
        )

    def disconnected(self, now: float) -> list[JoiningEffect]:
        """The connection to the coordinator is lost; ZeroMQ reconnects by itself."""
        self._online = False
        if not self._may_be_known or self.state is JoinState.RESUMING:
            return []
        self._resume(now)
        text = f"lost the coordinator at {self._endpoint}; waiting up to {self._wait:g} s for it"
        return [LogLine(logging.WARNING, text, "the connection")] if self.remote else []

    def receive(self, frame: bytes, now: float) -> list[JoiningEffect]:
        """A frame came from the coordinator that is not for a run's host."""
        try:
            message = _CODEC.decode(read_header(frame).plane, frame)
        except RemoteProtocolError as error:
            if error.reason == "version" and self.state is JoinState.JOINING:
                return [Fail(self._other_wire(frame), PosseError)]
            return []
        match message:
            case control.Refused(reason):
                return [Fail(_refused(reason), PosseError)]
            case control.Resumed(taken) if self._may(JoinEvent.RESUMED):
                return self._resumed(taken, now)
            case control.Moved(rank, inbox) if self.belongs:
                return self._neighbour_moved(rank, inbox)
            case control.Whose() if self.state is not JoinState.RESUMING and self._may_be_known:
                self._connections += 1
                self._resume(now)
                return self._ask_to_resume(now)
            case control.Unknown() if self._may(JoinEvent.UNKNOWN):
                return self._begin(JoinEvent.UNKNOWN, now)
            case control.Welcome(rank, system) if self._may(JoinEvent.WELCOMED):
                self._take_rank(rank)
                self._system = system
                self._trips, self._needed = [], _ROUND_TRIPS
                self._go(JoinEvent.WELCOMED)
                self._repeat_at(now)
                return [_ask(now)]
            case control.Synced(sent, clock) if self.state is JoinState.SYNCHRONISING:
                return self._synced(sent, clock, now)
            case control.Configure(rank, setup) if self.belongs and self._may(JoinEvent.CONFIGURED):
                return self._configured(rank, setup, now)
            case control.Goodbye(code):
                return self._let_go(code)
            case _:
                return []

    def _take_rank(self, rank: int) -> None:
        """Take this rank; `PosseError` if the agent has another, which its log and ledger go by."""
        if self.rank not in (-1, rank):
            raise PosseError(
                f"the coordinator takes this agent for agent {rank}, but it is agent {self.rank}; "
                "an agent keeps its rank, by which its rewards and their use so far are known"
            )
        self.rank = rank

    def _let_go(self, code: int) -> list[JoiningEffect]:
        if not self.remote:
            return [Leave()]
        if not code:
            return [
                LogLine(logging.INFO, "the coordinator has finished and let this agent go"),
                Leave(),
            ]
        text = f"the coordinator gave up (exit code {code}) and let this agent go; its log says why"
        return [LogLine(logging.WARNING, text), Leave(code)]

    def _synced(self, sent: int, clock: int, now: float) -> list[JoiningEffect]:
        """Estimate the offset of the coordinator's clock from the quickest round trips.

        A round trip of length d gives the offset to ± d/2: the quickest are the most precise.
        """
        received = _nanoseconds(now)
        self._trips.append((received - sent, clock - (sent + received) // 2))
        self._repeat_at(now)
        return [_ask(now)] if len(self._trips) < self._needed else self._synchronised()

    def _synchronised(self) -> list[JoiningEffect]:
        quickest = sorted(self._trips)[: len(self._trips) // 2]
        self.offset = int(statistics.median(offset for _, offset in quickest))
        return [OpenInbox(self._system, self.rank)]

    def inbox_open(self, address: str) -> list[JoiningEffect]:
        """The inbox is open at `address`; "" where agents have no neighbours."""
        if not self.remote:
            return [SendToCoordinator(msgspec.structs.replace(self._join, inbox=address))]
        self._go(JoinEvent.ARRIVED)
        self.timer = math.inf
        trip = min(self._trips)[0] * 1e-6
        text = f"joined {self._endpoint} as agent {self.rank}; round trip {trip:.1f} ms"
        return [LogLine(logging.INFO, text), SendToCoordinator(control.Arrived(address))]

    def _configured(self, rank: int, encoded: bytes, now: float) -> list[JoiningEffect]:
        try:
            decoded = read_setup(rank, encoded)
        except InputError as error:
            reason = f"the coordinator's configuration cannot be decoded: {printable(str(error))}"
            return [Fail(f"{reason}; check that both have the same posse version", PosseError)]
        if decoded.mode == "field" and decoded.clock != "wall":
            # any other clock's control messages depend on raw rewards
            text = (
                f"the coordinator's run uses clock = '{decoded.clock}', which is for the lab only"
            )
            return [Fail(f"{text}; real rewards need clock = 'wall'", PosseError)]
        self._take_rank(rank)
        nonce = nonce_of(self.incarnation)
        signs = self.remote and self._key and decoded.mode == "field"
        if signs and decoded.nonces[rank : rank + 1] != (nonce,):
            text = (
                "the coordinator's name for the run lacks this agent's random number, so that "
                "messages of an earlier run could pass for new ones"
            )
            return [Fail(f"{text}; ask its operator whether it is posse's own", PosseError)]
        for other, inbox in decoded.inboxes.items():
            if self.remote and (trouble := self._trouble_at(inbox)):
                text = f"the coordinator sent a bad address for agent {other}: {trouble}"
                return [Fail(text, PosseError)]
        if trouble := self._strange_keys(decoded):
            return [Fail(trouble, PosseError)]
        run = self._own_run
        self._setup = decoded if run is None else run.accept(decoded, rank)
        self._go(JoinEvent.CONFIGURED)
        self._reported_down.clear()  # with each configuration the coordinator forgets them
        self.timer = self._report_links_at(now)
        remarks = () if run is None else run.remarks(self._setup)
        return [DropHost(), *remarks, ConnectNeighbours(self._setup)]

    def _trouble_at(self, inbox: str) -> str:
        """Why this agent must not send to this inbox; "" if it may."""
        return "" if inbox == FORWARDED and self._key else inbox_trouble(inbox, "", ())

    def _strange_keys(self, setup: AgentSetup) -> str:
        """Why a neighbour's key is not believed: else a coordinator could stand between agents."""
        if not (self.remote and self._key) or self._listed is None:
            return ""
        for other in setup.neighbours if setup.inboxes or setup.keys else ():
            listed = self._listed.get(other, "")
            if not listed:
                return (
                    f"this agent's allowlist has no key of its neighbour {other}; add it by posse "
                    f"keys DIR --allow {other} PUBLIC"
                )
            if setup.keys.get(other) != listed:
                return (
                    f"the coordinator names another key for agent {other} than this agent's own "
                    f"allowlist has; if agent {other} has a new key, run: posse keys DIR "
                    f"--allow {other} PUBLIC, and else ask the coordinator's operator whether it "
                    "is posse's own"
                )
        return ""

    def _neighbour_moved(self, rank: int, inbox: str) -> list[JoiningEffect]:
        if trouble := self._trouble_at(inbox):
            text = f"the coordinator sent a bad address for agent {rank}: {trouble}"
            return [LogLine(logging.WARNING, text, f"agent {rank}'s inbox")]
        return [MoveNeighbour(rank, inbox)]

    def not_listening(self, ranks: tuple[int, ...]) -> list[JoiningEffect]:
        """These neighbours do not listen yet; with none the agent is linked."""
        self._not_listening = ranks
        if self._setup is None or self.state is not JoinState.LINKING:
            return []
        up = sorted(self._reported_down - set(ranks))
        self._reported_down -= set(up)
        effects: list[JoiningEffect] = [SendToCoordinator(control.Linked(n, up=True)) for n in up]
        if not ranks:
            self._go(JoinEvent.HEARD_BY_ALL)
            self.timer = math.inf
            effects.append(MakeHost(self._setup))
        return effects

    def _report_links_at(self, now: float) -> float:
        """When to report links that are not up; beside the coordinator never, as they are local."""
        return now + NOTICED if self.remote else math.inf

    def _report_down(self) -> list[JoiningEffect]:
        """Report links that are not up to the coordinator."""
        down = [n for n in self._not_listening if n not in self._reported_down]
        self._reported_down.update(down)
        late = ", ".join(map(str, down))
        text = f"no link yet to neighbours {late}; check the network to their inboxes"
        reports = [SendToCoordinator(control.Linked(n, up=False)) for n in down]
        return [LogLine(logging.WARNING, text), *reports] if down else []


def _ask(now: float) -> SendToCoordinator:
    return SendToCoordinator(control.Sync(_nanoseconds(now)))


def _nanoseconds(now: float) -> int:
    return round(now * 1e9)


def _refused(reason: str) -> str:
    return f"the coordinator refused this agent: {printable(reason, _LONGEST_REASON)}"
