"""The coordinator's loop: carries frames between its socket, its lobby and the run's host."""

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, assert_never

import msgspec
import zmq

from posse import __version__
from posse.coordinator.crew import Died
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.lobby import CATCH_UP, Lobby
from posse.coordinator.recovery import replay_input
from posse.coordinator.roster import Member, Peer, Roster
from posse.coordinator.router import ConnectionClosed, Router
from posse.coordinator.witness import Witness
from posse.durable.capture import Tap
from posse.durable.journal import Input, Journal
from posse.errors import PosseError, RunFailed
from posse.hosts import effects
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.status import CoordinatorStatus
from posse.log import LOG
from posse.measure.numbers import named
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.wire import MAX_DATA, kind_of
from posse.results.record import RunRecord
from posse.results.traffic import ForwardedBytes
from posse.security.address import FORWARDED
from posse.security.keys import CoordinatorKeys
from posse.spec.fingerprint import fingerprint
from posse.spec.runfile import RunSpec
from posse.wire.door import AROUND, AROUND_WITH_KEYS
from posse.wire.forwarding import FORWARD, HEAD
from posse.wire.line import Interceptor, PeerStalled
from posse.wire.links import outside_runs
from posse.wire.orders import Signs
from posse.wire.session import Session, is_numbered, shows_life
from posse.wire.sockets import PROBE_EVERY, Selector
from posse.wire.world import HERE, World

_LOOK: Final = 0.02
"""Seconds between checks for all but frames: to poll before each frame would double its cost."""

_STOOD_STILL: Final = 0.5
"""A check overdue by more seconds means that this process was stopped or had no processor: frames
that received meanwhile are taken before any agent counts as late."""

_FAREWELL = 5.0
"""Seconds to wait for the next agent on another machine to confirm its Goodbye."""
_HASTE = 2.0
"""Seconds for all to confirm in a hurry: a container is killed 10 s after it is asked to stop."""

_LAST_WORDS = 2.0
"""Most seconds to read what dead agents sent before their deaths are reported."""

_PUBLISH = 0.25
"""Seconds between snapshots."""

_MOST_UNREAD: Final = 16 * MAX_DATA
"""Bytes of neighbours that may wait for an agent that accepts no connections, since it last said
anything, as it does when asked at the half. More means that it is stopped, or slower than its
neighbours send: what is dropped here is asked for again. ZeroMQ's own bound counts frames."""

_RESUME: Final = control.Resume.__name__
_FAILED: Final = control.Failed.__name__


class Hub:
    """The coordinator's end of all links: `gather` agents, `configure` them, `carry` runs.

    The lobby and the run's host decide, without sockets or clocks. `snapshot` is the status, for
    other threads.

    Above 300 lines: this one loop carries all frames and every effect of the lobby.
    """

    def __init__(
        self,
        spec: RunSpec,
        bind: str,
        token: str,
        keys: CoordinatorKeys | None = None,
        tap: Tap | None = None,
        journal: Journal | None = None,
        world: World = HERE,
        witness: Witness | None = None,
        signs: Signs | None = None,
    ) -> None:
        self._world = world
        self._witness = witness
        self._now = world.monotonic
        agents, engine = spec.agents.count, spec.engine
        roster = Roster(agents, token, keys, fingerprint(spec), engine.inboxes, world.owns)
        self.lobby = Lobby(roster, engine, spec.system)
        self._patience = self.lobby.patience
        self.on_join: Callable[[int], None] = lambda joined: None
        self.on_look: Callable[[], None] = lambda: None
        """Called between frames, every `_LOOK` seconds."""
        self.on_restart: Callable[[int], None] = lambda rank: None
        self._keys = keys
        self._expelled: set[int] = set()
        """Agents whose keys are not believed any more."""
        self.snapshot = CoordinatorStatus(agents=agents)
        self.exit_code = 0
        """Exit code of the runs so far; agents are told it in `Goodbye`."""
        self._completed = 0
        self._leave_by = math.inf
        self.frames = 0
        self._publish_at = 0.0
        self._loses_frames = not bind.startswith("ipc:")
        self._probe_at = 0.0
        self._look_at, self._late_from = math.inf, -math.inf
        self._deaths: list[Died] = []
        self._report_deaths_at = math.inf
        self._host: CoordinatorHost | None = None
        self._stalled: list[tuple[int, str]] = []
        """Agents that did not read what was sent to them, and the sentences about it."""
        self.resumable = False
        """Whether an interrupted run is to resume later."""
        self.adjourned = False
        """Whether it was interrupted so; agents are then not let go."""
        self._forwarded = ForwardedBytes()
        self._journal = journal
        self._around = AROUND if keys is None else AROUND_WITH_KEYS
        self._interceptor = Interceptor(journal, tap, lambda: COORDINATOR)
        self._interceptor.recording = False
        through = self._interceptor
        self._router = Router(
            bind, engine.deadline, _LOOK, keys, agents, roster.taken, through, world, signs
        )
        roster.link = self._router.link
        self.endpoint = self._router.endpoint
        self.interrupted = threading.Event()
        """Set from another thread, it ends the wait under way with `RunFailed`."""
        self._selector = Selector(world.poller())

    def watch(self, source: zmq.Socket[bytes] | int, describe: Callable[[], Died]) -> None:
        """Call `describe` for a death whenever `source` is readable."""
        self._selector.watch(source, lambda: self._deaths.append(describe()))

    def status(self) -> CoordinatorStatus:
        """Who is up, when each was last heard, what is awaited; from any thread."""
        return self.snapshot.as_of(self._now())

    def sessions(self) -> Iterator[tuple[int, Session]]:
        """The sessions with the agents, by rank."""
        for rank, member in self.lobby.roster.members.items():
            yield rank, member.session

    def gather(self, wanted: Collection[int] | None = None) -> None:
        """Wait until these agents have joined; None for every agent."""
        self.lobby.gather(self._now(), wanted)
        self._until(lambda: self.lobby.complete)

    def dismiss(self, patience: float) -> None:
        """All runs are over: let go who still joins, until nobody came for `patience` seconds."""
        lobby, came = self.lobby, -1

        def somebody(before: int, until: float) -> bool:
            return lobby.dismissed > before or self._now() >= until

        while came < lobby.dismissed < lobby.roster.agents:
            came = lobby.dismissed
            self._until(partial(somebody, came, self._now() + patience))

    def configure(self, setups: Sequence[AgentSetup]) -> None:
        """Configure every agent, and wait until all are ready or one has joined anew.

        Sessions between agents begin anew.
        """
        first = self._world.randbits(32)
        setups = [msgspec.structs.replace(setup, first=first) for setup in setups]
        self._carry_out(self.lobby.configure(setups, self._now()))
        self._until(lambda: self.lobby.complete or self.lobby.changed)
        self._miss_heads(setups[0])

    def _miss_heads(self, setup: AgentSetup) -> None:
        """Warn of agents that should have told where the ledger of their rewards is."""
        if self._witness is None or isinstance(setup.arms, int) or not self.lobby.complete:
            return
        if silent := sorted(set(range(setup.agents)) - self.lobby.with_head):
            LOG.warning(
                "%s told of no ledger, so nobody notices if rewards are used that the ledger no "
                "longer knows",
                named(silent),
            )

    def _keep_head(self, rank: int, head: control.LedgerHead) -> str:
        """Have the witness keep where an agent's ledger is; why that cannot be, if it cannot."""
        keys, witness = self._keys, self._witness
        if keys is None or witness is None or rank not in keys.signers:
            return ""  # whose key was revoked is about to be told
        try:
            why = witness.take(rank, keys.signers[rank], head)
        except RemoteProtocolError as error:
            self._carry_out(self.lobby.rejected(error.reason))
            return ""
        if witness.trouble:
            text = "what agents tell of their ledgers is not kept: %s"
            LOG.warning(text, witness.trouble, extra={"about": "the witness"})
        return why

    def carry(
        self, host: CoordinatorHost, inputs: Iterable[Input] = (), *, begun: bool = False
    ) -> RunRecord:
        """Carry the host's frames until its run is complete.

        After a restart `inputs` are replayed first; `begun`: the host is from a checkpoint.
        """
        self._router.door.begin()
        self._host = host
        self._interceptor.recording = True
        self.lobby.carry(host, self._now())
        try:
            if not begun:
                self._carry_out(host.begin())
            for recorded in inputs:
                self._carry_out(replay_input(recorded, host, self.lobby.roster.members))
            self._until(lambda: host.complete)
        finally:
            self.lobby.release()
            self._host = None
            self._interceptor.recording = False
            self._stalled.clear()
            self._completed += host.complete
            self._publish(self._now())
        record = host.record
        assert record is not None
        record.refused = dict(self.lobby.refused + host.refused)
        self.lobby.refused.clear()
        record.restarts = dict(self.lobby.restarts)
        self.lobby.restarts.clear()
        record.communication.socket_bytes = self._router.door.counted()
        if self._forwarded.messages:
            record.communication.forwarded = self._forwarded
            self._forwarded = ForwardedBytes()
        return record

    def hurry(self) -> None:
        """From now on wait at most `_HASTE` seconds for agents to confirm their Goodbye."""
        self._leave_by = min(self._leave_by, self._now() + _HASTE)

    def close(self, why: str = "") -> None:
        """Say goodbye and free everything; `why` is said to people, if it is no success.

        If the run is to resume later, as the journal failed or as it was `adjourned`, agents are
        not let go.
        """
        broken = self._journal is not None and self._journal.broken
        if why and (broken or self.adjourned):
            LOG.warning(
                "all agents wait for this coordinator to resume the run: %sstart it again by the "
                "same command",
                "make room for its journal and " if broken else "",
            )
            away = True
        else:
            if broken:
                self._interceptor.journal = None  # the runs are over; it must not keep agents here
            away = self._say_goodbye(why)
        self.snapshot = msgspec.structs.replace(self.snapshot, ended=self.exit_code)
        self._router.close(flush=not away)

    def _say_goodbye(self, why: str) -> bool:
        """Let all agents go; returns whether there are any on other machines."""
        reason = f": {why}" if why else ""
        LOG.info("letting all agents go (exit code %d)%s", self.exit_code, reason)
        with suppress(PosseError):  # the last look may be as old as a wait for who does not read
            self._expel()
        for member in self.lobby.roster.members.values():
            with suppress(PosseError):
                member.line.send(outside_runs(control.Goodbye(self.exit_code)))
        return self._await_goodbyes()

    def _await_goodbyes(self) -> bool:
        """Wait for agents on other machines to confirm their Goodbye; whether there are any."""
        roster, left, deadline = self.lobby.roster, math.inf, math.inf
        waiting = roster.to_see_off()
        while waiting:
            now = self._now()
            if len(waiting) < left:
                left, deadline = float(len(waiting)), now + _FAREWELL
            if now >= min(deadline, self._leave_by):
                LOG.warning(
                    "%s did not confirm the goodbye, and may still wait", named(sorted(waiting))
                )
                break
            for _ in self._connection_effects():
                pass  # only so that the lobby notes lost connections
            if (received := self._router.next()) is None:
                waiting = roster.to_see_off()
                continue
            identity, part = received
            member = roster.by_identity.get(identity)
            if part.more:
                continue
            data = part.bytes
            if member is not None:
                member.ended |= kind_of(member.line.receive(data) or b"") == _FAILED
                if not member.to_see_off:
                    waiting.discard(member.rank)
            elif kind_of(data) == _RESUME:
                peer = self._router.peer(identity, part)
                self._carry_out(self.lobby.receive(peer, data, now, self._world.wall()))
        return any(member.incarnation for member in roster.members.values())

    # --- the loop --------------------------------------------------------------------------------

    def _until(self, done: Callable[[], bool]) -> None:
        """Carry frames until `done`; raises if the lobby ends the wait."""
        lobby = self.lobby
        self._publish(self._now())
        self._look_at = self._now()
        while not done():
            now = self._receive()
            if self._deaths:
                self._report_deaths(now)
            if now < self._look_at:
                continue
            self._look_at, late_from = now + _LOOK, self._late_from
            if self.interrupted.is_set():
                self.interrupted.clear()
                raise RunFailed("the run was interrupted")
            self.on_look()
            self._selector.wait(0)
            self._connections()
            if now >= max(lobby.timer, late_from):
                self._carry_out(lobby.fire(now))
            if now >= max(lobby.roll_at, late_from):
                self._call_roll(lobby.call_roll(now))
            if now >= self._probe_at:
                self._probe(now)
            if now >= self._publish_at:
                self._publish(now)
                self._expel()

    def _receive(self) -> float:
        """Handle one frame, if one comes within `_LOOK` seconds; returns the time."""
        received = self._router.next()
        now = self._now()
        if now >= self._look_at + _STOOD_STILL:  # known before what waited meanwhile is read
            self._late_from = now + CATCH_UP
            self.lobby.stood_still(now, now - self._look_at)
            self._look_at = now
        if received is None:
            if self._deaths and all(death.killed for death in self._deaths):
                self._report_deaths_at = now
            return now
        identity, part = received
        data = None if part.more else part.bytes
        member = self.lobby.roster.by_identity.get(identity)
        if member is None:
            self._receive_from_stranger(identity, part, data, now)
            return now
        frame, host = data, self._host
        if data is not None:
            # also what the session drops: the door compares it with the bytes that the kernel saw
            member.received += len(data) + self._around
            member.unread = 0
            if data.startswith(FORWARD):
                self._forward(member, data)
                return now
            frame = member.line.receive(data) if is_numbered(data) else data
            if frame is None:
                # an answer to the roll is no frame, but shows that the agent is there
                member.answered = now
                if host is not None and shows_life(data) and host.expects(member.rank):
                    self._patience.moved(now)
                return now
        # A member's frames are the run's, even malformed ones, which the host counts. But `Resume`
        # without a number is about the connection, and an agent that has not arrived, because it
        # joined during the run, belongs to the next one: both are the lobby's.
        of_run = frame is not data or kind_of(frame or b"") != _RESUME
        if frame is not None and host is not None and of_run and member.takes_part:
            self._deliver(host, member, frame, now)
        else:
            self._hand_to_lobby(Peer(identity, "", member.connection), frame, now)
        return now

    def _forward(self, member: Member, data: bytes) -> None:
        """Hand on what an agent sealed for a neighbour that accepts no connections."""
        rank = HEAD.unpack_from(data)[1] if len(data) >= HEAD.size else COORDINATOR
        to = self.lobby.roster.members.get(rank)
        known = to is not None and self.lobby.are_neighbours(member.rank, rank)
        if to is None or not known or to.inbox != FORWARDED:
            self._carry_out(self.lobby.rejected("not-forwarded"))
        elif to.connection >= 0 and to.unread + len(data) <= _MOST_UNREAD:
            # else its sender asks again
            to.unread += len(data)
            if to.unread - len(data) <= _MOST_UNREAD // 2 < to.unread:
                to.line.ask()
            data = HEAD.pack(FORWARD, member.rank) + data[HEAD.size :]
            if not self._router.reply(to.identity, data, rank):
                self._forwarded.messages += 1
                self._forwarded.bytes += len(data)

    def _receive_from_stranger(
        self, identity: bytes, part: zmq.Frame, data: bytes | None, now: float
    ) -> None:
        """Handle what came over a connection that is no agent's, or not yet."""
        peer = self._router.peer(identity, part)
        # The kernel gives a closed connection's descriptor to the next one, and the monitor is
        # another socket: without this the loss could be read later, and taken for this peer's.
        self._connections()
        if data is not None and data.startswith(FORWARD):
            return  # its sender resumes, and asks again
        if data is not None and is_numbered(data):
            # ZeroMQ kept it over a reset. Taken now it would come before what was lost with the old
            # connection, so it is dropped; the agent resumes, and sends all of it again, in order.
            self._carry_out(self.lobby.rejected("out-of-session"))
            self._reply(identity, control.Whose())
        else:
            self._hand_to_lobby(peer, data, now)

    def _hand_to_lobby(self, peer: Peer, frame: bytes | None, now: float) -> None:
        lobby = self.lobby
        self._carry_out(
            lobby.rejected("malformed")
            if frame is None
            else lobby.receive(peer, frame, now, self._world.wall())
        )

    def _deliver(self, host: CoordinatorHost, member: Member, frame: bytes, now: float) -> None:
        """Hand the run's host a frame that an agent sent it."""
        self.frames += 1
        member.note(frame, now)
        self._carry_out(host.receive(member.rank, frame))

    def _connections(self) -> None:
        self._carry_out(self._connection_effects())

    def _connection_effects(self) -> Iterator[effects.LobbyEffect]:
        now = self._now()
        for event in self._router.connections():
            if isinstance(event, ConnectionClosed):
                yield from self.lobby.closed(event.connection, now)
            else:
                yield from self.lobby.rejected(event.reason, event.text)

    def _report_deaths(self, now: float) -> None:
        """Report deaths after `_LAST_WORDS` seconds, or at the first pause if all were killed.

        An agent that ends by itself says why; on a busy machine that comes after its death.
        """
        if now >= self._report_deaths_at:
            self._report_deaths_at = math.inf
            deaths, self._deaths = self._deaths, []
            to_carry_out = [
                effect
                for died in deaths
                for effect in self.lobby.died(died.rank, died.why, now, killed=died.killed)
            ]
            # Fail goes last: it ends this wait, and a death left over would end the next
            self._carry_out(
                sorted(to_carry_out, key=lambda effect: isinstance(effect, effects.Fail))
            )
        elif self._report_deaths_at == math.inf:
            self._report_deaths_at = now + _LAST_WORDS

    def _probe(self, now: float) -> None:
        self._probe_at = now + PROBE_EVERY
        for member in self.lobby.roster.members.values():
            away = self._loses_frames or member.incarnation
            if away and member.connection >= 0 and member.session.unconfirmed:
                member.line.probe()

    def _expel(self) -> None:
        """Part with the agents whose keys the allowlist has no longer."""
        keys, roster = self._keys, self.lobby.roster
        if keys is None:
            return
        keys.refresh()
        if keys.trouble:
            text = "nobody new is let in, as the allowlist cannot be read: %s"
            LOG.warning(text, keys.trouble, extra={"about": "the allowlist"})
        joined = {rank: member.key for rank, member in list(roster.members.items())}
        expelled = {n for n in range(roster.agents) if not keys.believes(n, joined.get(n, ""))}
        new, self._expelled = sorted(expelled - self._expelled), expelled
        for rank in new:
            again = keys.believes(rank, "")
            self._carry_out(self.lobby.revoke(rank, self._now(), replaced=again))

    def _call_roll(self, ranks: list[int]) -> None:
        members = self.lobby.roster.members
        for rank in ranks:
            if rank in members and members[rank].connection >= 0:
                members[rank].line.ask()

    def _carry_out(  # noqa: PLR0912  one for each effect
        self, to_carry_out: Iterable[effects.LobbyEffect]
    ) -> None:
        """Carry out effects of the lobby and of the run's host, then lose who does not read."""
        router, members = self._router, self.lobby.roster.members
        for effect in to_carry_out:
            match effect:
                case effects.SendFrame(rank, frame):
                    try:
                        members[rank].line.send(frame)
                    except PeerStalled as error:
                        self._stalled.append((rank, str(error)))
                case effects.MadeProgress():
                    self._patience.moved(self._now())
                case effects.LinkChanged(by, about, up):
                    self._carry_out(self.lobby.linked(by, about, self._now(), up=up))
                case effects.AgentLeft(rank, why, kind):
                    self._carry_out(self.lobby.quit(rank, why, self._now(), kind))
                case effects.Reply(peer, message):
                    self._reply(peer, message)
                case effects.SendToAgent(rank, message):
                    members[rank].line.send(outside_runs(message))
                case effects.ResendFrames(rank, taken):
                    self._replied(members[rank], router.resume(members[rank], taken))
                case effects.AskAgent(rank):
                    self._call_roll([rank])
                case effects.Restart(rank):
                    self.on_restart(rank)
                case effects.Joined(arrived):
                    self.on_join(arrived)
                case effects.KeepHead(rank, head):
                    if (why := self._keep_head(rank, head)) and self._host is None:
                        self._carry_out(self.lobby.quit(rank, why, self._now()))
                    elif why:
                        LOG.warning("%s", why, extra={"about": "ledgers"})
                case effects.LogLine(level, text, about):
                    LOG.log(level, "%s", text, extra={"about": about})
                case effects.Fail(reason, kind):
                    raise kind.from_reason(reason)
                case effects.HandMessage():
                    raise LocalProtocolError("a message that is to be handed over in one process")
                case _:
                    assert_never(effect)
        while self._stalled:
            rank, why = self._stalled.pop(0)
            self._carry_out(self.lobby.died(rank, why, self._now()))

    def _publish(self, now: float) -> None:
        """Replace `snapshot` by the status of now."""
        self._publish_at = now + _PUBLISH
        lobby, roster = self.lobby, self.lobby.roster
        joined = sorted((m for m in roster.members.values() if m.arrived), key=lambda m: m.rank)
        refused = lobby.refused + (self._host.refused if self._host is not None else Counter())
        self.snapshot = CoordinatorStatus(
            agents=roster.agents,
            arrived=len(joined),
            running=lobby.running,
            runs_completed=self._completed,
            waiting_for=list(lobby.missing()),
            waiting=str(lobby.phase),
            heard_seconds_ago={m.rank: now - m.heard for m in joined},
            heard={m.rank: kind_of(m.last) for m in joined},
            frames=self.frames,
            refused=dict(refused),
            wall=self._world.wall(),
            version=__version__,
            taken_at=now,
            away=[m.rank for m in roster.members.values() if m.connection < 0],
            restarts=dict(lobby.restarts),
            resent=sum(m.session.resent for m in roster.members.values()),
        )

    # --- sending ---------------------------------------------------------------------------------

    def _reply(self, peer: bytes, message: Message) -> None:
        """Answer a peer, which may be gone."""
        member = self.lobby.roster.by_identity.get(peer)
        rank = None if member is None else member.rank
        self._replied(member, self._router.reply(peer, outside_runs(message), rank))

    def _replied(self, member: Member | None, trouble: int) -> None:
        """Note that an answer could not be handed over, if so."""
        if trouble:
            self._carry_out(self.lobby.rejected("unreachable"))
        if trouble == zmq.EHOSTUNREACH and member is not None:
            # the loss of its connection was read before it was known to be this agent's
            self._carry_out(self.lobby.cut_off(member, self._now()))
