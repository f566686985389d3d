"""An agent's process: one loop between its sockets, its joining machine and its host."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, assert_never

import msgspec
import zmq

from posse import defect
from posse.agent.each_link import EachLink
from posse.agent.host import ONE_RUN, AgentHost
from posse.agent.joining import Joining
from posse.agent.mesh import NeighbourLinks
from posse.agent.one_to_all import OneToAll
from posse.agent.recovery import LINKED, Beginning, outside_agent, replay_input
from posse.agent.site import AgentSite
from posse.agent.states import JOINED_STATES, Connected, Disconnected, JoinState, NotLetIn
from posse.agent.uplink import Uplink
from posse.durable.capture import Tap
from posse.durable.checkpoint import Checkpoints, read
from posse.durable.journal import Journal
from posse.durable.recording import record_sources
from posse.errors import DiskTrouble, InputError, PosseError, RunFailed
from posse.gates.shown import printable
from posse.hosts import effects
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.sources import Sources
from posse.hosts.status import AgentStatus
from posse.live.service import hush
from posse.log import LOG
from posse.measure.numbers import named
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.system import get_system
from posse.wire.forwarding import FORWARD
from posse.wire.line import Interceptor, Line
from posse.wire.links import Link, outside_runs
from posse.wire.resources import ProcessResources
from posse.wire.restraint import Restraint
from posse.wire.session import Session
from posse.wire.sockets import PROBE_EVERY, Selector
from posse.wire.sources import ahead_by, of_this_machine
from posse.wire.world import HERE, World

_LISTEN_EVERY: Final = 256
"""An agent checks its other sockets after this many steps, or frames from neighbours."""

_LISTEN_SECONDS: Final = 0.2
"""It also checks them after this many seconds: each step may pull a user's own slow arms."""

_PATIENCE = 0.2
"""Longest wait in seconds where frames can be lost (tcp, or a journal): probes must be sent."""

_STOOD_STILL: Final = 1.0
"""Seconds without a look at the timers that count as none: this process was stopped, or busy with
its arms."""

_LAST_WORD = "this agent's run is over, which its coordinator does not know: start the agent again"

_LOOK_UP_MS = 50
"""Longest wait in milliseconds for neighbours alone, or while links come up."""


class AgentProcess:
    """Joins a coordinator, then carries its host's frames until the coordinator lets it go.

    `connect` makes its link to the coordinator. `tap` hears every frame handed to ZeroMQ.
    With a `journal`, a restarted process continues where
    it was killed.

    Above 300 lines: this one loop carries all frames and every effect of joining.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        selector: Selector,
        connect: Callable[[Interceptor], Uplink],
        joining: Joining,
        site: AgentSite,
        tap: Tap | None = None,
        journal: Journal | None = None,
        world: World = HERE,
    ) -> None:
        self._world = world
        self._now = world.monotonic
        self.joining = joining
        self.host: AgentHost | None = None
        self._field = False
        self._context = context
        self._selector = selector
        self._interceptor = Interceptor(journal, tap, self._known_rank)
        self._uplink = uplink = connect(self._interceptor)
        self._site = site
        self._forwarding = site.forwarding(uplink.forward)
        self._journal = journal
        self._checkpoints = (
            Checkpoints(journal, world.process_time) if journal is not None else None
        )
        self._stamp: Callable[[], int] = world.monotonic_ns
        self._mesh: NeighbourLinks | None = None
        self._links: dict[int, Link] = {COORDINATOR: uplink.line.send}
        self.exit_code: int | None = None
        """The result of `serve`; None until it has ended."""
        self._only_recovered = False
        """Whether this process was started again, and has not resumed its run yet."""
        self._left: int | None = None
        """The exit code; None until this agent may leave."""
        self._probe_at = 0.0
        self._listened_at = math.inf
        """When this process last looked at its timers."""
        self._show_life_at = math.inf
        self._alarm = -1
        """The descriptor that tells of rewards of live arms, once one was awaited."""
        self._show_life = self._acted
        """One object, by which a checkpoint knows it."""
        self._restraint = Restraint(self._sessions)
        self._down_or_gone: set[int] = set()
        """Neighbours whose connection is down, and those declared gone."""
        if site.guard is not None:
            site.guard.link_changed = self._link_changed
        selector.watch(uplink.socket, self._drain_uplink)
        if uplink.monitor is not None:
            selector.watch(uplink.monitor, self._connections)

    def status(self) -> AgentStatus:
        """This agent's status; from any thread."""
        host, state = self.host, self.joining.state
        return AgentStatus(
            connected=state in JOINED_STATES and state is not JoinState.RESUMING,
            running=host is not None and host.running,
            links_down=len(self._down_or_gone),
            ended=self.exit_code,
        )

    def serve(self) -> int:
        """Run until this agent leaves; returns the runs' exit code, or that of its own error."""
        self.exit_code = self._serve()
        return self.exit_code

    def _serve(self) -> int:
        try:
            return self._loop()
        except PosseError as error:
            resumes = isinstance(error, DiskTrouble) and self.joining.remote
            self._fail(str(error), mistake=isinstance(error, InputError), resumes=resumes)
            return error.exit_code
        except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
            host = self.host
            name = f"agent {self.joining.rank}"
            self._fail(defect.report(name, error) if host is None else host.defect(error))
            return RunFailed.exit_code
        finally:
            if self._site.guard is not None:
                self._site.guard.close()
            self._uplink.close()
            if self._mesh is not None:
                self._mesh.close()
            self._world.end(self._context)
            if self._journal is not None:
                goes_on = self._left is None and self._journal.beginning
                self._journal.close() if goes_on else self._journal.remove()

    def _fail(self, reason: str, *, mistake: bool = False, resumes: bool = False) -> None:
        """Report why this agent fails: in full here, to the coordinator what it may know.

        An agent that `resumes` says nothing: the coordinator waits for it as for one that is lost.
        """
        self._site.say_failure(reason, field=self._field)
        if self._journal is not None:
            if self.joining.state is JoinState.RESUMING or resumes:
                # the coordinator cannot be told; a restart goes on from the last commit
                self._journal.close()
                return
            # the coordinator drops an agent that failed: it cannot resume
            self._journal.remove()
        if self.joining.belongs:
            if self._field:  # the reason may quote rewards
                reason = f"agent {self.joining.rank} cannot go on; its own log says why"
            with suppress(RunFailed):  # the link may take no more
                lines = (printable(line, 4000) for line in reason[:4000].split("\n"))
                failed = control.Failed("\n".join(lines), mistake and not self._field)
                if self.host is None:
                    self._send_message(failed)
                else:
                    self._carry(self.host, self.host.fail(failed))

    # --- the loop --------------------------------------------------------------------------------

    def _loop(self) -> int:
        watched = self._uplink.monitor
        journal = self._journal
        if journal is not None and (before := journal.began_as(Beginning)) is not None:
            self._recover(journal, before)
        if watched is None:
            self._carry_out(self.joining.connected(self._world.wall(), self._now()))
        while self._left is None:
            host = self.host
            if self._checkpoints is not None and self._checkpoints.due:
                self._make_checkpoint(self._checkpoints)
            if host is not None and host.busy and not self._restraint.held:
                self._step(host)
                self._selector.wait(0)
            elif host is not None and (alarm := host.alarm) is not None:
                self._await_rewards(host, alarm)
            elif self._mesh is None and (watched is None or self.joining.state is JoinState.LINKED):
                # only one socket to read: a poll before each frame would double its cost
                frame = self._uplink.wait()
                if frame is not None:
                    self._take(frame)
                    continue
                self._selector.wait(0)
            elif (
                self._mesh is not None
                and host is not None
                and host.hears_neighbours_only
                and not self._mesh.comes_forwarded
            ):
                self._receive_from_neighbours(host, self._mesh)
                self._selector.wait(0)
            else:
                self._selector.wait(self._patience())
            self._check_timers()
        return self._left

    def _step(self, host: AgentHost) -> None:
        until = self._now() + _LISTEN_SECONDS
        for _ in range(_LISTEN_EVERY):
            to_carry_out = host.step()
            self._acted()
            self._carry(host, to_carry_out)
            if to_carry_out or not host.busy or self._now() >= until:
                break
        if self._uplink.line.session.crowded:
            self._restraint.check_soon()
            self._uplink.line.ask()

    def _await_rewards(self, host: AgentHost, alarm: int) -> None:
        """Wait for the application, and for frames meanwhile."""
        if alarm != self._alarm:
            self._alarm = alarm
            self._selector.watch(alarm, partial(hush, alarm))
        patience, life = self._patience(), int(500 * host.setup.alive)
        self._selector.wait(life if patience is None else min(patience, life))
        self._acted()

    def _acted(self) -> None:
        """Show the coordinator now and then that this agent acts, whether or not frames tell it."""
        now, host = self._now(), self.host
        if now >= self._show_life_at and host is not None:
            self._show_life_at = now + host.setup.alive
            self._uplink.show_life()

    def _patience(self) -> int | None:
        """Longest wait in milliseconds; None (no limit) where only frames matter."""
        if self.joining.state is JoinState.LINKING:
            return _LOOK_UP_MS
        wait = self.joining.timer - self._now()
        if self._uplink.monitor is not None or self._journal is not None:
            wait = min(wait, _PATIENCE)
        return None if math.isinf(wait) else max(0, int(1000 * wait)) + 1

    def _check_timers(self) -> None:
        if self.joining.state is JoinState.LINKING and self._mesh is not None:
            self._carry_out(self.joining.not_listening(self._mesh.not_listening()))
        now = self._now()
        if now >= self._listened_at + _STOOD_STILL:
            self.joining.stood_still(now - self._listened_at)
            self._restraint.stood_still(now - self._listened_at)
        self._listened_at = now
        if now >= self._probe_at:
            self._probe_at = now + PROBE_EVERY
            self._uplink.probe(now)
            if self._mesh is not None:
                self._mesh.probe()
                self._check_journal(self._mesh)
        self._restraint.look(now)
        if now >= self.joining.timer:
            self._carry_out(self.joining.fire(now))

    def _check_journal(self, mesh: NeighbourLinks) -> None:
        """End this agent's part if a neighbour knows more of it than its journal did."""
        ahead = [end for end, session in mesh.sessions() if session.outdated]
        if ahead and self._journal is not None and self.joining.state is JoinState.LINKED:
            raise RunFailed(
                f"{named(ahead)} had more from this agent than its journal {self._journal.path} "
                "has: it is torn, or a copy of an earlier one, so this agent takes no further part "
                "in the run; start it again for the next"
            )

    # --- receiving -------------------------------------------------------------------------------

    def _drain_uplink(self) -> None:
        for frame in self._uplink.frames():
            self._take(frame)
            if self._left is not None:
                return

    def _take(self, frame: bytes) -> None:
        """Handle one frame from the coordinator."""
        host = self.host
        if frame[:2] == FORWARD:
            self._take_forwarded(frame)
            return
        if host is None or not host.knows(frame):
            self._take_unread(frame)
            return
        self._carry(host, host.receive(COORDINATOR, frame))

    def _take_unread(self, frame: bytes) -> None:
        self._carry_out(self.joining.receive(frame, self._now()))

    def _take_forwarded(self, forwarded: bytes) -> None:
        """Take what a neighbour sent over the coordinator."""
        taken = self._mesh.take_forwarded(forwarded) if self._mesh is not None else None
        if taken is None:
            text = "dropped what the coordinator forwarded: no neighbour sealed it for this run"
            LOG.warning("%s", text, extra={"about": "forwarded"})
            return
        source, frame = taken
        if frame is not None and self.host is not None:
            self._carry(self.host, self.host.receive(source, frame))

    def _drop_neighbour(self, neighbour: int) -> None:
        LOG.warning("agent %d is gone; going on without it", neighbour)
        self._down_or_gone.add(neighbour)  # so that its link is not reported as down
        if self._mesh is not None:
            self._mesh.lose(neighbour)

    def _connections(self) -> None:
        if self._left is None:  # after Goodbye a closed connection is no loss
            self._carry_out(self._connection_effects(self._now()))

    def _connection_effects(self, now: float) -> Iterator[effects.JoiningEffect]:
        for event in self._uplink.connections(now):
            match event:
                case Connected():
                    yield from self.joining.connected(self._world.wall(), now)
                case Disconnected():
                    yield from self.joining.disconnected(now)
                case NotLetIn(how, why):
                    yield from self.joining.not_let_in(how, why)

    def _receive_from_neighbours(self, host: AgentHost, mesh: NeighbourLinks) -> None:
        """Take neighbours' frames with one blocking receive each and no poll.

        The host gets frames once as many are here as it awaits: that costs a third of handling each
        on arrival. Returns now and then, so that the loop checks the other sockets.
        """
        listened, until = 0, self._now() + _LISTEN_SECONDS
        while listened < _LISTEN_EVERY and self._now() < until:
            frames = mesh.listen(host.awaited, host.slot, self._stamp)
            listened += len(frames) or _LISTEN_EVERY
            self._carry(host, host.receive_all(frames))
            if host.busy and not self._restraint.held:
                to_carry_out = host.step()
                self._acted()
                self._carry(host, to_carry_out)
            if not host.hears_neighbours_only:
                return

    def _drain_inbox(self) -> None:
        assert self._mesh is not None
        for sender, frame in self._mesh.drain():
            if self.host is not None:
                self._carry(self.host, self.host.receive(sender, frame))

    def _link_changed(self, neighbour: int, up: bool) -> None:
        """The connection to a neighbour was lost, or there is a new one."""
        if self._mesh is not None:
            self._mesh.changed(neighbour, up=up)
        leaves = self.host is None or self.host.done or self._left is not None
        if leaves or up is not (neighbour in self._down_or_gone):
            return  # at the end of a run neighbours leave at different times
        if self._journal is not None:
            self._journal.add(LINKED, neighbour, b"up" if up else b"")
        if up:
            self._down_or_gone.discard(neighbour)
            LOG.info("the link to agent %d is up again", neighbour)
        else:
            self._down_or_gone.add(neighbour)
            LOG.warning("the link to agent %d is down", neighbour)
        self._send_message(control.Linked(neighbour, up))

    # --- joining ---------------------------------------------------------------------------------

    def _carry_out(  # noqa: PLR0912  one for each effect
        self, to_carry_out: Iterable[effects.JoiningEffect]
    ) -> None:
        """Carry out effects of the joining machine."""
        for effect in to_carry_out:
            match effect:
                case effects.SendToCoordinator(message):
                    self._send_message(message)
                case effects.BeginSession():
                    self._uplink.begin()
                    self._forwarding_again()
                case effects.SendResume(resume):
                    session, inbox = self._uplink.line.session, self._inbox_now()
                    there = {"taken": session.taken, "inbox": inbox, "sent": session.sent}
                    self._send_message(msgspec.structs.replace(resume, **there))
                case effects.ResumeSession(taken):
                    self._only_recovered = False
                    self._uplink.resume(taken)
                    self._forwarding_again()
                case effects.OpenInbox(system, rank):
                    self._carry_out(self.joining.inbox_open(self._open_inbox(system, rank)))
                case effects.ConnectNeighbours(setup):
                    self._carry_out(self.joining.not_listening(self._link_up(setup)))
                case effects.MoveNeighbour(rank, inbox):
                    if self._mesh is not None and self._mesh.move_neighbour(rank, inbox):
                        LOG.info("agent %d is now reached at %s", rank, inbox)
                case effects.MakeHost(setup):
                    self._start(setup)
                case effects.DropHost():
                    self._forget()
                    if self._left is not None:
                        return
                case effects.GiveUp():
                    said = not self._uplink.line.session.unconfirmed
                    if not (said and self._leave_if_run_is_over()):
                        why = self._site.why_alone(), self.joining.last_answer, _LAST_WORD
                        over = self.host is not None and self.host.done
                        raise RunFailed("; ".join(filter(None, why[: 2 + over])))
                case effects.Leave(code):
                    self._uplink.confirm()
                    self._left = code
                case effects.LogLine(level, text, about):
                    LOG.log(level, "%s", text, extra={"about": about})
                case effects.Fail(reason, kind):
                    raise kind(reason)
                case _:
                    assert_never(effect)

    def _forwarding_again(self) -> None:
        if self._mesh is not None:
            self._mesh.forwarding_again()

    def _forget(self) -> None:
        """Drop the host: the coordinator configures anew, or was started again."""
        if self.joining.state is JoinState.JOINING and self._leave_if_run_is_over():
            return
        if self.host is not None and self.host.spends:
            if not self._only_recovered:
                if self._journal is not None:
                    self._journal.remove()
                raise PosseError(ONE_RUN)
            LOG.warning(
                "the coordinator does not know the run of %s, which was ended or lost; what it "
                "used is spent, and this agent joins the next run",
                self._journal.path if self._journal is not None else "a journal",
            )
            self._only_recovered = False
            self.host.leave()
        self.host = None
        self._down_or_gone.clear()
        if self._journal is not None:
            self._journal.forget()

    def _leave_if_run_is_over(self) -> bool:
        """Leave without a Goodbye if this agent's one run of the field is over; whether it does."""
        if self.host is None or not (self.host.field and self.host.done):
            return False
        LOG.info("this agent's run is over and its coordinator has left, so this agent stops")
        self._left = 0
        return True

    def _open_inbox(self, system: str, rank: int, bound: str = "") -> str:
        """Open the inbox; returns its address, "" if the system has no neighbours.

        `bound`: the address to bind again after a restart, if this machine still has it.
        """
        bind = self._site.bind(system)
        if not bind:
            return ""
        binds = (bind,) if not bound or self._site.elsewhere(bound) else (bound, bind)
        kind: type[NeighbourLinks] = OneToAll if get_system(system).broadcasts else EachLink
        if isinstance(self._mesh, kind):
            self._mesh.rename(rank)
            if inbox := self._inbox_now():
                return inbox
        else:
            self._close_mesh()
            self._mesh = kind(
                self._context,
                self._site.guard,
                bind=binds,
                rank=rank,
                patience_ms=_LOOK_UP_MS,
                interceptor=self._interceptor,
                forwarding=self._forwarding,
            )
            self._selector.watch(self._mesh.inbox, self._drain_inbox)
            if self._mesh.back is not None:
                self._selector.watch(*self._mesh.back)
        return self._site.address_for_neighbours(self._mesh.address)

    def _inbox_now(self) -> str:
        """Where neighbours reach the inbox, which moves if this machine has another address."""
        if self._mesh is None:
            return ""
        with suppress(OSError):  # a name that does not resolve now
            if other := self._site.elsewhere(self._mesh.address):
                self._mesh.move(other)
            return self._site.address_for_neighbours(self._mesh.address)
        return ""

    def _close_mesh(self) -> None:
        if self._mesh is not None:
            self._selector.forget(self._mesh.inbox)
            if self._mesh.back is not None:
                self._selector.forget(self._mesh.back[0])
            self._mesh.close()
            self._mesh = None

    def _link_up(self, setup: AgentSetup) -> tuple[int, ...]:
        """Connect to the neighbours; returns those that do not listen yet."""
        if self._mesh is None:
            return ()
        self._links = {COORDINATOR: self._uplink.line.send, **self._mesh.connect(setup)}
        return self._mesh.not_listening()

    def _start(self, setup: AgentSetup) -> None:
        journal, rank = self._journal, self.joining.rank
        self._show_life_at = self._now() + setup.alive
        sources = self._sources(setup)
        if journal is not None and (self._field or setup.durable):
            if not journal.beginning:
                journal.name(rank)
                journal.begin(self._beginning(setup))
            sources = record_sources(journal, sources, field=self._field)
        self.host = AgentHost(setup, rank, sources)
        self._carry(self.host, self.host.ready())

    def _sources(self, setup: AgentSetup) -> Sources:
        """The host's clocks, randomness, arms and meters on this machine."""
        self._field = setup.mode == "field"  # set first: making the host may fail
        if self._field:
            self._uplink.require_signed()
        world = self._world
        resources = ProcessResources(self._sessions, world)
        clock = ahead_by(self.joining.offset, world.monotonic_ns)
        sources = of_this_machine(clock, resources, self._site.signer, world)
        sources = replace(sources, acted=self._show_life, left=self.joining.left)
        self._stamp = (sources.coarse() if self._field else sources).stamp
        return sources

    # --- recovery --------------------------------------------------------------------------------

    def _beginning(self, setup: AgentSetup) -> Beginning:
        """The journal's record of this agent, from which it recovers."""
        return Beginning(
            rank=self.joining.rank,
            setup=setup,
            clocks=self._world.read_clocks(),
            offset=self.joining.offset,
            incarnation=self.joining.incarnation,
            inbox=self._mesh.address if self._mesh is not None else "",
            uplink=self._uplink.line.session.state,
        )

    def _recover(self, journal: Journal, before: Beginning) -> None:
        """Restore the state at the time of the kill, from the journal."""
        rank, setup = before.rank, before.setup
        self.joining.require_still(setup)
        self._only_recovered = True
        self.joining.recover(rank, before.offset, before.incarnation, journal.starts, self._now())
        self._open_inbox(setup.system, rank, before.inbox)
        self._link_up(setup)
        self._uplink.line.session.restore(before.uplink)
        with journal.replay() as inputs:
            if before.state:
                self._restore(journal, before)
            else:
                self._start(setup)
            assert self.host is not None
            later: list[effects.AgentHostEffect] = []  # this agent's links are not up yet
            for recorded_input in inputs:
                again = replay_input(recorded_input, self.host, self._line_to, self._take_unread)
                self._carry(self.host, [e for e in again if isinstance(e, effects.SendFrame)])
                later += [e for e in again if not isinstance(e, effects.SendFrame)]
        journal.commit()  # what was signed again may leave now
        if self._mesh is not None:
            self._mesh.recovered()
        self._carry(self.host, later)

    def _make_checkpoint(self, checkpoints: Checkpoints) -> None:
        """Replace the journal's inputs by a checkpoint."""
        host, mesh, journal = self.host, self._mesh, self._journal
        if host is not None and journal is not None and journal.beginning:
            kept = host, mesh.state if mesh is not None else None
            named = outside_agent(journal, host.sources, host.setup, host.rank)
            checkpoints.make(kept, named, self._beginning(host.setup))

    def _restore(self, journal: Journal, before: Beginning) -> None:
        """Load the last checkpoint; the caller replays later inputs."""
        own = self._sources(before.setup)
        sources = record_sources(journal, own, field=self._field)
        sources = sources.coarse() if self._field else sources
        self.host, links = read(
            before.state, outside_agent(journal, sources, before.setup, before.rank)
        )
        self._show_life_at = 0.0
        if self._mesh is not None:
            self._mesh.restore(links)
        sources.resources.begin()

    def _line_to(self, end: int) -> Line:
        if end == COORDINATOR or self._mesh is None:
            return self._uplink.line
        return self._mesh.lines[end]

    def _known_rank(self) -> int | None:
        return self.joining.rank if self.joining.rank >= 0 else None

    def _sessions(self) -> Iterator[tuple[int, Session]]:
        yield COORDINATOR, self._uplink.line.session
        if self._mesh is not None:
            yield from self._mesh.sessions()

    # --- sending ---------------------------------------------------------------------------------

    def _carry(self, host: AgentHost, to_carry_out: Sequence[effects.AgentHostEffect]) -> None:
        """Carry out effects of the host."""
        links, journal = self._links, self._journal
        if to_carry_out and journal is not None and not journal.replaying:
            journal.commit()  # before sessions number frames that may not leave yet
        for effect in to_carry_out:
            match effect:
                case effects.SendFrame(target, frame):
                    links[target](frame)
                case effects.PeerGone(rank):
                    self._drop_neighbour(rank)
                case effects.RunOver(account):
                    self._site.run_ended(host.setup.reward_claim, account, host.delays)
                case effects.HandMessage():
                    raise LocalProtocolError("a message that is to be handed over in one process")
                case _:
                    assert_never(effect)

    def _send_message(self, message: Message) -> None:
        """Send the coordinator a message of joining, a link's state, or a failure."""
        of_one_connection = isinstance(message, control.OF_ONE_CONNECTION)
        if self.host is not None and not of_one_connection:
            self._carry(self.host, self.host.say(message))
            return
        frame = outside_runs(message, self.joining.rank)
        (self._uplink.say if of_one_connection else self._uplink.line.send)(frame)
