"""The host of the coordinator: frames in, frames out, without sockets.

Both engines run this same object, one for each run. It runs the server's machine and the virtual
clock, if there are any, and gathers the closing reports. Clocks and randomness are passed in (see
`posse.hosts.sources`); it reads no others.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from mypy_extensions import mypyc_attr

from posse.arms.shared import GroupArms
from posse.coordinator.agreement import Agreement, Complaints
from posse.coordinator.attendance import Attendance
from posse.coordinator.regrouping import Regrouping
from posse.coordinator.report import BadReport, ReportForm
from posse.coordinator.server import Server
from posse.errors import InputError, RunFailed
from posse.gates.shown import blamed, printable
from posse.hosts.effects import (
    AgentLeft,
    HostEffect,
    KeepHead,
    LinkChanged,
    LogLine,
    MadeProgress,
)
from posse.hosts.endpoint import Endpoint
from posse.hosts.sources import Chance, Sources
from posse.measure.numbers import named
from posse.measure.regret import Regret
from posse.measure.traffic import counted
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.control import LinkCount
from posse.protocol.errors import NOT_SETTLED, Contradiction, RemoteProtocolError
from posse.protocol.log import LogTables
from posse.protocol.machine import (
    COORDINATOR,
    Finish,
    PeerFinished,
    PeerLost,
    Received,
    Regrouped,
    ServerEffects,
    ServerMachine,
    Started,
)
from posse.protocol.masking import Settled
from posse.protocol.message import Message, Plane
from posse.protocol.signing import Signer
from posse.protocol.wire import kind_of, payload_size, read_header
from posse.results.base import Standing
from posse.results.record import RunRecord
from posse.results.vouched import KIND, last_word
from posse.system.network import Network

_CONTROL: Final = int(Plane.CONTROL)  # looking up an enum's member costs a call per frame
_LINKED: Final = control.Linked.__name__

_MOVED: Final[tuple[HostEffect, ...]] = (MadeProgress(),)

FIRED, LOST, SILENT = "fired", "lost", "silent"
"""What is noted for a journal. An agent that is lost by falling silent is noted as both; a replay
loses it once only."""


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatorHost:
    """The coordinator's side of one run: decodes agents' frames and runs the server's machine.

    - `log`: the rows that the machine noted
    - `observe`: called with this host after each frame, for progress

    The engine carries out the effects that each event returns. For an agent that left it calls
    `lose`, or ends the run.

    Above 300 lines: it is all that an engine may ask of a run, and every message of control.
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        run: int,
        sources: Sources,
        observe: Callable[["CoordinatorHost"], None] = lambda host: None,
        serial: int | None = None,
    ) -> None:
        self.plan = plan
        self.run = run
        spec = plan.spec
        self._effects: list[HostEffect] = []
        """Those of the event under way, which returns them."""
        self._told: set[int] = set()
        self.network = network
        self.observe = observe
        self._field = plan.field
        sources = sources.coarse() if self._field else sources
        self.sources = sources
        sources.resources.begin()
        self._chance = chance = Chance(sources, self._field, spec.seed, run, COORDINATOR)
        agents = spec.agents.count
        self.serial = run if serial is None else serial
        """The number of this run in the headers of its frames."""
        self._endpoint = Endpoint(
            name=COORDINATOR,
            run=self.serial,
            peers=range(agents),
            codec=plan.coordinators_codec,
            stamp=sources.stamp,
            effects=self._effects,
            together=sources.together,
            per_link=True,
        )
        self.refused = self._endpoint.refused
        """The number of refusals so far, by reason."""
        form = _report_form(plan, chance)
        self.attendance = Attendance(spec.agents.activity.rates(agents), form, sources.clock)
        self.dismissed = self.attendance.dismissed
        """The agents that the run goes on without, and why."""
        self._agreement = Agreement(agents)
        lay_out = plan.system.wiring.regroup if plan.system.wiring is not None else None
        self._regrouping = Regrouping(network.neighbours, lay_out) if lay_out is not None else None
        self._complaints = Complaints()
        self._server = Server(plan, network, chance, self._endpoint, self.attendance)
        self.log: LogTables = self._server.log
        self._alone = plan.system.server is None
        # agents need not report their slot if a server waits for their messages
        self._hears_slots = self._alone or plan.clock == "slots"
        self._conductor = self._server.conductor

    # --- what an engine asks ---------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time, in the unit of the run's clock."""
        return self._server.clock.now

    @property
    def record(self) -> RunRecord | None:
        """The record of the run, once it is complete."""
        return self._server.record

    @property
    def complete(self) -> bool:
        """Whether the run is over and has its `record`."""
        return self._server.record is not None

    @property
    def timer(self) -> float:
        """When to call `fire`, in seconds of the clock `Sources.clock` (infinite: never)."""
        return self._server.timer

    @property
    def outlives_agents(self) -> bool:
        """Whether the run handles the loss of an agent: it goes on, or ends in order.

        In the field, nothing that agents say after the verdict matters.
        """
        plan = self.plan
        if plan.on_missing == "continue" or plan.system.shares_arms:
            return True
        return self._field and self.attendance.verdict is not None

    @property
    def waits(self) -> bool:
        """Whether the run waits without limit for an agent that lost its connection."""
        return self.plan.on_missing == "wait" and self.attendance.verdict is None

    @property
    def trouble(self) -> str:
        """Agents' complaints about each other, to append to the sentence that ends a run, or ""."""
        return str(self._complaints)

    def standing(self) -> Standing:
        """The progress of the run, as far as this side knows."""
        return Standing(
            agents=self.plan.spec.agents.count,
            arms=self.plan.spec.arms.arm_count(),
            parameters=self.plan.parameters,
            clock=self.plan.clock,
            now=self.now,
            rounds=self.attendance.expected_rounds(self.now),
            finished=len(self.attendance.finished),
            log=self.log,
        )

    @property
    def shared_arms(self) -> GroupArms:
        """Those that all agents share, in a system where they do."""
        assert self._server.arms is not None
        return self._server.arms

    @property
    def shared_regret(self) -> float | None:
        """The group's regret so far; None unless all share arms whose means are known."""
        arms = self._server.arms
        return arms.regret.total if arms is not None and arms.regret is not None else None

    def traffic(self) -> Iterator[tuple[int, int, type[Message], int]]:
        """Source, target, kind and number of messages so far.

        Those sent from here; in the field also those received.
        """
        for source, target, kind, messages in self._endpoint.meter.counted():
            for one in target if isinstance(target, tuple) else (target,):
                yield source, one, kind, messages

    def expects(self, rank: int) -> bool:
        """Whether the run goes on, or ends, only once this agent has acted or said its last."""
        if self.attendance.verdict is not None:
            return rank in self.attendance.without_last_word()
        return rank not in self.attendance.finished

    def waiting_for(self) -> list[int]:
        """The agents whose messages the run needs to go on, as far as that is known."""
        return self._awaited()[0]

    @property
    def deadlock(self) -> str:
        """Why the run cannot go on, whatever agents do, or after its server ended; else ""."""
        if self.attendance.verdict is not None:
            return ""
        acting = [n for n in self.attendance.expected() if n not in self.attendance.finished]
        if not acting and self.attendance.expected():
            return (
                "all agents have finished, but the server's machine has not: it must answer their "
                "last PeerFinished with Finish"
            )
        if self._server.answered:
            return (
                f"the server's machine has finished, but {named(acting)} did not: an agent's "
                "machine ends its part itself, by Finish"
            )
        return ""

    def suspects(self) -> list[int]:
        """The agents that may hold up the run: those it waits for, else all that may still act.

        The slowest as far as we know may wait for another, as few slots are reported.
        """
        late, known = self._awaited()
        return late if known else self.attendance.acting()

    def _awaited(self) -> tuple[list[int], bool]:
        """The agents waited for, and whether none of them may only be waiting for others."""
        if self.attendance.verdict is not None:
            return self.attendance.without_last_word(), True
        if self._conductor is not None and (waiting := self._conductor.waiting()):
            return waiting, True
        standing = self._regrouping
        if standing is not None and (late := standing.missing(self.attendance.expected())):
            return late, True
        gone = self.attendance.dismissed  # a user's machine may ignore `PeerLost`
        if missing := [rank for rank in self._server.missing() if rank not in gone]:
            return missing, self.plan.system.wiring is None
        return self.attendance.slowest(), False

    # --- what happens ----------------------------------------------------------------------------

    def begin(self) -> Sequence[HostEffect]:
        """Start the run."""
        self._server.tell(Started())
        self._server.send_to_all(control.Begin(self.plan.spec.seed, self.run))
        if self.attendance.verdict is not None:  # from `Started`, before agents had a run to stop
            self._server.send_to_all(control.Stop())
        return self._take_effects()

    def _take_effects(self) -> Sequence[HostEffect]:
        effects = self._effects.copy()
        self._effects.clear()  # its endpoint has the same list
        return effects

    def fire(self) -> Sequence[HostEffect]:
        """Fire the timer: the time of `timer` has come."""
        self.sources.noted(FIRED, 0, b"")
        self._server.fire()
        return self._take_effects()

    def put_off(self, seconds: float, not_before: float) -> None:
        """Postpone `timer` by the `seconds` that agents were away, at least to `not_before`."""
        self._server.timer = max(self._server.timer + seconds, not_before)

    def lose(self, rank: int, why: str = "lost") -> Sequence[HostEffect]:
        """Go on without agent `rank`, or end the run; only if `outlives_agents`."""
        self._lose(rank, why)
        return self._take_effects()

    def _lose(self, rank: int, why: str) -> None:
        self.sources.noted(LOST, rank, why.encode())
        attendance = self.attendance
        if rank in attendance.dismissed:
            return
        acts = rank not in attendance.finished
        if self.attendance.verdict is not None:
            attendance.dismissed[rank] = why
            self._server.close_if_complete()
            return
        attendance.dismiss(rank, why, self.now)
        if self._conductor is not None:
            self._conductor.forget(rank)
        if not attendance.present():
            self._server.end(Finish("missing"))
        elif acts:
            self._go_on_without(rank)
        elif self._regrouping is None:  # its last messages may have been lost with it
            neighbours = {*self.network.neighbours[rank]} - attendance.finished
            self._say_gone(rank, neighbours)
        self._regroup()
        self._server.next_turn()

    def _go_on_without(self, rank: int, *, exhausted: bool = False) -> None:
        """Tell the server, and the agents that must know, that `rank` will not act again."""
        self._agreement.lose(rank)
        must_know: Collection[int] = self.network.neighbours[rank]
        if self._regrouping is not None:
            self._regrouping.note_loss()
            must_know = range(self.attendance.agents)
        self._say_gone(rank, must_know, exhausted=exhausted)
        self._gone(PeerLost(rank))

    def _say_gone(self, rank: int, must_know: Collection[int], *, exhausted: bool = False) -> None:
        for other in self.attendance.expected():
            if other in must_know:
                self._server.send(other, control.Gone(rank, exhausted))

    def _regroup(self) -> None:
        """Let the agents that are left go on together, once all have said where they stand."""
        present, regrouping = self.attendance.expected(), self._regrouping
        if regrouping is None or not present or self.attendance.verdict is not None:
            return
        regrouped = regrouping.go_on(present, together=not self._alone)
        if regrouped is None:
            return
        network, orders = regrouped
        self._server.tell(Regrouped(regrouping.view, network.server))
        for rank, order in orders.items():
            self._server.send(rank, order)

    def fall_silent(self, mute: Collection[int] = ()) -> Sequence[HostEffect] | None:
        """Handle a deadline without progress; None if the run can neither go on nor end in order.

        If the run can go on without the agents that it waits for, they are lost. Of agents that may
        only be waiting for others, just those in `mute` are, which did not answer when asked for a
        sign of life. If agents' ends are secret, such silence ends a run without consensus.
        """
        self.sources.noted(SILENT, 0, msgspec.msgpack.encode(list(mute)))
        late, ended = self.suspects(), self.attendance.verdict is not None
        _, known = self._awaited()
        present = len(self.attendance.present())
        if not known or (not ended and len(late) == present):
            late = [rank for rank in late if rank in mute]
        if self.outlives_agents and late and (ended or len(late) < present):
            for rank in late:
                self._lose(rank, "silent")
            return self._take_effects()
        if not self._field or self.plan.system.end != "nothing" or ended:
            return None
        for rank in self.attendance.present():
            if self.attendance.verdict is None:
                self._gone(PeerFinished(rank))
        return self._take_effects() if self.attendance.verdict is not None else None

    def receive(self, rank: int, frame: bytes) -> Sequence[HostEffect]:
        """Take one frame from a joined agent; refuse and count it if the agent did something wrong.

        A refused or unneeded frame is no progress: it must not extend a deadline.
        """
        endpoint = self._endpoint
        effects: Sequence[HostEffect] = ()
        try:
            _, plane, now, sent, message = endpoint.open(rank, frame)
            if message is None:
                if kind_of(frame) != _LINKED:  # links go up and down between runs, too
                    raise RemoteProtocolError("stale-run", f"run {read_header(frame).run}")
                message = endpoint.codec.decode(plane, frame)
            if rank in self.attendance.dismissed:
                raise RemoteProtocolError("dismissed", f"agent {rank}")
            if self._field:
                # agents in the field do not report what they sent
                endpoint.meter.count(rank, COORDINATOR, type(message), frame)
            if plane == _CONTROL:
                effects = self._control(rank, message, now, frame)
            else:
                if self.attendance.verdict is None:
                    endpoint.arrived(rank, sent)
                self._server.take(Received(rank, message), now)
                effects = _MOVED
        except RemoteProtocolError as error:
            self._refuse(rank, error)
            if isinstance(error, BadReport):
                why = f"agent {rank} sent a report that cannot be true: {error}"
                effects = (AgentLeft(rank, why),)
        self._server.next_turn()
        self.observe(self)
        return [*self._take_effects(), *effects] if self._effects else effects

    def hear(self, heard: Sequence[Received], now: float) -> Sequence[HostEffect]:
        """Take decoded messages from agents in this process (lab); the last was sent at `now`."""
        if self.attendance.verdict is not None:
            return ()
        server = self._server
        for received in server.kept(heard):
            try:
                server.take(received, now)
            except RemoteProtocolError as error:
                self._refuse(received.sender, error)
            server.next_turn()
            self.observe(self)
        return self._take_effects()

    def reached(self, slot: float) -> None:
        """Note how far agents have come whom nothing but arrays moves (lab)."""
        self._server.clock.note_progress(slot)
        self.attendance.note_progress(0, slot)
        self.observe(self)

    @property
    def machine(self) -> ServerMachine:
        """The server's machine."""
        return self._server.machine

    def decided(self, effects: ServerEffects, slot: float) -> None:
        """Carry out what the server's machine answers, in this slot."""
        self._server.clock.note_progress(slot)
        self._server.carry_out(effects)

    def moved(self, now: float) -> None:
        """Come to this time of the virtual clock, which nothing else moves then."""
        if self._conductor is not None:
            self._conductor.move(now)

    def heard(self, rank: int, message: Message) -> None:
        """Take what an agent says to the server."""
        self._server.take(Received(rank, message), self.now)
        self.observe(self)

    def finished(self, rank: int, arm: int | None) -> None:
        """Take an agent's answer."""
        self.attendance.finish(rank, arm, "", self.now)
        if self.attendance.verdict is None:
            self._gone(PeerFinished(rank), self.now)

    def conclude(self, reports: Iterable[control.Report]) -> RunRecord:
        """Make the record of a run that has ended from what such agents report, by rank.

        It is this process that measured it, so only its bytes are counted, and nothing is checked.
        """
        for rank, report in enumerate(reports):
            parts = control.in_parts(report)
            self.said(counted(rank, COORDINATOR, type(p), payload_size(p)) for p in parts)
            self.attendance.reported(rank, report)
        self._server.close_if_complete()
        self.observe(self)
        assert self._server.record is not None
        return self._server.record

    def said(self, links: Iterable[LinkCount]) -> None:
        """Count what was said by this host or to it."""
        self._endpoint.meter.add(links)

    def _refuse(self, rank: int, error: RemoteProtocolError) -> None:
        self.refused[error.reason] += 1
        self._complaints.add(COORDINATOR, rank, error.described(self._field))

    def _control(  # noqa: PLR0912  one for each message
        self, rank: int, message: Message, now: float, frame: bytes
    ) -> Sequence[HostEffect]:
        """Take a message of the control plane."""
        attendance = self.attendance
        match message:
            case control.Due(due) if self._conductor is not None:
                if not self._conductor.take_due(rank, due):
                    raise RemoteProtocolError("out-of-turn", "Due was not asked for")
            case control.SlotReached() if self._hears_slots and attendance.note_progress(rank, now):
                self._server.clock.note_progress(now)
            case control.Vouched(signature) if self._field and rank not in attendance.finished:
                attendance.vouched[rank] = signature
                return ()
            case control.LedgerHead() if self._field and rank not in self._told:
                self._told.add(rank)
                return (KeepHead(rank, message),)
            case control.Finished() if rank not in attendance.finished:
                self._agent_finished(rank, message, now)
            case control.AgentStanding() if self._regrouping is not None:
                self._regrouping.note_standing(rank, message)
                self._regroup()
            case control.Attested(step, value):
                if differ := self._agreement.attest(rank, step, value):
                    raise RunFailed(differ + self.trouble)
                return ()
            case control.Complaint(about, reason):
                if about != COORDINATOR and about not in range(attendance.agents):
                    raise RemoteProtocolError("no-such-agent", str(about))
                known = about == COORDINATOR or about in self.network.neighbours[rank]
                summed = Settled in self.plan.system.server_hears
                if not known and not (summed and reason.partition(":")[0] == NOT_SETTLED):
                    raise RemoteProtocolError("no-neighbour", str(about))
                return [_warning(text) for text in self._complaints.add(rank, about, reason)]
            case control.Contradicted():
                return [*_MOVED, *self._convict(message)]
            case control.Linked(about, up):
                return (LinkChanged(rank, about, up),)
            case control.Failed(reason, mistake):
                kind = InputError if mistake else RunFailed
                return (AgentLeft(rank, blamed(rank, reason, self.trouble), kind),)
            case control.Stopped() | control.Report() | control.ReportRows():
                self._last_word(rank, message, frame)
            case _:
                raise RemoteProtocolError("out-of-turn", type(message).__name__)
        return _MOVED

    def _convict(self, shown: control.Contradicted) -> Sequence[HostEffect]:
        """Go on without an agent that signed two values for one round, or end the run by its name.

        The two statements prove it, whoever shows them.
        """
        proof = Contradiction(shown.about, shown.kind, shown.place, (shown.first, shown.second))
        checker = self._checker() if self.plan.system.agent.signs else None
        if checker is None:
            raise RemoteProtocolError("out-of-turn", "a proof where agents sign nothing")
        checker.check_contradiction(proof)
        self.attendance.signed_run = checker.run
        if shown.about in self.attendance.proofs:
            return ()  # shown by each of its neighbours
        self.attendance.proofs[shown.about] = proof
        accusation = (
            f"agent {shown.about} told others different things, as two signatures of it prove"
        )
        proven = f"{shown.first.hex()} and {shown.second.hex()} for {shown.place.hex()}"
        warning = _warning(f"{accusation}: {proven}")
        if not self.outlives_agents:
            return warning, AgentLeft(shown.about, f"{accusation}\n{proven}")
        self._lose(shown.about, "equivocation")
        return (warning,)

    def _checker(self) -> Signer | None:
        """Checks what agents signed in this run; None if they do not sign."""
        sign = self.plan.spec.engine.sign
        return self._chance.signer(self.attendance.agents, b"", sign=sign)

    def _agent_finished(self, rank: int, message: control.Finished, sent_at: float) -> None:
        arm, arms = message.arm, self.plan.spec.arms.arm_count()
        if arm is not None and arm >= arms:
            raise RemoteProtocolError(
                "no-such-arm", f"agent {rank} answers {arm}, but there are {arms} arms"
            )
        if rank in self.attendance.vouched:
            self._check_vouched(rank, arm)
        self.attendance.finish(rank, arm, printable(message.exhausted), self.now)
        if self.attendance.verdict is not None:
            return
        if not (message.exhausted and self.plan.system.waits):
            self._gone(PeerFinished(rank), sent_at)
        elif self.plan.on_missing != "continue":
            self._server.end(Finish("exhausted"))
        else:
            self._go_on_without(rank, exhausted=True)
            self._regroup()

    def _check_vouched(self, rank: int, arm: int | None) -> None:
        """Refuse an answer that its agent signed otherwise; what nobody can check is not kept."""
        spec, untold, checker = self.plan.spec, self.plan.system.untold, self._checker()
        signature = self.attendance.vouched.pop(rank)
        if checker is not None:
            shared = {name: value for name, value in spec.parameters.items() if name not in untold}
            said = last_word(spec.system, spec.variant, spec.agents.count, shared, arm)
            checker.check(rank, KIND, said, signature)
            self.attendance.vouched[rank] = signature
            self.attendance.signed_run = checker.run

    def _gone(self, event: PeerFinished | PeerLost, now: float | None = None) -> None:
        """Tell the server that an agent will not act again; without one, end after the last."""
        self._server.tell(event, now)
        if self._alone and len(self.attendance.finished) == self.attendance.agents:
            self._server.end(Finish("finished"))

    def _last_word(
        self,
        rank: int,
        message: control.Report | control.ReportRows | control.Stopped,
        frame: bytes,
    ) -> None:
        self.attendance.take_last_word(rank, message)
        if not self._field:
            # a report cannot include its own size
            self._endpoint.meter.count(rank, COORDINATOR, type(message), frame)
        self._server.close_if_complete()


def _warning(text: str) -> LogLine:
    return LogLine(logging.WARNING, text, "complaints")


def _report_form(plan: Plan, chance: Chance) -> ReportForm | None:
    """The form of agents' reports; None in the field, where agents do not report."""
    if plan.field:
        return None
    spec, system, agents = plan.spec, plan.system, plan.spec.agents.count
    regret: dict[str, Regret] = {}
    if not system.shares_arms:
        regret = chance.regret(spec.arms, agents, system.shape.regret_against)
    return ReportForm(agents, spec.arms.arm_count(), regret.keys(), system.results.log)
