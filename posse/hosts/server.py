"""The server of one run: its machine, the machine's effects, and the shared arms, if any."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol

from mypy_extensions import mypyc_attr

from posse import defect
from posse.arms import known_means
from posse.arms.buffer import RewardBuffer
from posse.arms.shared import SharedArms
from posse.errors import PosseError, RunFailed
from posse.hosts.endpoint import NEIGHBOURS, no_link, unheard
from posse.hosts.sources import Chance
from posse.hosts.spending import NOT_KEPT, Spending, Task
from posse.plan import Plan
from posse.systems.context import CoordinatorContext
from posse.systems.network import Network
from protocol.errors import LocalProtocolError, RemoteProtocolError
from protocol.machine import (
    COORDINATOR,
    Broadcast,
    Dismiss,
    Finish,
    GatheringMachine,
    Note,
    PatientMachine,
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
    assert_never_effect,
    no_effects,
    refused_own,
    require_answer,
    require_arms,
    require_machine,
)
from protocol.message import Message


class Serving(Protocol):
    """What a server needs from the run that it serves."""

    @property
    def now(self) -> float:
        """The time, in the unit of the run's clock."""
        ...

    def send(self, to: int, message: Message) -> None:
        """Send an agent a message."""
        ...

    def send_to_all(self, message: Message) -> None:
        """Send a message to every agent that takes part."""
        ...

    def dismiss(self, agent: int, reason: str) -> None:
        """Go on without this agent, for the fault that `reason` names."""
        ...

    def end(self, verdict: Finish, exhausted: str = "") -> None:
        """End the run; `exhausted` is the sentence about shared arms that ran out, else ""."""
        ...


class Nobody:
    """The machine of a system without a server: it hears who is gone, and asks for nothing."""

    __slots__ = ()

    def handle(self, event: ServerEvent, now: float) -> ServerEffects:
        """See `ServerMachine`."""
        return ()


@mypyc_attr(allow_interpreted_subclasses=True)
class Server:
    """Carries out the effects of the server's machine.

    `log` has the rows that it noted. `timer` is when to call `fire`, in seconds of the clock
    `Sources.clock` (infinite: never). `arms` are those that all agents share, else None. Where a
    system has no server, its machine is `Nobody`.
    """

    def __init__(self, plan: Plan, network: Network, chance: Chance, run: Serving) -> None:
        self.log: defaultdict[str, list[list[float]]] = defaultdict(list)
        self.timer = math.inf
        self.arms: SharedArms | None = None
        self._over = False
        self._run = run
        self._system = plan.system
        self._agents_hear = plan.system.agent.hears
        self._wall = chance.sources.clock
        self._spending = NOT_KEPT
        self._field = plan.field
        self._count = plan.spec.arms.arm_count()
        if plan.system.shares_arms:
            if plan.field:
                spec = plan.spec
                self._spending = chance.sources.spending(spec.arms, spec.base, COORDINATOR)
            self.arms = _shared_arms(plan, chance, self._spending)
        self._machine = _machine(plan, network, chance)
        self._patient = self._machine if isinstance(self._machine, PatientMachine) else None

    def kept(self, heard: Sequence[Received]) -> Sequence[Received]:
        """Let a patient machine keep messages that came together; return those still to tell it."""
        if self._patient is not None and self._patient.keep(heard[:-1]):
            return heard[-1:]
        return heard

    def missing(self) -> list[int]:
        """The agents whose message the machine needs to go on, if it can name them."""
        if not isinstance(self._machine, GatheringMachine):
            return []
        try:
            return list(self._machine.missing())
        except (Exception, SystemExit) as error:
            raise RunFailed.told(defect.of("the coordinator", error, self._machine)) from error

    def fire(self) -> None:
        """Tell the machine that the time of `timer` has come."""
        self.timer = math.inf
        if not self._over:
            self.tell(TimerFired())

    def end(self) -> None:
        """Stop timers and close the ledger: there is a verdict."""
        self._over = True
        self.timer = math.inf
        self._spending.end(None)

    def tell(self, event: ServerEvent, now: float | None = None) -> None:
        """Hand the machine an event of time `now` (default: the present); carry out its effects."""
        try:
            try:
                effects = self._machine.handle(event, self._run.now if now is None else now)
            except RemoteProtocolError as error:
                if isinstance(event, (Started, Pulled, TimerFired)):
                    raise refused_own(self._machine, event, error) from error
                raise
            if not isinstance(effects, (list, tuple)):
                raise no_effects(self._machine, effects)
            if effects:
                self._carry_out(effects)
        except (RemoteProtocolError, PosseError):
            raise
        except (Exception, SystemExit) as error:
            raise RunFailed.told(defect.of("the coordinator", error, self._machine)) from error

    def _carry_out(self, effects: ServerEffects) -> None:
        run = self._run
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
                row, at = effect.row, effect.at
                line = self._system.results.line(row, run.now if at is None else at)
                self.log[row.table].append(line)
            elif type(effect) is Broadcast:
                message = effect.message
                if type(message) not in self._agents_hear:
                    raise unheard(message, NEIGHBOURS, self._agents_hear)
                run.send_to_all(message)
            elif type(effect) is Dismiss:
                run.dismiss(effect.agent, effect.reason)
            elif type(effect) is Finish:
                require_answer(effect, self._count)
                run.end(effect)
            else:
                assert_never_effect(effect, self._machine, "the coordinator's", ServerEffect)

    def _send(self, asked: Any) -> None:
        # `asked` is a Send; typed, compiled code would take bools for ints
        message = asked.message
        if type(asked.to) is not int:
            raise no_link(COORDINATOR, asked.to)
        if type(message) not in self._agents_hear:
            raise unheard(message, asked.to, self._agents_hear)
        self._run.send(asked.to, message)

    def _arms(self) -> SharedArms:
        if self.arms is None:
            raise LocalProtocolError(
                f"{self._system.name} has no arms that all agents share: each agent pulls its own"
            )
        return self.arms

    def _wait(self, order: Timer) -> None:
        asked: Any = order  # typed, compiled code would not read what is no float
        if not isinstance(asked.after, (int, float)) or not order.after >= 0:
            raise LocalProtocolError(f"{order}: after must be a number of seconds, 0 or more")
        self.timer = self._wall() / 1e9 + order.after

    def _pull(self, order: Pull) -> None:
        arms = self._arms()
        if min(order.arms, default=-1) < 0 or max(order.arms) >= self._count or order.times < 1:
            require_arms(order, self._count)  # raises; alone it would take three times as long
        if shortage := arms.shortage(order):
            self._run.end(Finish("exhausted"), shortage)
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
        raise RunFailed.told(defect.of("the coordinator", error, server.make)) from error
    return machine


def _shared_arms(plan: Plan, chance: Chance, spending: Spending) -> SharedArms:
    """Build the arms that all agents of a run share; in the field enter the run in the ledger."""
    arms, agents, count = plan.spec.arms, plan.spec.agents.count, plan.spec.arms.arm_count()
    table = chance.means(arms, agents)
    means = None if table is None else table[0]
    built = chance.arms(arms, agents, plan.spec.base)
    if plan.field:
        task = Task(run=plan.spec, agents=agents, rank=COORDINATOR, claim=plan.claim)
        spending.begin(task, built)
    known = known_means(arms)
    scale = (0.0, 1.0) if known is None else known.scale
    return SharedArms(RewardBuffer(built, count), agents, count, means, scale)
