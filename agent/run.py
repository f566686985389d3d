"""One run of one agent: its machine, its arms, its pace and its measurements."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from mypy_extensions import mypyc_attr

from posse.arms import Arms, LinearArms, LiveArms, Openings, SleepingArms
from posse.arms.base import AskedOpen
from posse.arms.buffer import RewardBuffer
from posse.arms.changing import Timed
from posse.arms.csv import CsvArms, CsvInSlots
from posse.arms.live import Live, LiveBuffer
from posse.arms.timed import TimedBuffer
from posse.clocks.immediate import SlotPace, WallPace
from posse.clocks.pace import ArmsOrder, Pace, SharedPace
from posse.clocks.virtual import Activity, VirtualPace
from posse.errors import InputError, PosseError
from posse.gates.decode import Packed
from posse.hosts.agent_setup import AgentSetup, check_told
from posse.hosts.effects import AgentHostEffect, PeerGone, RunOver
from posse.hosts.endpoint import NEIGHBOURS, Endpoint, no_link_error, unheard_error
from posse.hosts.sources import Chance, FeaturesOf
from posse.hosts.spending import NOT_KEPT, SpendingRequest, head_of
from posse.measure.account import Account
from posse.measure.regret import Regret
from posse.protocol import control
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import (
    Contradiction,
    Equivocation,
    LocalProtocolError,
    RemoteProtocolError,
    Unsettled,
)
from posse.protocol.machine import (
    COORDINATOR,
    MOST_PULLS,
    Abort,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Attest,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Note,
    Observed,
    Parameters,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Refuse,
    Regrouped,
    Send,
    Stand,
    Stopwatch,
    as_exploring,
    as_patient,
    assert_never_effect,
    no_effects_error,
    own_refusal_error,
    require_answer,
    require_arms,
    require_machine,
    require_reason,
    require_release,
    two_orders_error,
)
from posse.protocol.message import Message, Plane
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from posse.results.vouched import KIND, last_word
from posse.seeds import Purpose
from posse.system.context import AgentContext
from posse.system.record import System

_CONTROL: Final = int(Plane.CONTROL)

_MOST_COMPLAINTS = 10
"""About each neighbour: none takes another's place."""
_MOST_UNSETTLED = 2
"""Most complaints that the coordinator hears from one agent, see `posse.coordinator.agreement`."""
_KNOWLEDGE: Packed[dict[str, Any]] = Packed(dict[str, Any])

_TELLING = (Send, Broadcast, Disclose, Finish, Abort)
"""Effects by which information about the agent's rewards may leave the agent."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AgentRun:
    """Carries out the effects of an agent's machine, from `Begin` to `Stop`.

    `account` records what the agent did; it leaves the agent only in the lab. `arms` are the
    agent's own, if they were built before the run; `effects` is where effects are noted.

    Above 20 attributes: the machine's effects need one each.
    """

    def __init__(
        self,
        setup: AgentSetup,
        system: System,
        parameters: Parameters,
        endpoint: Endpoint,
        chance: Chance,
        arms: Arms | None,
        effects: list[AgentHostEffect],
    ) -> None:
        self.rank = chance.rank
        self._host_effects = effects
        self.field = chance.field
        self.over = False
        self._losses = 0
        self._lost: set[int] = set()
        self._left = chance.sources.left
        self._ordered: set[tuple[int, ...]] = chance.once("ordered", set)
        self._setup = setup
        self._system = system
        self._broadcasts = system.broadcasts
        self._linked = system.wiring is not None
        self._agents_hear = system.agent.hears
        self._server_hears = system.server_hears
        self.endpoint = endpoint
        self._stamp = chance.sources.stamp
        self._resources = chance.sources.resources
        self._signer_of = chance.sources.signer
        self._randbits = chance.sources.randbits
        self._resources.begin()
        self._complaints: Counter[int] = Counter()
        self._shown: set[int] = set()
        self._stopwatches: dict[str, int] = {}
        self._seconds: dict[str, list[float]] = {}
        if arms is None and not isinstance(setup.arms, int) and setup.arms.closes:
            arms = chance.arms(setup.arms, setup.agents, setup.base, setup.privacy.persons)
        self.machine = _machine(setup, system, parameters, chance, arms)
        require_machine(self.machine)
        self._explorer = as_exploring(self.machine)
        self._patient = as_patient(self.machine)
        regret: dict[str, Regret] = {}
        self._spending = NOT_KEPT
        if not isinstance(setup.arms, int):
            against = system.shape.regret_against
            regret = chance.regret(setup.arms, setup.agents, against)
            self._spending = chance.spending(setup.arms, setup.base)
        self._count = setup.arm_count
        self.account = Account(self._count, regret)
        self.pace = _pace(self, setup, system, chance, arms)

    @property
    def awaited(self) -> int:
        """How many more messages the machine needs before it acts; 1 if it cannot tell."""
        return self._patient.awaited if self._patient is not None else 1

    def receive(
        self, source: int, plane: int, now: float, sent: int, message: Message, arrived: int
    ) -> None:
        """Take a message of this run; see `AgentHost.receive` and `Endpoint.open`."""
        # a system may count some of its own messages as control
        if plane != _CONTROL or not isinstance(message, control.Control):
            if not self.over:
                self.endpoint.arrived(source, sent, arrived)
                self.pace.message(Received(source, message), now)
        elif source != COORDINATOR:
            raise RemoteProtocolError("control-from-agent", str(source))
        elif self.over:
            raise RemoteProtocolError("out-of-turn", type(message).__name__)
        elif isinstance(message, control.Advance):
            self.pace.advance(now)
        elif isinstance(message, control.Stop):
            self._stop(now)
        elif isinstance(message, control.Gone):
            if not message.exhausted:
                self._host_effects.append(PeerGone(message.agent))
            self._losses += 1
            self._lost.add(message.agent)
            self._tell_of_others(PeerLost(message.agent), now)
        elif isinstance(message, control.Regroup):
            self._tell_of_others(self._regrouped(message), now)
        else:
            raise RemoteProtocolError("out-of-turn", type(message).__name__)

    def hear(self, heard: Sequence[Received], now: float) -> None:
        """As `AgentHost.hear`; at most as many as are awaited, so only the last makes it act."""
        if self._patient is not None and self._patient.keep(heard[:-1]):
            heard = heard[-1:]
        for received in heard:
            if not self.over:
                try:
                    self.pace.message(received, now)
                except RemoteProtocolError as error:
                    self.refuse(error, received.sender)

    def _tell_of_others(self, event: PeerLost | Regrouped, now: float) -> None:
        """Hand the machine news of other agents, which may need its answer even if it is done."""
        if self.account.exhausted:
            return  # the others were told not to wait for this agent
        if self.pace.under_way:
            self.pace.message(event, now)
        else:
            self.tell(event, self.pace.now)

    def _regrouped(self, order: control.Regroup) -> Regrouped:
        """What is left of the graph, if that can be: no neighbour is new."""
        if not set(order.neighbours) <= set(self._setup.neighbours):
            raise RemoteProtocolError("no-such-agent", "a neighbour that this agent did not have")
        try:
            knowledge = _KNOWLEDGE.read(order.knowledge)
            check_told(self._system, knowledge)
        except InputError as error:
            raise RemoteProtocolError("malformed", f"knowledge: {error}") from None
        members = knowledge.get("members", ())
        own = self._left(self.rank, members)
        if own is not None and (
            not self._lost.isdisjoint(members)
            or (order.neighbours, order.knowledge) != (own[0], msgspec.msgpack.encode(own[1]))
        ):
            raise PosseError(
                "the coordinator says otherwise than this agent's own run file what is left of the "
                "graph after a loss; ask its operator whether it is posse's own"
            )
        return Regrouped(**msgspec.structs.asdict(order) | {"knowledge": knowledge})

    def refuse(self, error: RemoteProtocolError, blamed: int | None, count: int = 1) -> None:
        """Count a peer's fault; report the first ten of each to the coordinator."""
        self.endpoint.refused[error.reason] += count
        if isinstance(error, Equivocation):
            self._show(error.proof)
            return
        named = [blamed] if blamed in self._setup.neighbours else []
        if isinstance(error, Unsettled) and error.others:
            named = [*error.others[:_MOST_UNSETTLED]]
        elif blamed == COORDINATOR and not self.field:
            named = [blamed]
        for rank in named:
            if not self.over and self._complaints[rank] < _MOST_COMPLAINTS:
                self._complaints[rank] += 1
                self.say(control.Complaint(rank, error.described(self.field)))

    def _show(self, proof: Contradiction) -> None:
        """Show the coordinator, once, that an agent contradicts itself."""
        if proof.origin not in self._shown and not self.over:
            self._shown.add(proof.origin)
            self.say(control.Contradicted(proof.origin, proof.kind, proof.place, *proof.statements))

    def say(self, message: Message) -> None:
        """Send the coordinator a message of the host or of the clock."""
        self.endpoint.send(COORDINATOR, message, self.pace.now)

    def tell(  # noqa: PLR0912
        self, event: AgentEvent, now: float
    ) -> ArmsOrder | Finish | None:
        """Hand an event to the machine and carry out its effects; return its order, if any."""
        order: ArmsOrder | Finish | None = None
        if not self.field:  # there no sum of rewards is kept that nothing noised
            self._add_up(event)
        effects = self._effects_of(event, now)
        if self.field and any(isinstance(effect, _TELLING) for effect in effects):
            self._spending.uses(self.account.pulls)
        for effect in effects:
            if type(effect) is Send:
                untyped: Any = effect  # typed, compiled code would take bools for ints
                if type(untyped.to) is not int:
                    raise no_link_error(self.rank, untyped.to)
                to, message = effect.to, effect.message
                if to != COORDINATOR and self._broadcasts:
                    raise LocalProtocolError(
                        f"{self._system.name} sends to all neighbours at once; use Broadcast"
                    )
                hears = self._server_hears if to == COORDINATOR else self._agents_hear
                if type(message) not in hears:
                    raise unheard_error(message, to, hears)
                self.endpoint.send(to, message, self.pace.now)
            elif type(effect) is Broadcast:
                message = effect.message
                if not self._linked:
                    raise LocalProtocolError(
                        f"{self._system.name} broadcasts, but its agents have no neighbours; use "
                        "Send(COORDINATOR, …)"
                    )
                if type(message) not in self._agents_hear:
                    raise unheard_error(message, NEIGHBOURS, self._agents_hear)
                self.endpoint.send_to_all(self._setup.neighbours, message, self.pace.now)
            elif type(effect) is Pull or type(effect) is Explore:
                if order is not None:
                    raise two_orders_error(effect, order)
                order = effect
                self._check(effect)
            elif type(effect) is Disclose:
                require_release(effect.release)
                self.account.disclosed(effect.release)
            elif type(effect) is Note:
                row = effect.row
                line = self._system.results.line(row, self.pace.now)
                self.account.log.setdefault(row.table, []).append(line)
            elif type(effect) is Finish:
                if order is not None:
                    raise two_orders_error(effect, order)
                require_answer(effect, self._count)
                order = effect
                self.account.answer = effect.arm
                self._end(control.Finished(effect.arm))
            else:
                self._carry_out(effect)
        return order

    def _add_up(self, event: AgentEvent) -> None:
        if type(event) is Pulled:
            self.account.given(event.arms, event.times, event.sums)
        elif type(event) is Observed:
            sums = event.rewards.sum(axis=1)
            self.account.given(event.arms, event.rewards.shape[1], sums)

    def _effects_of(self, event: AgentEvent, now: float) -> AgentEffects:
        try:
            effects = self.machine.handle(event, now)
        except RemoteProtocolError as error:
            if isinstance(event, (Received, PeerLost, Regrouped)):
                raise
            raise own_refusal_error(self.machine, event, error) from error
        if not isinstance(effects, (list, tuple)):
            raise no_effects_error(self.machine, effects)
        return effects

    def _check(self, order: Pull | Explore) -> None:
        """Raise `LocalProtocolError` for an order that cannot be carried out."""
        untyped: Any = order  # as above
        times = untyped.times if type(order) is Pull else 1
        if (
            type(untyped.arms) is not tuple
            or order.arms not in self._ordered
            or type(times) is not int
            or not 0 < times <= MOST_PULLS
            or type(untyped.arms[0]) is not int  # bools equal ints, but index as a mask
        ):
            require_arms(order, self._count)
            if len(set(order.arms)) < len(order.arms):  # both would get the same rewards
                raise LocalProtocolError(
                    f"{order} cannot be carried out: an agent names each of its own arms once"
                )
            self._ordered.add(order.arms)

    def _carry_out(self, effect: Stopwatch | Attest | Refuse | Abort | Stand) -> None:
        """Carry out one of the rare effects."""
        match effect:
            case Stopwatch(name, running):
                self._time(name, running)
            case Attest(step, value):
                # in the field the coordinator must not see what agents hold among themselves
                if not self.field:
                    self.say(control.Attested(step, value))
            case Refuse(reason, sender, count, proof):
                error = Equivocation(proof) if proof is not None else RemoteProtocolError(reason)
                self.refuse(error, sender, count)
            case Abort():
                require_reason(effect)
                # reasons name rounds and agents, never a reward
                self.say(control.Failed(f"agent {self.rank}: {effect.reason}"))
            case Stand(round_, begun, slot, arms):
                self.say(control.AgentStanding(self._losses, round_, begun, slot, arms))
            case _:
                assert_never_effect(effect, self.machine, f"agent {self.rank}'s", AgentEffect)

    def lookahead(self, rewards: FloatArray) -> int:
        """How many of these next activations pass before the machine acts."""
        if self._explorer is None:
            kind = type(self.machine).__name__
            raise LocalProtocolError(f"{kind} orders Explore, so it must have a method `lookahead`")
        return self._explorer.lookahead(rewards)

    def exhausted(self, what: str) -> None:
        """Stop because the agent's rewards are used up, and say so as `System.end` allows."""
        self._spending.uses(self.account.pulls)
        self.account.exhausted = what
        self._end(control.Finished(None, "its rewards are used up" if self.field else what))

    def _end(self, last: control.Finished) -> None:
        """Tell the coordinator of the agent's end, in the field only what `System.end` allows."""
        if not self.field or self._system.end == "answer":
            self._vouch(last.arm)
            self.say(last)
        elif self._system.end == "bare":
            self.say(control.Finished(None))

    def _vouch(self, arm: int | None) -> None:
        """Sign this answer, if this agent has keys."""
        setup = self._setup
        signer = self._signer_of(0, setup.signed_name) if self.field else None
        if signer is not None:
            said = last_word(setup.system, setup.variant, setup.agents, setup.parameters, arm)
            self.say(control.Vouched(signer.sign(KIND, said)))

    def _time(self, name: str, running: bool) -> None:
        now = self._stamp()
        if running:
            self._stopwatches[name] = now
        elif began := self._stopwatches.pop(name, 0):
            self._seconds.setdefault(name, []).append((now - began) * 1e-9)

    def _stop(self, now: float) -> None:
        self.pace.stop(now)
        self.over = True
        self._spending.uses(self.account.pulls)
        spent = None
        if self.field:
            spent = total_cost(self.account.releases, self._setup.reward_claim.delta)
            signer = self._signer_of(0, self._setup.signed_name)
            if (head := head_of(self._spending, signer, self._randbits)) is not None:
                self.say(head)
        self.account.lifetime = self._spending.end(spent)
        # in the field an agent's account stays on its machine
        for word in [control.Stopped()] if self.field else control.in_parts(self._report()):
            self.say(word)
        if self.field:
            self._host_effects.append(RunOver(self.account))

    def leave(self) -> None:
        """Give the run up, and the ledger with it."""
        if not self.field:
            self._spending.uses(self.account.pulls)
        self._spending.leave()

    def _report(self) -> control.Report:
        return control.Report(
            links=self.endpoint.meter.links() + self._resources.links(self.rank),
            delays={source: dict(by) for source, by in self.endpoint.delays.items()},
            refused=dict(self.endpoint.refused),
            seconds=self._seconds,
            resources=self._resources.used(),
            **self.account.measured(),
        )


def _machine(
    setup: AgentSetup, system: System, parameters: Parameters, chance: Chance, arms: Arms | None
) -> AgentMachine:
    # an audit carries out what the field does, on rewards of its own
    field = chance.field or chance.sources.real_noise
    signer = None
    if system.agent.signs:
        signer = chance.signer(setup.agents, setup.signed_name, sign=setup.sign)
    return system.agent.make(
        AgentContext(
            rank=chance.rank,
            agents=setup.agents,
            arms=setup.arm_count,
            parameters=parameters,
            variant=setup.variant,
            neighbours=setup.neighbours,
            knowledge=setup.knowledge,
            noise=(
                chance.sources.noise() if field else SeededNoise(chance.generator(Purpose.NOISE))
            ),
            generator=chance.generator,
            secret=chance.secret,
            field=field,
            signer=signer,
            contexts=_contexts(setup, chance),
            openings=_openings(setup, chance, arms),
        )
    )


def _contexts(setup: AgentSetup, chance: Chance) -> FeaturesOf | None:
    seen = chance.sources.features
    if isinstance(setup.arms, CsvArms) and setup.arms.features:
        return seen(chance.rank, setup.arms.contexts(setup.base, chance.rank))
    if not isinstance(setup.arms, LinearArms):
        return None
    contexts = setup.arms.contexts(chance.common(Purpose.INSTANCE), chance.rank)
    return seen(chance.rank, lambda slot: contexts(np.array([slot]))[0])


def _openings(setup: AgentSetup, chance: Chance, arms: Arms | None) -> Openings | None:
    if isinstance(setup.arms, SleepingArms):
        return setup.arms.openings(chance.common(Purpose.INSTANCE), chance.rank)
    if arms is None or isinstance(setup.arms, int) or not setup.arms.closes:
        return None
    return AskedOpen(arms)


def _pace(
    run: AgentRun, setup: AgentSetup, system: System, chance: Chance, arms: Arms | None
) -> Pace:
    if isinstance(setup.arms, int):
        return SharedPace(run)
    if arms is None:
        arms = chance.arms(setup.arms, setup.agents, setup.base, setup.privacy.persons)
    if run._spending is not NOT_KEPT:  # the claim takes as long as all else here
        claim = setup.reward_claim
        task = SpendingRequest(run=setup, agents=setup.agents, rank=run.rank, claim=claim)
        run._spending.begin(task, arms)
    acted = chance.sources.acted
    if type(arms) is Timed or type(arms) is CsvInSlots:  # of a `Protocol` `isinstance` is slow
        rewards: RewardBuffer = TimedBuffer(arms, setup.arm_count)
    elif isinstance(setup.arms, LiveArms) and isinstance(arms, Live):
        rewards = LiveBuffer(arms, setup.arm_count, acted)
    else:
        rewards = RewardBuffer(arms, setup.arm_count, acted)
    match setup.clock:
        case "virtual":
            return VirtualPace(
                run, rewards, Activity(setup.rate, chance.generator(Purpose.ACTIVITY))
            )
        case "slots":
            return SlotPace(run, rewards)
        case _:
            # in lockstep without a server nothing else shows the coordinator that an agent is alive
            says = system.server is None and "slots" in system.clocks
            return WallPace(run, rewards, chance.sources.clock, says)
