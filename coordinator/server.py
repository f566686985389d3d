"""The server of one run: its machine, the machine's effects, and the run's clock and end."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from mypy_extensions import mypyc_attr

from posse import defect
from posse.arms import known_means
from posse.arms.buffer import RewardBuffer
from posse.arms.shared import GroupArms
from posse.clocks.run_clock import Conductor, RunClock, SharedClock, SlotClock, WallClock
from posse.coordinator.assembly import complete_record
from posse.coordinator.attendance import Attendance
from posse.errors import PosseError, RunFailed
from posse.hosts.endpoint import NEIGHBOURS, Endpoint, no_link_error, unheard_error
from posse.hosts.sources import Chance, Sources
from posse.hosts.spending import NOT_KEPT, Spending, SpendingRequest
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.log import PublicRow
from posse.protocol.machine import (
    COORDINATOR,
    Broadcast,
    Dismiss,
    Finish,
    GatheringMachine,
    Note,
    Played,
    Pull,
    Pulled,
    Received,
    Send,
    ServerEffect,
    ServerEffects,
    ServerEvent,
    ServerMachine,
    Started,
    Timer,
    TimerFired,
    as_patient,
    assert_never_effect,
    no_effects_error,
    own_refusal_error,
    require_answer,
    require_arms,
    require_machine,
)
from posse.protocol.message import Message, Plane
from posse.results.record import RunRecord
from posse.system.context import CoordinatorContext
from posse.system.network import Network

_CONTROL: Final = int(Plane.CONTROL)


class Nobody:
    """The machine of a system without a server: it hears who is gone, and asks for nothing."""

    __slots__ = ()

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """Ask for nothing."""
        return ()


@mypyc_attr(allow_interpreted_subclasses=True)
class Server:
    """The server's machine in one run, and all that it may ask for, up to the end of the run.

    - `attendance`: the agents that take part; `clock`: the run's, and `conductor` if it is virtual
    - `log`: the rows that the machine noted; `record`: set when the run is complete
    - `timer`: when to call `fire`, in seconds of the clock `Sources.clock` (infinite: never)
    - `arms`: those that all agents share, else None

    Where a system has no server, the machine is `Nobody`.

    Above 20 attributes: what each effect of the machine needs, and its answer.
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        chance: Chance,
        endpoint: Endpoint,
        attendance: Attendance,
    ) -> None:
        self.attendance = attendance
        self.log: defaultdict[str, list[list[float]]] = defaultdict(list)
        self.record: RunRecord | None = None
        self.timer = math.inf
        self.arms: GroupArms | None = None
        self._answer: Finish | None = None
        """What the machine finished with while agents still act."""
        self._plan = plan
        self._system = plan.system
        self._network = network
        self._run = chance.run
        self._endpoint = endpoint
        self._sources = chance.sources
        self._agents_hear = plan.system.agent.hears
        self._spending = NOT_KEPT
        self._field = plan.field
        self._count = plan.spec.arms.arm_count()
        if plan.system.shares_arms:
            self._spending = chance.spending(plan.spec.arms, plan.spec.base)
            self.arms = _shared_arms(plan, chance, self._spending)
        self.machine = _machine(plan, network, chance)
        self._patient = as_patient(self.machine)
        self.clock = _run_clock(plan, self.arms, chance.sources)
        self.conductor = self.clock if isinstance(self.clock, Conductor) else None

    def kept(self, heard: Sequence[Received]) -> Sequence[Received]:
        """Let a patient machine keep messages that came together; return those still to tell it."""
        if self._patient is not None and self._patient.keep(heard[:-1]):
            return heard[-1:]
        return heard

    def missing(self) -> list[int]:
        """The agents whose message the machine needs to go on, if it can name them."""
        if self._answer is not None or not isinstance(self.machine, GatheringMachine):
            return []
        try:
            return list(self.machine.missing())
        except (Exception, SystemExit) as error:
            raise RunFailed.from_reason(
                defect.report("the coordinator", error, self.machine)
            ) from error

    def fire(self) -> None:
        """Tell the machine that the time of `timer` has come."""
        self.timer = math.inf
        if self.attendance.verdict is None and self._answer is None:
            self.tell(TimerFired())

    def take(self, received: Received, now: float) -> None:
        """Hand the machine a message that was sent at `now`, unless the run has ended."""
        if self.attendance.verdict is None:
            self.clock.note_progress(now)
            self.tell(received)

    def next_turn(self) -> None:
        """With the virtual clock: let the next agent act, once no answer is outstanding."""
        conductor = self.conductor
        if conductor and self.attendance.verdict is None and (turn := conductor.next()) is not None:
            conductor.expect_due(turn)
            self.send(turn, control.Advance())

    def tell(self, event: ServerEvent, now: float | None = None) -> None:
        """Hand the machine an event of time `now` (default: the present); carry out its effects."""
        if self._answer is not None:
            self.end_if_done()
            return
        try:
            try:
                effects = self.machine.handle(event, self.clock.now if now is None else now)
            except RemoteProtocolError as error:
                if isinstance(event, (Started, Pulled, TimerFired)):
                    raise own_refusal_error(self.machine, event, error) from error
                raise
            if not isinstance(effects, (list, tuple)):
                raise no_effects_error(self.machine, effects)
            if effects:
                self.carry_out(effects)
        except (RemoteProtocolError, PosseError):
            raise
        except (Exception, SystemExit) as error:
            raise RunFailed.from_reason(
                defect.report("the coordinator", error, self.machine)
            ) from error

    def carry_out(self, effects: ServerEffects) -> None:
        """Carry out what the machine answers."""
        for effect in effects:
            if type(effect) is Send:
                self._send(effect)
            elif type(effect) is Played:
                self._arms().played(effect.arms, effect.payoffs, effect.winners)
            elif type(effect) is Pull:
                self._pull(effect)
            elif type(effect) is Timer:
                self._wait(effect)
            elif type(effect) is Note:
                row, moment = effect.row, effect.time
                line = self._system.results.line(row, self.clock.now if moment is None else moment)
                if not self._field or isinstance(row, PublicRow):
                    self.log[row.table].append(line)
            elif type(effect) is Broadcast:
                message = effect.message
                if type(message) not in self._agents_hear:
                    raise unheard_error(message, NEIGHBOURS, self._agents_hear)
                self.send_to_all(message)
            elif type(effect) is Dismiss:
                self._dismiss(effect.agent, effect.reason)
            elif type(effect) is Finish:
                require_answer(effect, self._count)
                self._answer, self.timer = effect, math.inf
                self.end_if_done()
            else:
                assert_never_effect(effect, self.machine, "the coordinator's", ServerEffect)

    def send(self, to: int, message: Message) -> None:
        """Send an agent a message."""
        self._endpoint.send(to, message, self.clock.now)
        if self.conductor is not None and message.plane != _CONTROL:
            self.conductor.expect_due(to)

    def send_to_all(self, message: Message) -> None:
        """Send a message to every agent that takes part."""
        if not self._sources.carried:
            present = tuple(self.attendance.present())
            self._endpoint.send_to_all(present, message, self.clock.now)
            return
        for rank in self.attendance.present():
            self.send(rank, message)

    @property
    def answered(self) -> bool:
        """Whether the machine has finished, which alone does not end the run."""
        return self._answer is not None

    def end_if_done(self) -> None:
        """End the run if the machine has finished, and no agent still acts in slots of its own.

        An agent that was stopped there would have come further in one engine than in the other.
        Without an answer nobody is waited for: agents that need the server would never end.
        """
        if self._answer is None:
            return
        waits = self._plan.clock == "slots" and self.arms is None and not self._field
        finished = self.attendance.finished
        acting = any(n not in finished for n in self.attendance.expected())
        if self._answer.arm is None or not (waits and acting):
            self.end(self._answer)

    def end(self, verdict: Finish, exhausted: str = "") -> None:
        """End the run; `exhausted` is the sentence about shared arms that ran out, else ""."""
        if exhausted:
            self.attendance.exhausted[COORDINATOR] = exhausted
        if self.attendance.verdict is None:
            self.attendance.decide(verdict)
            self.timer = math.inf
            if self.arms is not None and not self._field:
                self._spending.uses(self.arms.drawn)
            self._spending.end(None)
            self.send_to_all(control.Stop())
            self.close_if_complete()

    def close_if_complete(self) -> None:
        """Make the `record` once there is a verdict and all present agents' last words are here."""
        plan, attendance, verdict = self._plan, self.attendance, self.attendance.verdict
        if verdict is None or attendance.lacks_last_word:
            return
        self._endpoint.meter.add(self._sources.resources.links(COORDINATOR))
        missing = attendance.absences(self.clock.now)
        used_up = plan.system.waits and attendance.exhausted
        record = RunRecord(
            run=self._run,
            seed=plan.spec.seed,
            status=verdict.status,
            best_arm=attendance.commonest_answer() if plan.system.server is None else verdict.arm,
            pulls=None,
            answers=attendance.answers,
            exhausted=attendance.exhausted,
            dismissed=attendance.dismissed,
            missing=missing,
            proofs=attendance.proven(),
            signed=attendance.signed(),
            loss=_effect(plan, verdict, self._network, attendance) if missing or used_up else "",
            log=dict(self.log),
            network=self._network.facts,
            elapsed_seconds=attendance.elapsed,
        )
        self.record = complete_record(plan, record, self._endpoint, self.arms, attendance.reports)

    def _send(self, effect: Any) -> None:
        # `effect` is a Send; typed, compiled code would take bools for ints
        message = effect.message
        if type(effect.to) is not int:
            raise no_link_error(COORDINATOR, effect.to)
        if type(message) not in self._agents_hear:
            raise unheard_error(message, effect.to, self._agents_hear)
        self.send(effect.to, message)

    def _dismiss(self, agent: int, reason: str) -> None:
        if agent not in range(self.attendance.agents):
            raise LocalProtocolError(f"there is no agent {agent} to dismiss")
        self.attendance.dismiss(agent, reason, self.clock.now)
        self._endpoint.refused[reason] += 1

    def _arms(self) -> GroupArms:
        if self.arms is None:
            raise LocalProtocolError(
                f"{self._system.name} has no arms that all agents share: each agent pulls its own"
            )
        return self.arms

    def _wait(self, order: Timer) -> None:
        untyped: Any = order  # typed, compiled code would not read what is no float
        if not isinstance(untyped.after, (int, float)) or not order.after >= 0:
            raise LocalProtocolError(f"{order}: after must be a number of seconds, 0 or more")
        self.timer = self._sources.clock() / 1e9 + order.after

    def _pull(self, order: Pull) -> None:
        arms = self._arms()
        if min(order.arms, default=-1) < 0 or max(order.arms) >= self._count or order.times < 1:
            require_arms(order, self._count)  # raises; alone it would take three times as long
        if shortage := arms.shortage(order):
            self.end(Finish("exhausted"), shortage)
        else:
            pulled = arms.pull(order)
            if self._field:
                self._spending.uses(arms.drawn)
            self.tell(pulled)


def _machine(plan: Plan, network: Network, chance: Chance) -> ServerMachine:
    """Make the server's machine; `RunFailed` if that fails."""
    server = plan.system.server
    if server is None:
        return Nobody()
    context = CoordinatorContext(
        agents=plan.spec.agents.count,
        arms=plan.spec.arms.arm_count(),
        parameters=plan.parameters,
        variant=plan.spec.variant,
        knowledge=network.server,
        generator=chance.generator,
        field=plan.field,
        on_missing=plan.on_missing,
        signer=chance.signer(plan.spec.agents.count, b"", sign=plan.spec.engine.sign),
    )
    try:
        machine = server.make(context)
        require_machine(machine)
    except (Exception, SystemExit) as error:
        raise RunFailed.from_reason(defect.report("the coordinator", error, server.make)) from error
    return machine


def _shared_arms(plan: Plan, chance: Chance, spending: Spending) -> GroupArms:
    """Build the arms that all agents of a run share; in the field enter the run in the ledger."""
    arms, agents, count = plan.spec.arms, plan.spec.agents.count, plan.spec.arms.arm_count()
    table = chance.means(arms, agents)
    means = None if table is None else table[0]
    built = chance.arms(arms, agents, plan.spec.base, plan.spec.privacy.persons)
    task = SpendingRequest(run=plan.spec, agents=agents, rank=COORDINATOR, claim=plan.reward_claim)
    spending.begin(task, built)
    known = known_means(arms)
    scale = (0.0, 1.0) if known is None else known.scale
    return GroupArms(RewardBuffer(built, count), agents, count, means, scale)


def _effect(plan: Plan, verdict: Finish, network: Network, attendance: Attendance) -> str:
    """What the loss of agents did to a run, including agents whose rewards ran out."""
    # dismissed agents do not report pulls; the coordinator counts those of shared arms
    unknown = bool(attendance.dismissed) and not (plan.field or plan.system.shares_arms)
    totals = " Pulls, rounds and regret do not include theirs." * unknown
    if plan.on_missing != "continue" or verdict.status == "missing":
        return "The run ended there." + totals
    lost = {*attendance.dismissed, *attendance.exhausted}
    parts = len(network.parts(lost))
    apart = f" The graph fell apart into {parts} parts, which could not hear each other."
    return plan.system.loss.effect + apart * (parts > len(network.parts())) + totals


def _run_clock(plan: Plan, shared: GroupArms | None, sources: Sources) -> RunClock:
    if shared is not None:
        return SharedClock(shared)
    match plan.clock:
        case "virtual":
            return Conductor(plan.spec.agents.count)
        case "slots":
            return SlotClock()
        case "wall":
            return WallClock(sources.clock)
