"""The coordinator's side of joining, as a machine without input or output.

Each thing that happens is a method, which returns effects (`posse.hosts.effects`) in order. A
coordinator gathers its agents, configures them, and carries a run; `PHASES` says what may follow.

An agent that was started here sends `Join` and has arrived. An agent on another machine sends
`Join` and gets `Welcome`; it asks for the time (`Sync`, `Synced`), then sends `Arrived`. An agent
that may not join gets `Refused` with the reason. An agent that reconnects sends `Resume` and
continues where it was. The coordinator waits for an agent whose connection is lost: before a run as
long as for agents to join, in a run until its absences together reach the limit. Then the run goes
on without it, ends, or waits longer, as its `on_missing` says.

Time is an argument, in seconds of the loop's clock. `timer` is when `fire` is to be called. No
method raises because of a peer: faults are counted in `refused`, and the effect `Fail` ends a run.
"""

import logging
import math
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from enum import StrEnum

import msgspec

from posse import __version__
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.patience import Patience, link
from posse.coordinator.roster import SUPERSEDED, Member, NotAdmitted, Peer, Roster
from posse.errors import InputError, PosseError, RunFailed
from posse.gates.shown import blamed, printable
from posse.hosts.agent_setup import PROGRAM, SAME_VERSION, AgentSetup
from posse.hosts.effects import (
    AskAgent,
    Fail,
    Joined,
    KeepHead,
    LobbyEffect,
    LogLine,
    Reply,
    ResendFrames,
    Restart,
    SendToAgent,
)
from posse.measure.numbers import listed, named
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.message import Message, Plane
from posse.protocol.wire import MAX_DATA, VERSION, Codec, in_our_version, read_header
from posse.security.address import FORWARDED
from posse.spec.runfile import EngineSpec
from posse.system import get_system

_CODEC = Codec(control.TO_LOBBY, MAX_DATA)
_MOST_SYNCS = 16
"""`Sync` answered per agent; an honest agent sends eight when it joins."""
_MOST_BEGINNINGS = 5
"""How often an agent may join, or move its inbox, before a run, and all others wait as long again.
One that fails whenever it is configured, and is started again each time, ends the wait."""
_MOST_WORDS = 5
"""How often in a run an agent that accepts no connections is believed alone that a link is down."""

CATCH_UP = 1.0
"""Seconds for queued and retransmitted frames after a pause, before any agent is late."""


_NOTICED = 10.0
"""Seconds in which the agent that has a rank must show that it is there, or lose its connection,
when another one asks for the rank."""


class Phase(StrEnum):
    """What the coordinator waits for; the value completes "waiting for agent 1 …"."""

    IDLE = ""
    GATHERING = "to join"
    CONFIGURING = "to be ready"
    CARRYING = "to act"


class LobbyOrder(StrEnum):
    """What the engine asks of the lobby; the value says what it begins with."""

    GATHER = "wait until all that are wanted have joined"
    CONFIGURE = "send `Configure`, and wait until all are ready"
    CARRY = "hand the agents' frames to the host of a run"
    RELEASE = "the run is over"


PHASES = {
    (Phase.IDLE, LobbyOrder.GATHER): Phase.GATHERING,
    (Phase.IDLE, LobbyOrder.CARRY): Phase.CARRYING,  # a run that goes on after a restart
    (Phase.GATHERING, LobbyOrder.GATHER): Phase.GATHERING,
    (Phase.GATHERING, LobbyOrder.CONFIGURE): Phase.CONFIGURING,
    (Phase.GATHERING, LobbyOrder.CARRY): Phase.CARRYING,
    (Phase.CONFIGURING, LobbyOrder.GATHER): Phase.GATHERING,
    (Phase.CONFIGURING, LobbyOrder.CONFIGURE): Phase.CONFIGURING,
    (Phase.CONFIGURING, LobbyOrder.CARRY): Phase.CARRYING,
    (Phase.CARRYING, LobbyOrder.RELEASE): Phase.IDLE,
}
"""The next phase; docs/architecture.md prints this table."""


class Lobby:
    """See the module's text; `engine` says how long to wait, and how often to restart an agent.

    Above 300 lines: one branch for each message of joining, and the sentence each may end in.
    """

    def __init__(self, roster: Roster, engine: EngineSpec, system: str) -> None:
        self.roster = roster
        self.restarts: Counter[int] = Counter()
        """How often agents were started again since the last run."""
        self._most_restarts = engine.restarts
        self.refused: Counter[str] = Counter()
        self.phase = Phase.IDLE
        self.over = False
        """Whether all runs are over: whoever comes is let go."""
        self.dismissed = 0
        """How many came then."""
        self.changed = False
        """Whether an agent joined, or its inbox moved, since all were configured."""
        self.patience = Patience(engine)
        self._system = system
        self._setups: Sequence[AgentSetup] = ()
        self._near: Sequence[Collection[int]] = ()
        """Each agent's neighbours, as last configured."""
        self._words: Counter[int] = Counter()
        """In this run: how often one agent's word stood for both ends of a link."""
        self._wanted: set[int] = set()
        """Agents that `gather` waits for."""
        self._came: set[int] = set()
        """Agents that were here at some time since `gather`, and may still come back."""
        self._late_until = -math.inf
        """Until when what comes may have waited while this machine stood still."""
        self._ready: set[int] = set()
        self.with_head: set[int] = set()
        """Agents that told where their ledger is, since they were configured."""
        self._began: dict[int, float] = {}
        """In this wait: when each agent first asked to join, or for the time."""
        self._beginnings: Counter[int] = Counter()
        """Since the last run: how often each agent joined, or its inbox moved."""
        self._changed_by: set[int] = set()
        """Agents that did so since all were configured."""
        self._run: CoordinatorHost | None = None
        self.went_on = False
        """Whether this coordinator was started again, and goes on where its journal ends."""
        self._ahead: set[int] = set()
        """Agents that took more frames than this coordinator remembers."""
        self._let_go: set[int] = set()
        """Agents replaced between runs, whose death is not reported."""
        self._claimed: dict[int, float] = {}
        """By rank without keys that is taken, when another agent asked for it."""

    # --- phases ----------------------------------------------------------------------------------

    def gather(self, now: float, wanted: Collection[int] | None = None) -> None:
        """Begin to wait for these agents to join (None: for every agent); see `missing`."""
        self._wanted = set(range(self.roster.agents) if wanted is None else wanted)
        self._came = set(range(self.roster.agents)) - set(self.roster.missing())
        self._wait(LobbyOrder.GATHER, now)

    def configure(self, setups: Sequence[AgentSetup], now: float) -> list[LobbyEffect]:
        """Configure every agent, and begin to wait until each is ready; see `missing`."""
        self._ready.clear()
        self._wait(LobbyOrder.CONFIGURE, now)
        if self.roster.missing():
            self.patience.rejoin()
        self._setups = setups
        self._near = [setup.neighbours for setup in setups]
        self.patience.outages.clear()
        self.changed = False
        self._changed_by.clear()
        for member in self.roster.members.values():
            member.moved = False
        return [self._configuration(rank) for rank in range(self.roster.agents)]

    def carry(self, run: CoordinatorHost, now: float) -> None:
        """All agents are ready: the run begins."""
        self._wait(LobbyOrder.CARRY, now)
        self._setups = ()
        self._near = run.network.neighbours
        self._run = run
        away = [m.rank for m in self.roster.members.values() if m.connection < 0]
        self.patience.carry(now, away)

    def _go(self, order: LobbyOrder) -> None:
        if (self.phase, order) not in PHASES:
            raise LocalProtocolError(f"{order.name} while {self.phase.name}")
        self.phase = PHASES[self.phase, order]

    def _wait(self, order: LobbyOrder, now: float) -> None:
        self._go(order)
        self._began.clear()
        anew = not self._changed_by or bool(self._changed_by - self._restless())
        joining = order is LobbyOrder.GATHER
        self.patience.begin(now, self.roster.arrived(), joining=joining, anew=anew)

    def _restless(self) -> set[int]:
        """Agents that began anew so often before this run that nobody waits longer for it."""
        return {rank for rank, count in self._beginnings.items() if count > _MOST_BEGINNINGS}

    def _begins(self, rank: int) -> None:
        """An agent has to be configured anew, and with it all others."""
        self.changed = True
        self._changed_by.add(rank)
        self._beginnings[rank] += self._run is None

    def replace(self, rank: int) -> None:
        """Between runs, vacate the place of an agent started here: its death is then no loss."""
        if self.roster.ended(rank):
            self._let_go.add(rank)
        self._vacate(rank)

    def _vacate(self, rank: int) -> None:
        self._came.discard(rank)
        self.roster.vacate(rank)

    def release(self) -> None:
        """The run is over."""
        self._go(LobbyOrder.RELEASE)
        self._run = None
        self._words.clear()
        self._beginnings.clear()
        self.patience.release()

    @property
    def running(self) -> bool:
        """Whether a run is carried."""
        return self._run is not None

    @property
    def outlives_agents(self) -> bool:
        """Whether the run itself handles the loss of an agent."""
        return self._run is not None and self._run.outlives_agents

    def missing(self) -> list[int]:
        """The agents that the coordinator waits for."""
        if self._run is not None:
            return self._run.waiting_for()
        if self.phase is Phase.GATHERING:
            return [rank for rank in self.roster.missing() if rank in self._wanted]
        if self.phase is Phase.CONFIGURING:
            # name the absent ones first: their neighbours cannot be ready either
            away = [n for n in self.roster.missing() if n not in self._ready]
            return away or [n for n in range(self.roster.agents) if n not in self._ready]
        return []

    @property
    def complete(self) -> bool:
        """Whether the wait before a run is over: all wanted came, or all are ready."""
        if self.phase is Phase.CONFIGURING:
            return len(self._ready) == self.roster.agents
        return self._wanted <= self._came

    def _configuration(self, rank: int) -> LobbyEffect:
        self.with_head.discard(rank)
        return SendToAgent(
            rank, control.Configure(rank, msgspec.msgpack.encode(self._setups[rank]))
        )

    # --- time ------------------------------------------------------------------------------------

    @property
    def timer(self) -> float:
        """When `fire` is to be called, in the loop's seconds."""
        wait, run = self.patience.timer, self._run
        # while an agent has no connection its absence counts, and the run's own timer stands still
        counts = run is not None and not self.patience.somebody_is_away
        return min(wait, run.timer) if run is not None and counts else wait

    @property
    def roll_at(self) -> float:
        """When `call_roll` is to be called: in a silence, before it ends the run."""
        return math.inf if self._run is None else self.patience.roll_at

    def call_roll(self, now: float) -> list[int]:
        """The agents to ask for a sign of life; an answer of the session is enough."""
        self.patience.call_roll(now)
        return self._without_answer(self._suspects())

    def stood_still(self, now: float, seconds: float) -> None:
        """The coordinator itself did nothing for this many seconds until now."""
        self.patience.stood_still(now, seconds)
        self._late_until = now + CATCH_UP
        if self._run is not None:
            self._run.put_off(seconds, now + CATCH_UP)

    def fire(self, now: float) -> list[LobbyEffect]:
        """The time of `timer` has come."""
        run = self._run
        # While an agent is away only its absence counts. The run's own timer would punish the
        # others for what they wait for, and the silence has its explanation.
        if self.patience.somebody_is_away:
            effects = self._stays_away(now)
            self._go_on(now)
            return effects
        if run is not None and now >= run.timer:
            return [*run.fire()]
        if now >= self.patience.end:
            return self._silence(now)
        return []

    def _go_on(self, now: float) -> None:
        """If every agent is connected again, the run's own timer continues where it stood.

        But not before `CATCH_UP`: what the agents sent meanwhile is retransmitted first.
        """
        if self._run is not None and not self.patience.somebody_is_away:
            self._run.put_off(self.patience.away_for(now), now + CATCH_UP)

    def _silence(self, now: float) -> list[LobbyEffect]:
        """Nothing moved for too long: go on without the agents that do not answer, or fail.

        Being late is no proof of being gone: in lockstep one stuck agent makes all others wait.
        So the roll was called before this (see `roll_at`), and only who did not answer it can be
        dismissed. If all answer, or if the network between agents explains the silence and the run
        needs every agent, waiting longer changes nothing, and the run fails with what is known.
        """
        run, outlives, suspects = self._run, self.outlives_agents, self._suspects()
        trouble = "" if run is None else run.trouble
        why = self._explain_silence(suspects, now)
        silent = f"nothing was heard for {self.patience.within:g} s"
        if self.phase is Phase.GATHERING:
            silent, why = f"no agent joined for {self.patience.within:g} s", ""
        known = "" if run is None else run.deadlock
        waits = known or f"waiting for {named(self.missing())} {self.phase}"
        late = why or f"{silent}; {waits}"
        effects: Sequence[LobbyEffect] | None = None
        if run is not None and (outlives or not why):
            effects = run.fall_silent(self._without_answer(suspects))
        if run is None or effects is None:
            if run is None and (restless := sorted(self._restless())):
                late += f"; {named(restless)} joined anew again and again"
            return [Fail(late + trouble)]
        self.patience.heard = now
        lost = [rank for rank in suspects if rank in run.dismissed]
        text = f"{silent}; the run goes on without {named(lost)}"
        return [*effects, *[LogLine(logging.WARNING, text)] * bool(outlives and lost)]

    def _suspects(self) -> list[int]:
        return self.missing() if self._run is None else self._run.suspects()

    def _without_answer(self, late: list[int]) -> list[int]:
        """Those of these agents that have not answered the roll."""
        known = [self.roster.members[rank] for rank in late if rank in self.roster.members]
        return [m.rank for m in known if not self.patience.answered(max(m.heard, m.answered))]

    def _explain_silence(self, late: list[int], now: float) -> str:
        """Which agents or links hold the others up, as a sentence; "" if unknown."""
        unanswering = self._without_answer(late)
        silent = f"nothing was heard for {now - self.patience.heard:.0f} s"
        if down := self.patience.outages.beside(unanswering):
            links, was = listed([*map(link, down)]), "were" if len(down) > 1 else "was"
            return f"{silent} while {links} {was} down; check the network between these agents"
        if 0 < len(unanswering) < len(late):
            verb = "do" if len(unanswering) > 1 else "does"
            return f"{silent}; {named(unanswering)} {verb} not answer, and the others wait"
        return ""

    def _stays_away(self, now: float) -> list[LobbyEffect]:
        effects: list[LobbyEffect] = []
        absence = self.patience.absence
        if self._run is not None and self._run.waits:
            return [
                LogLine(logging.WARNING, f"agent {rank} is away; the run waits until it comes back")
                for rank in self.patience.wait_on(now)
            ]
        for rank in self.patience.overdue(now):
            if not self.outlives_agents:
                self.roster.ended(rank)
                return [Fail(gone(rank, absence))]
            effects += self._go_on_without(rank, now)
            text = f"agent {rank} was away for {absence:g} s; the run goes on without it"
            effects.append(LogLine(logging.WARNING, text))
        self.patience.heard = now
        return effects

    # --- events ----------------------------------------------------------------------------------

    def rejected(self, reason: str, text: str = "") -> list[LobbyEffect]:
        """The socket layer refused something; `text` is the log line, "" for none."""
        self.refused[reason] += 1
        return [LogLine(logging.WARNING, text, reason)] if text else []

    def died(
        self, rank: int | None, why: str, now: float, *, killed: bool = False
    ) -> list[LobbyEffect]:
        """A process that was started here died; see `posse.coordinator.crew.Died`."""
        if rank is None:
            return [Fail(why)]
        if rank in self._let_go:
            self._let_go.remove(rank)
            return []
        if killed and self.restarts[rank] < self._most_restarts:
            return self._started_again(rank, why, now)
        self.roster.ended(rank)
        return self._ended(rank, why, now)

    def quit(
        self, rank: int, why: str, now: float, kind: type[PosseError] = RunFailed
    ) -> list[LobbyEffect]:
        """An agent left the run: it said so, or sent something impossible."""
        # an agent that was started here fails by our own mistake, not by a peer's fault
        ours = not self.roster.members[rank].incarnation
        self.roster.members[rank].quit = True
        return [Fail(why, kind)] if ours else self._ended(rank, why, now)

    def revoke(self, rank: int, now: float, *, replaced: bool = False) -> list[LobbyEffect]:
        """An agent's key is not believed any more: it takes no part from now on.

        With a key that `replaced` it another process may come in its place, before a run.
        """
        did = "replaced" if replaced else "revoked"
        why = f"the key of agent {rank} was {did}"
        member = self.roster.members.get(rank)
        if member is None:
            return [LogLine(logging.WARNING, why)]
        refused = Reply(member.identity, control.Refused(f"its key was {did}"))
        if replaced and self._run is None:
            self.roster.expel(member)
            self._came.discard(rank)
            self._ready.discard(rank)
            return [LogLine(logging.WARNING, f"{why}; waiting for it with the new one"), refused]
        self.roster.by_identity.pop(member.identity, None)
        self.roster.ended(rank)
        member.quit, member.connection = True, -1
        if self._run is not None and rank in self._run.dismissed:
            return [LogLine(logging.WARNING, why), refused]
        return [refused, *self._ended(rank, why, now)]

    def _ended(self, rank: int, why: str, now: float) -> list[LobbyEffect]:
        """An agent will not come back."""
        if self.phase is Phase.GATHERING and rank not in self._wanted:
            return []
        if not self.outlives_agents:
            return [Fail(why)]
        effects = self._go_on_without(rank, now)
        return [*effects, LogLine(logging.WARNING, f"{why}; the run goes on without it")]

    def _started_again(self, rank: int, why: str, now: float) -> list[LobbyEffect]:
        self.restarts[rank] += 1
        self._vacate(rank)
        if self.running:
            self.patience.left(rank, now)
        text = f"{why}; it is started again"
        return [LogLine(logging.WARNING, text, f"agent {rank}"), Restart(rank)]

    def receive(  # noqa: PLR0912  one for each message
        self, peer: Peer, frame: bytes, now: float, wall: float
    ) -> list[LobbyEffect]:
        """A frame came from a peer; `wall` is this machine's clock, in seconds since 1970."""
        member = self.roster.by_identity.get(peer.identity)
        if member is not None:
            member.note(frame, now)
        try:
            message = _CODEC.decode(read_header(frame).plane, frame)
        except RemoteProtocolError as error:
            self.refused[error.reason] += 1
            if member is None and error.reason == "version":
                return _refuse(-1, _other_wire(frame), peer.identity, peer.host)
            return []
        if member is None:
            return self._stranger(peer, message, now, wall)
        match message:
            case control.LedgerHead() if self._setups and member.rank not in self.with_head:
                self.with_head.add(member.rank)
                return [KeepHead(member.rank, message)]
            case control.Ready(first):
                # one for an earlier `Configure` may come late, over a new connection
                if self._setups and first == self._setups[0].first:
                    self._ready.add(member.rank)
                    self.patience.counted(now, len(self._ready))
            case control.Resume() if message.incarnation == member.incarnation:
                # sent twice: frames before the first `Resume` were answered `Whose`
                member.resumed = max(member.resumed, message.connection)
                return [Reply(peer.identity, control.Resumed(member.session.taken))]
            case control.Join(incarnation=own) if (
                own and own == member.incarnation and not member.arrived and member.syncs < 1
            ):  # sent twice, as the first answer was lost or late
                return [Reply(peer.identity, control.Welcome(member.rank, self._system))]
            case control.Linked(about, up):
                return self.linked(member.rank, about, now, up=up)
            case control.Sync(sent) if member.syncs < _MOST_SYNCS:
                member.syncs += 1
                self._joins(member.rank, now)
                return [Reply(peer.identity, control.Synced(sent, round(now * 1e9)))]
            case control.Arrived(inbox) if not member.arrived:
                return self._arrived(member, inbox, now)
            case control.Failed(reason, mistake):
                member.ended = bool(member.incarnation)  # the engine sees local processes end
                why = blamed(member.rank, reason)
                return (
                    [Fail(why, InputError if mistake else RunFailed)]
                    if self._run is None
                    else [LogLine(logging.WARNING, why, f"agent {member.rank}")]
                )
            case _:
                self.refused["out-of-turn"] += 1
        return []

    def _joins(self, rank: int, now: float) -> None:
        """Extend the wait before a run for an agent that joins: by as long again at most."""
        too_long = now > self._began.setdefault(rank, now) + self.patience.within
        if self._run is None and not too_long and self._beginnings[rank] <= _MOST_BEGINNINGS:
            self.patience.heard = now

    def _moved(self, now: float) -> int:
        """Extend the wait if more agents are here than before; returns how many."""
        here = self.roster.arrived()
        self.patience.counted(now, len(self._ready), here)
        return here

    def _arrived(self, member: Member, inbox: str, now: float) -> list[LobbyEffect]:
        member.inbox = member.inbox or inbox  # what a `Resume` said is newer
        lacks = not member.inbox and get_system(self._system).wiring is not None
        bad = (member, "it has no inbox for its neighbours") if lacks else None
        if bad := bad or self.roster.misplaced(member, before_run=self._run is None):
            who, why = bad
            self.refused["bad-inbox"] += 1
            self.roster.expel(who)
            self._came.discard(who.rank)
            refusal = _refuse(who.rank, why, who.identity, who.host)
            return refusal if who is member else [*refusal, *self._arrived(member, inbox, now)]
        member.takes_part = True
        self._came.add(member.rank)
        arrived = self._moved(now)
        text = f"agent {member.rank} joined ({arrived} of {self.roster.agents})"
        effects: list[LobbyEffect] = [
            LogLine(logging.INFO, text, f"agent {member.rank}"),
            Joined(arrived),
        ]
        if self.phase is Phase.CONFIGURING:  # it came back while the others were configured
            effects.append(self._configuration(member.rank))
        return effects

    def _stranger(self, peer: Peer, message: Message, now: float, wall: float) -> list[LobbyEffect]:
        """A peer that has not joined may join or resume."""
        self.dismissed += self.over
        if isinstance(message, control.Resume):
            return self._resumed(peer, message, now)
        if not isinstance(message, control.Join):
            self.refused["never-joined"] += 1
            return []
        if self.over:
            return [Reply(peer.identity, control.Goodbye())]
        if message.version and not message.version.endswith(f"+{control.WIRE}"):
            self.refused["version"] += 1
            why = (
                f"it has posse {printable(message.version)}, and this coordinator {PROGRAM} has "
                f"other conversations; {SAME_VERSION}"
            )
            return _refuse(message.rank, why, peer.identity, peer.host)
        try:
            member, old = self.roster.admit(message, peer, now, wall)
        except NotAdmitted as error:
            if error.kind == "allowlist" or (error.kind == "clock" and now < self._late_until):
                return []  # it will ask again
            if error.kind == "taken" and self._may_be_gone(message.rank, now):
                return [AskAgent(message.rank)]  # so will this one
            self.refused[error.kind] += 1
            return _refuse(message.rank, error.reason, peer.identity, peer.host)
        (self._came.add if member.arrived else self._came.discard)(member.rank)
        if old is None:
            self._joins(member.rank, now)
        here = self._moved(now)
        self._begins(member.rank)
        effects = self._replace(member, old, now) if old is not None else []
        if effects and isinstance(effects[-1], Fail):
            return effects
        if member.incarnation:
            if message.version not in ("", PROGRAM):
                theirs = f"agent {member.rank} has posse {printable(message.version)}"
                text = f"{theirs}, this coordinator {PROGRAM}; they speak the same wire"
                effects.append(LogLine(logging.WARNING, text, "versions"))
            welcome = control.Welcome(member.rank, self._system)
            return [*effects, Reply(peer.identity, welcome)]
        return [*effects, Joined(here)]

    def _may_be_gone(self, rank: int, now: float) -> bool:
        """Whether an agent was not heard since another, perhaps its successor, asked for its rank.

        A machine that lost its power, or its address, is noticed only after some seconds.
        """
        if now > self._claimed.get(rank, -math.inf) + 2 * _NOTICED:
            self._claimed[rank] = now
        member, since = self.roster.members[rank], self._claimed[rank]
        return now < since + _NOTICED and max(member.heard, member.answered) <= since

    def _resumed(self, peer: Peer, asked: control.Resume, now: float) -> list[LobbyEffect]:
        member = self.roster.resume(asked, peer, now)
        if member is None:
            return [Reply(peer.identity, control.Goodbye() if self.over else control.Unknown())]
        if member.identity != peer.identity:
            return []  # this `Resume` came over a connection that is replaced
        if member.arrived:
            self._came.add(member.rank)
        if self.patience.returned(member.rank, now):
            self._go_on(now)
        if member.incarnation and asked.starts > member.starts:
            self.restarts[member.rank] += 1
            self.patience.outages.unsay(member.rank)
            self.patience.mended(now)
        member.starts = asked.starts
        if older := self._older_journal(member, asked, now):
            return older
        text = f"agent {member.rank} is back over a new connection"
        about = f"agent {member.rank}"
        return [
            LogLine(logging.INFO, text, about),
            ResendFrames(member.rank, asked.taken),
            *self._moved_to(member, asked.inbox),
        ]

    def _older_journal(
        self, member: Member, asked: control.Resume, now: float
    ) -> list[LobbyEffect]:
        """What follows if agent and coordinator cannot both have the last of their journals."""
        session, rank = member.session, member.rank
        if asked.taken < session.confirmed or 0 <= asked.sent < session.taken:
            refused = (
                "its journal is torn, or a copy of an earlier one, so it cannot go on in this run"
            )
            why = f"agent {rank} went back to before what it had said: {refused}"
            remove = "; remove the journal, and start the agent again for the next run"
            refusal = Reply(member.identity, control.Refused(refused + remove))
            member.quit = True
            return [refusal, *self._ended(rank, why, now)]
        if asked.taken <= session.sent or not self.went_on:
            return []
        self._ahead.add(rank)
        why = (
            "the coordinator's journal is a copy of an earlier one, or torn: "
            f"{named(sorted(self._ahead))} took frames that it does not have"
        )
        if 2 * len(self._ahead) > self.roster.agents:
            return [Fail(f"{why}; remove it, and start the run over")]
        moved = self._moved_to(member, asked.inbox)
        return [LogLine(logging.WARNING, why), ResendFrames(rank, asked.taken), *moved]

    def _moved_to(self, member: Member, inbox: str) -> list[LobbyEffect]:
        """An agent is back with this inbox: tell it and its neighbours who has moved, if any."""
        effects: list[LobbyEffect] = []
        if member.incarnation and inbox not in ("", member.inbox):
            about = f"agent {member.rank}'s inbox"
            if trouble := self.roster.inbox_trouble(member, inbox):
                self.refused["bad-inbox"] += 1
                return [LogLine(logging.WARNING, f"agent {member.rank}: {trouble}", about)]
            member.inbox = inbox
            if not member.takes_part:
                return []  # its `Arrived`, which is on its way, may be of before it moved
            member.moved = True
            effects.append(
                LogLine(logging.INFO, f"agent {member.rank} is now reached at {inbox}", about)
            )
        # our journal may lack that it moved, and that it moved back
        member.moved |= self.went_on and bool(inbox)
        if self._run is None:
            if effects:
                self._begins(member.rank)
            return effects
        for rank in self._run.network.neighbours[member.rank]:
            other = self.roster.members.get(rank)
            if other is None or other.connection < 0:
                continue
            if member.moved:
                effects.append(Reply(other.identity, control.Moved(member.rank, member.inbox)))
            if other.moved:
                effects.append(Reply(member.identity, control.Moved(rank, other.inbox)))
        return effects

    def _replace(self, member: Member, old: Member, now: float) -> list[LobbyEffect]:
        """Replace a member by a newer incarnation, or by the same one that joins anew."""
        effects: list[LobbyEffect] = []
        is_same = member.incarnation == old.incarnation
        if not is_same and old.connection >= 0:
            text = f"agent {member.rank} was started again; the older process is told to stop"
            effects.append(LogLine(logging.WARNING, text, f"agent {member.rank}"))
            effects.append(Reply(old.identity, control.Refused(SUPERSEDED)))
        if self.running and not self.outlives_agents:
            cause = "lost its connection" if is_same else "was started again"
            effects.append(
                Fail(
                    f"agent {member.rank} {cause} in the middle of a run, and what it sent may be "
                    "lost; start the run again"
                )
            )
            return effects
        if self._run is not None and member.rank not in self._run.dismissed:
            text = f"agent {member.rank} starts over; the run goes on without it"
            effects.append(LogLine(logging.WARNING, text, f"agent {member.rank}"))
        return [*effects, *self._go_on_without(member.rank, now)]

    def closed(self, connection: int, now: float) -> list[LobbyEffect]:
        """A connection is lost; `connection` is its file descriptor."""
        self.refused["connection-dropped"] += 1
        member = self.roster.lost(connection)
        return [] if member is None else self._away(member, now)

    def cut_off(self, member: Member, now: float) -> list[LobbyEffect]:
        """A member cannot be reached: the connection over which it came is gone."""
        if member.connection < 0 or not member.incarnation:
            return []
        member.connection = -1
        return self._away(member, now)

    def _away(self, member: Member, now: float) -> list[LobbyEffect]:
        then = "waiting for it to join again"
        if self._run is not None and member.rank in self._run.dismissed:
            return []
        if self.running:
            self.patience.left(member.rank, now)
            then = f"waiting {self.patience.absence:g} s for it to come back"
        else:
            self.patience.rejoin()
        text = f"the connection of agent {member.rank} was lost; {then}"
        return [LogLine(logging.WARNING, text, f"agent {member.rank}")]

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether these agents were told of each other."""
        return one < len(self._near) and other in self._near[one]

    def linked(self, by: int, about: int, now: float, *, up: bool) -> list[LobbyEffect]:
        """Agent `by` lost its connection to neighbour `about`, or has one again."""
        if not self.are_neighbours(by, about):
            self.refused["no-neighbour"] += 1
            return []
        if self._run is not None and not self._run.dismissed.keys().isdisjoint((by, about)):
            return []
        name = link((by, about))
        # what goes to who accepts no connections goes by here: the other end has nothing to see
        member = self.roster.members.get(by)
        alone = member is not None and member.inbox == FORWARDED
        if up:
            if alone:
                self.patience.outages.back(about, by)
            healed = self.patience.outages.back(by, about)
            self.patience.mended(now)
            return [LogLine(logging.INFO, f"{name} is up again", name)] * healed
        is_new = self.patience.outages.lost(by, about)
        if alone and self._words[by] < _MOST_WORDS:
            self._words[by] += is_new
            self.patience.outages.lost(about, by)
        self.patience.parted(now)
        if not is_new:
            return []
        return [LogLine(logging.WARNING, f"{name} is down, as agent {by} reports", name)]

    def _go_on_without(self, rank: int, now: float) -> Sequence[LobbyEffect]:
        """Let the run, if any, go on without this agent."""
        self.patience.forget(rank, now)
        if self._run is None:
            return ()
        if rank not in self._run.dismissed:
            self.patience.give_moment(now)
        return self._run.lose(rank)


def _other_wire(frame: bytes) -> str:
    """The message for an agent whose frames have another version."""
    program = ""
    with suppress(RemoteProtocolError):
        join = _CODEC.decode(Plane.CONTROL, in_our_version(frame))
        program = join.version if isinstance(join, control.Join) else ""
    return (
        f"it has posse {printable(program) or 'of an unknown version'} and speaks version "
        f"{frame[2]} of the wire, and this coordinator has posse {__version__} and speaks version "
        f"{VERSION}; {SAME_VERSION}"
    )


def _refuse(rank: int, reason: str, identity: bytes, host: str) -> list[LobbyEffect]:
    asked = str(rank) if rank >= 0 else "(no rank given)"
    place = f" at {host}" if host else ""
    return [
        LogLine(logging.WARNING, f"refused agent {asked}{place}: {reason}", "refused agents"),
        Reply(identity, control.Refused(reason)),
    ]


def gone(rank: int, absence: float) -> str:
    """The message for an agent that stays away from a run that needs it."""
    return (
        f"agent {rank} lost its connection and did not come back within {absence:g} s: its process "
        "ended, or the network between it and the coordinator failed; start the run again"
    )
