"""The agents of federated elimination (Li and Song 2022)."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from posse.seam.machines import (
    COORDINATOR,
    Abort,
    AgentEffect,
    AgentEffects,
    AgentEvent,
    AgentMachine,
    Attest,
    Disclose,
    Finish,
    Note,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Regrouped,
    Send,
    Stand,
    Started,
    Stopwatch,
)
from posse.seam.messages import FloatArray, RemoteProtocolError, Variant, pack_floats
from posse.seam.noise import Noise, Release
from posse_systems.li2022.comparison import Comparison
from posse_systems.li2022.exchange import Exchange, take_each
from posse_systems.li2022.messages import (
    Active,
    ExchangeDelay,
    ExchangedRow,
    ExploredRow,
    Held,
    LeftRow,
    Means,
    Schedule,
    SinkMeans,
    Stated,
)

EXCHANGES = 1 << 20
"""Means travel anew after each loss: after v losses the exchange of round r has the number
v EXCHANGES + r."""


@dataclass(slots=True)
class Eliminator(AgentMachine):
    """The rounds of an agent (CDP-MAB, lines 3 to 11; DDP-MAB and HDP-MAB alike).

    In round r the agent pulls every arm of I d = S(r) - S(r-1) times. From x̂_k, the mean of these,
    it computes ŷ_k = x̂_k + Lap(1/(M ε d)) and ȳ_k = (S(r-1) ȳ_k + d ŷ_k) / S(r), and shares ȳ.
    While means travel it pulls the arm of its own largest ȳ (a raw mean would leak through its
    pulls) and discards those rewards. Arms are pulled in turn, so that a horizon inside a round
    cuts all of them alike.

    `t` counts the slots used or ordered so far. `plausible`: rewards lie in [0, 1], so means far
    outside are refused.

    When an agent by which means travel is lost (`PeerLost`), all agents stand still and say where
    they are (`Stand`): in round `present`, which began in slot `begun`. When all that are left have
    said so, they are `Regrouped`. An agent that is behind takes over the round, slot and arms of
    the furthest, who have all decided alike unless one deceived them: for that case `undecided` has
    S(r), the arms and their ȳ of before the last decision. The exchange of that round begins anew
    among those left, and takes no slots of its own. `view` counts the losses, and numbers
    exchanges.

    Above 20 attributes: the state of a round of the paper, and what a loss needs.
    """

    arms: int
    schedule: Schedule
    noise: Noise
    exchange: Exchange = field(default_factory=lambda: Exchange(0, 1))
    t_delay: ExchangeDelay = "diameter-1"
    candidates: tuple[int, ...] = ()
    round: int = 0
    observed: int = 0
    new: int = 0
    t: int = 0
    active: tuple[int, ...] = ()
    mean: FloatArray = field(default_factory=lambda: np.zeros(0))
    latest: FloatArray = field(default_factory=lambda: np.zeros(0))
    stage: Literal["explore", "delay", "wait", "tail"] = "wait"
    answer: int | None = None
    tail: list[Pull] = field(default_factory=list)
    plausible: bool = False
    present: int = 0
    begun: int = 0
    due: int = 0
    missed: bool = False
    view: int = 0
    stands: bool = False
    regrouped: Regrouped | None = None
    ahead: list[Received] = field(default_factory=list)
    undecided: tuple[int, tuple[int, ...], FloatArray] = (0, (), np.zeros(0))

    def handle(self, event: AgentEvent, now: float) -> AgentEffects:
        match event:
            case Started():
                self.active = self.candidates or tuple(range(self.arms))
                self.mean = np.zeros(len(self.active))
                return self._start()
            case Pulled(_, _, sums) if self.stage == "explore":
                return self._finish_exploring(sums)
            case Pulled() if self.stage == "wait" or (self.stage == "delay" and self.stands):
                self.stage = "wait"  # the delay belonged to an exchange that was given up
                return []
            case Pulled() if self.stage == "delay":
                return self._open()
            case Pulled():
                return self._play_on()
            case Received():
                return self._take_of_view(event)
            case PeerLost():
                return self._stand_still()
            case Regrouped():
                self._check(event)
                return self._regroup(event)
            case _:
                raise RemoteProtocolError("out-of-turn", type(event).__name__)

    def _take_of_view(self, event: Received) -> AgentEffects:
        """Take a message, unless a neighbour sent it before the last loss: then it is obsolete."""
        number = getattr(event.message, "round", 0) // EXCHANGES
        if event.sender == COORDINATOR or (number == self.view and not self.stands):
            return self._take(event)
        if number >= self.view and len(self.ahead) < 4 * self.arms + 1_000:
            self.ahead.append(event)
        return []

    def _stand_still(self) -> AgentEffects:
        if self.exchange.agents == 1:
            return []  # this agent waits for nobody's means
        self.view += 1
        self.stands = True
        effects = self._catch_up()
        slot = self.schedule.horizon + 1 if self.missed else self.t
        return [*effects, Stand(self.present, self.begun, slot, self.active)]

    def _catch_up(self) -> AgentEffects:
        """Take decisions that are already here: they need no exchange."""
        return []

    def _check(self, event: Regrouped) -> None:
        """Refuse a round that no agent can have reached, and arms that no agent can have left.

        And a second word about one loss, by which this agent would sign two values for one round.
        """
        if self.regrouped is not None and event.view == self.regrouped.view:
            raise RemoteProtocolError("out-of-turn", f"regrouped twice after loss {event.view}")
        if not self.schedule.fits(event.round - 1) or event.begun > self.schedule.horizon:
            raise RemoteProtocolError("beyond-horizon", f"round {event.round}")
        behind = event.view == self.view and self.present < event.round
        active = self.active
        if self._decided_otherwise(event):
            behind, active = True, self.undecided[1]
        if behind and not (event.arms and set(event.arms) <= set(active)):
            raise RemoteProtocolError("no-such-arm", "the arms left must be some of those before")

    def _regroup(self, event: Regrouped) -> AgentEffects:
        """Continue with the agents that are left, in the round of the furthest."""
        behind = self.present < event.round
        if self._decided_otherwise(event):
            self.observed, self.active, self.mean = self.undecided
            behind = True
        if self.exchange.agents == 1 or event.view != self.view or event.round < self.present:
            return []  # obsolete: word of another loss is on its way
        self.stands, self.regrouped = False, event
        # a new exchange replaces the present one, whatever its state
        self.exchange = replace(
            self.exchange, neighbours=event.neighbours, knowledge=event.knowledge
        )
        self.exchange.round = EXCHANGES * self.view + event.round - 1
        effects: list[AgentEffect] = []
        if behind:
            self._keep(event.arms)
            self.round, self.t = event.round - 1, event.begun
            effects += self._begin_round()
        elif self.stage in ("wait", "delay"):
            effects += self._share()
        ahead, self.ahead = self.ahead, []
        effects += take_each(ahead, self._take_of_view)
        return effects

    def _decided_otherwise(self, event: Regrouped) -> bool:
        """Whether most agents in this round decided the one before on other means than this one.

        An agent that told its neighbours different things has brought this about. Who is still in
        that round takes its last decision back; nobody can be further, who has not heard of it.
        """
        same = event.view == self.view and self.present == event.round and self.stage != "tail"
        return same and event.arms != self.active and bool(self.undecided[1])

    def _start(self) -> AgentEffects:
        return self._begin_round()

    def _begin_round(self) -> AgentEffects:
        self.present, self.begun = self.round + 1, self.t
        if len(self.active) == 1:
            return self._play(self.active[0])
        self.round += 1
        observed = self.schedule.observations(self.round, len(self.active), self.observed)
        new = observed - self.observed
        if len(self.active) * new > self.schedule.horizon - self.t:
            return self._cut()
        self.new, self.observed = new, observed
        self.t += len(self.active) * new
        self.stage = "explore"
        return [Pull(self.active, new)]

    def _finish_exploring(self, sums: FloatArray) -> AgentEffects:
        scale = self.schedule.scale(self.new)
        self.latest = self.noise.noisy(sums / self.new, 1 / self.new, scale)
        before = self.observed - self.new
        self.mean = (before * self.mean + self.new * self.latest) / self.observed
        self.answer = self.active[int(self.mean.argmax())]
        release = Release(
            "laplace", 1 / self.new, scale, 1 / (self.new * scale), f"round {self.round}"
        )
        row = ExploredRow(self.round, len(self.active), self.observed, self.new)
        return [Disclose(release), Note(row), *self._share()]

    def _share(self) -> AgentEffects:
        exchange = self.exchange
        if self.stands:
            self.stage = "wait"
            return []
        horizon, resumption = self.schedule.horizon, self._resumption
        delay = 0
        if resumption is not None:
            self.missed = resumption.slot > horizon
            self.t = max(self.t, min(resumption.slot, horizon))
        elif exchange.slots is not None:
            delay = max(0, exchange.slots - (self.t_delay == "diameter-1"))
            self.missed = self.t + delay > horizon
        if self.missed:
            assert self.answer is not None
            return self._play(self.answer)
        self.due = self.t + delay
        before = self.observed - self.new
        margin = self.schedule.margin(self.round, before, self.observed)
        number = EXCHANGES * self.view + self.round
        exchange.begin(number, self._row(), margin if self.plausible else math.inf)
        if exchange.over:
            return self._finish_exchange()
        at_once = self.t_delay == "diameter-1" or resumption is not None
        first = self._open() if at_once else self._spend_delay()
        return [Stopwatch("exchange", True), *first]

    @property
    def _resumption(self) -> Regrouped | None:
        """What all agreed on for this round, if a loss interrupted its exchange."""
        last = self.regrouped
        return last if last is not None and last.round == self.round else None

    def _row(self) -> FloatArray:
        """The means that this agent shares."""
        return self.mean

    def _spend_delay(self) -> AgentEffects:
        """Spend one slot of the delay: pull the arm of the largest ȳ once."""
        if self.t >= self.schedule.horizon:
            return self._play_on()
        assert self.answer is not None
        self.t += 1
        self.stage = "delay"
        return [Pull((self.answer,), 1)]

    def _open(self) -> AgentEffects:
        self.stage = "wait"
        effects = self.exchange.open()
        return [*effects, *self._end_slot()] if self.exchange.idle else effects

    def _take(self, event: Received) -> AgentEffects:
        exchange = self.exchange
        if event.sender == COORDINATOR:
            raise RemoteProtocolError("out-of-turn", type(event.message).__name__)
        closed = exchange.idle
        effects = exchange.receive(event)
        return [*effects, *self._end_slot()] if exchange.idle and not closed else effects

    def _end_slot(self) -> AgentEffects:
        exchange = self.exchange
        if not exchange.over:
            return self._spend_delay() if self._resumption is None else self._open()
        row = ExchangedRow(self.round, exchange.slot, exchange.links)
        return [Stopwatch("exchange", False), Note(row), *self._finish_exchange()]

    def _finish_exchange(self) -> AgentEffects:
        """Go on after the exchange of a round."""
        raise NotImplementedError

    def _abort_without(self, origins: Collection[int], how: str) -> AgentEffects:
        """Abort the run if the means of any of these agents did not arrive."""
        missing = [n for n in origins if n not in self.exchange.has]
        if not missing:
            return []
        return [
            Abort(
                f"after {self.exchange.slot} slots of round {self.round} the means of "
                f"{len(missing)} agents {how}; the first is agent {missing[0]}'s"
            )
        ]

    def _decide(self, average: FloatArray, agents: int) -> None:
        """Compute I^(r) from `average`, the mean of ȳ over the `agents` agents that are left."""
        self.answer = self.active[int(average.argmax())]
        self.undecided = self.observed, self.active, self.mean
        self._keep(self.schedule.survivors(self.round, self.active, self.observed, average, agents))

    def _keep(self, arms: tuple[int, ...]) -> None:
        self.mean = self.mean[[self.active.index(k) for k in arms]]
        self.active = arms

    def _cut(self) -> AgentEffects:
        """The horizon cuts the exploration: pull in turn for the slots that are left."""
        times, rest = divmod(self.schedule.horizon - self.t, len(self.active))
        self.tail = [Pull(self.active, times)] if times else []
        self.tail += [Pull(self.active[:rest], 1)] if rest else []
        return self._play_on()

    def _play(self, arm: int) -> AgentEffects:
        """Pull only this arm until the horizon."""
        self.answer = arm
        remaining = self.schedule.horizon - self.t
        self.tail = [Pull((arm,), remaining)] if remaining else []
        return self._play_on()

    def _play_on(self) -> AgentEffects:
        self.stage = "tail"
        if self.tail:
            return [self.tail.pop(0)]
        return [Note(LeftRow(self.active)), Finish("done", self.answer)]


class LoneEliminator(Eliminator):
    """`single-mab`: CDP-MAB with M = 1 and without messages."""

    def _finish_exchange(self) -> AgentEffects:
        self._decide(self.mean, 1)
        return self._begin_round()


@dataclass(slots=True, kw_only=True)
class DdpAgent(Eliminator):
    """DDP-MAB (Algorithm 3): every agent averages all agents' means and eliminates by itself.

    Line 9 averages ŷ, but the text and CDP-MAB average ȳ. C(r) holds only for ȳ, so `corrected`
    shares ȳ. All agents must arrive at the same I; the lab checks this (`Attest`). Agents that sign
    compare with their neighbours what they average before they decide (`Comparison`).
    """

    variant: Variant
    comparison: Comparison = field(default_factory=Comparison)

    def _row(self) -> FloatArray:
        return self.mean if self.variant == "corrected" else self.latest

    def _finish_exchange(self) -> AgentEffects:
        exchange, members = self.exchange, self.exchange.members
        if lack := self._abort_without(members, "are missing"):
            return lack
        if exchange.signer is not None and exchange.neighbours:
            return self._agree_if_equal(self.comparison.open(exchange))
        return self._decide_alike()

    def _take(self, event: Received) -> AgentEffects:
        if not isinstance(event.message, (Held, Stated)):
            return Eliminator._take(self, event)
        was = self.comparison.over
        effects = self.comparison.receive(event, self.exchange)
        return effects if was else self._agree_if_equal(effects)

    def _agree_if_equal(self, effects: AgentEffects) -> AgentEffects:
        return [*effects, *self._decide_alike()] if self.comparison.over else effects

    def _decide_alike(self) -> AgentEffects:
        """Decide once it is sure that the neighbours average the same means."""
        exchange, members = self.exchange, self.exchange.members
        average = exchange.rows[list(members)].mean(axis=0)
        known = self.schedule.estimates(
            self.round, self.active, self.observed, average, len(members)
        )
        notes = [Note(estimate) for estimate in known]
        self._decide(average, len(members))
        # after a loss the graph may fall into parts, whose agents need not agree with each other
        step = exchange.round + (members[0] + 1) * EXCHANGES**2 * bool(self.view)
        attest = Attest(step, np.array(self.active, dtype="<u4").tobytes())
        return [*notes, attest, *self._begin_round()]


@dataclass(slots=True)
class _Served(Eliminator):
    """An agent whose active arms the server decides.

    The server may decide several rounds ahead of an agent that it does not wait for. `decisions`
    has those that have arrived and not been taken, in order, at most as many as rounds fit into
    the horizon (`Schedule.fits`).
    """

    decisions: list[Active] = field(default_factory=list)

    def _take(self, event: Received) -> AgentEffects:
        if event.sender != COORDINATOR:
            return Eliminator._take(self, event)
        decision = event.message
        waiting = self.decisions
        if isinstance(decision, Active) and self.round < decision.round <= self.round + len(
            waiting
        ):
            raise RemoteProtocolError("duplicate", f"round {decision.round}")
        if not isinstance(decision, Active) or decision.round != self.round + len(waiting) + 1:
            raise RemoteProtocolError("out-of-turn", type(decision).__name__)
        if not self.schedule.fits(decision.round - 1):
            raise RemoteProtocolError("beyond-horizon", f"round {decision.round}")
        if not set(decision.arms) <= set(waiting[-1].arms if waiting else self.active) or list(
            decision.arms
        ) != sorted(set(decision.arms)):
            raise RemoteProtocolError("no-such-arm", "the arms left must be some of those before")
        waiting.append(decision)
        idle = self.exchange.idle and self.exchange.over
        return self._go_on() if self.stage == "wait" and idle else []

    def _catch_up(self) -> AgentEffects:
        if not self.decisions or self.stage not in ("wait", "delay"):
            return []
        self.t = max(self.t, self.due)
        return self._go_on()

    def _go_on(self) -> AgentEffects:
        """Take the server's decision if it has arrived."""
        self.stage = "wait"
        if not self.decisions:
            return []
        self._keep(self.decisions.pop(0).arms)
        return self._begin_round()


@dataclass(slots=True)
class CdpAgent(_Served):
    """CDP-MAB (Algorithm 1): one message to the server per round.

    With partial participation the server says in `Active` whether an agent uploads, before the
    first round too. Every agent explores and keeps its own ȳ current. A second `Active` for the
    same round asks an agent to upload in place of one that was lost.
    """

    partial: bool = False
    upload: bool = True

    def _start(self) -> AgentEffects:
        return [] if self.partial else self._begin_round()

    def _take(self, event: Received) -> AgentEffects:
        order = event.message
        latest = self.decisions[-1] if self.decisions else None
        if self.partial and isinstance(order, Active) and order.upload:
            if latest is not None and latest.round == order.round and not latest.upload:
                self.decisions[-1] = order
                return []
            if latest is None and order.round == self.round and not self.upload:
                self.upload = True
                return [self._make_means()] if self.stage == "wait" else []
        return _Served._take(self, event)

    def _go_on(self) -> AgentEffects:
        if self.decisions:
            self.upload = self.decisions[0].upload
        return _Served._go_on(self)

    def _finish_exchange(self) -> AgentEffects:
        if not self.upload:
            return self._go_on()
        return [self._make_means(), *self._go_on()]

    def _make_means(self) -> Send:
        return Send(COORDINATOR, Means(self.round, pack_floats(self.mean)))


class HdpAgent(_Served):
    """HDP-MAB (Algorithm 5): a component's means go to its sink, their average to the server.

    A sink is told its `component`, the agents whose means it waits for; it is empty at others.
    """

    def _regroup(self, event: Regrouped) -> AgentEffects:
        if event.view == self.view:
            self.decisions.clear()
        return _Served._regroup(self, event)

    def _finish_exchange(self) -> AgentEffects:
        exchange = self.exchange
        component = list(exchange.knowledge["component"])
        if not component:
            return self._go_on()
        if lack := self._abort_without(component, f"did not reach sink {exchange.rank}"):
            return lack
        average = exchange.rows[component].mean(axis=0)
        return [Send(COORDINATOR, SinkMeans(self.round, pack_floats(average))), *self._go_on()]
