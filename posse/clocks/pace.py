"""When an agent's orders to its arms are carried out: one pace per clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from posse.arms.buffer import Tape
from posse.clocks.activity import Activity
from protocol import control
from protocol.errors import LocalProtocolError
from protocol.machine import (
    COORDINATOR,
    Explore,
    ExploringMachine,
    Finish,
    Observed,
    Pull,
    Pulled,
    Received,
)

if TYPE_CHECKING:
    from posse.hosts.agent import AgentHost

Order = Pull | Explore

_SAY_SECONDS = 5.0
"""Seconds between two signs of life by the wall's clock: they follow from nothing but time."""

_LOOK_AHEAD = (512, 1 << 16)
_WALL_BLOCK = 64

SAY_EVERY = 50
"""Slots between two signs of life. With a thousand agents on two cores they take some 20 s."""


class Pace(Protocol):
    """How time passes for one agent in one run."""

    now: float

    @property
    def ready(self) -> bool:
        """Whether `step` has something to do."""
        ...

    @property
    def under_way(self) -> bool:
        """Whether the machine has begun and not finished."""
        ...

    def start(self) -> None:
        """The run begins."""
        ...

    def message(self, event: Received, now: float) -> None:
        """A data message arrived, sent at `now`."""
        ...

    def advance(self, now: float) -> None:
        """The virtual clock has reached this agent's time."""
        ...

    def step(self) -> None:
        """Carry out the order under way, as far as it goes without listening."""
        ...

    def stop(self, now: float) -> None:
        """The run is over at `now`."""
        ...


@dataclass(slots=True)
class _Plan:
    """`count` activations for an order, the last of them at `due`."""

    order: Order
    start: float
    due: float
    count: int


class VirtualPace:
    """The virtual clock: the agent says when it will act, and acts when it is told to.

    An `Explore` is read ahead on the tape to the activation that makes the machine act. A message
    that comes before cuts it: how many activations lie before the message is drawn from their
    exact law (`Activity.elapsed`), these are committed, and the rest is planned anew.
    """

    ready = False
    """Everything happens when it is told to."""

    def __init__(self, host: AgentHost, tape: Tape, activity: Activity) -> None:
        self.now = 0.0
        self._host = host
        self._tape = tape
        self._activity = activity
        self._plan: _Plan | None = None
        self._over = False

    @property
    def under_way(self) -> bool:
        """See `Pace`."""
        return not self._over

    def start(self) -> None:
        """See `Pace`."""
        self._take(self._host.begin_machine())
        self._say_due()

    def advance(self, now: float) -> None:
        """See `Pace`."""
        plan = self._plan
        if plan is None or now < plan.due:
            raise LocalProtocolError(f"agent {self._host.rank} was advanced without a plan")
        self.now = now
        self._plan = None
        self._take(self._commit(plan, plan.count))
        if self._plan is None and not self._over:
            self._take(plan.order if isinstance(plan.order, Explore) else None)
        self._say_due()

    def message(self, event: Received, now: float) -> None:
        """See `Pace`."""
        self.now = now
        if self._over:
            self._say_due()
            return
        plan = self._plan
        if plan is not None and isinstance(plan.order, Explore):
            self._plan = None
            done = self._activity.elapsed(plan.start, plan.due, plan.count, now)
            if done:
                self._take(self._commit(plan, done))
            if self._plan is None and not self._over:
                self._plan = _Plan(plan.order, now, plan.due, plan.count - done)
        try:
            self._take(self._host.tell(event, now))
        finally:
            self._say_due()

    def step(self) -> None:
        """Nothing happens of the agent's own accord."""

    def stop(self, now: float) -> None:
        """See `Pace`: activations of the order under way up to `now` count as pulls."""
        self.now = now
        if self._plan is not None:
            plan, self._plan = self._plan, None
            done = self._activity.elapsed(plan.start, plan.due, plan.count, now)
            if done:
                self._host.account.pulled(plan.order.arms, done, now)

    def _commit(self, plan: _Plan, count: int) -> Order | Finish | None:
        """`count` activations of the plan took place by now."""
        order = plan.order
        self._host.account.pulled(order.arms, count, self.now)
        if isinstance(order, Explore):
            rewards = self._tape.take(order.arms, count)
            return self._host.tell(Observed(order.arms, rewards), self.now)
        return self._host.tell(_pull(self._tape, order), self.now)

    def _take(self, order: Order | Finish | None) -> None:
        """Replace what is under way by a new order."""
        if order is None:
            return
        if self._plan is not None and isinstance(self._plan.order, Pull):
            plan = self._plan
            if self._activity.elapsed(plan.start, plan.due, plan.count, self.now):
                raise LocalProtocolError("a Pull that was begun must not be replaced")
        self._plan = None
        if isinstance(order, Finish):
            self._over = True
            return
        count, shortage = self._length(order)
        if shortage:
            self._over = True
            self._host.exhausted(shortage)
            return
        self._plan = _Plan(order, self.now, self._activity.due(self.now, count), count)

    def _length(self, order: Order) -> tuple[int, str]:
        """After how many activations the order is next heard of, or why it cannot be begun."""
        if isinstance(order, Pull):
            return order.times, self._tape.shortage(order.arms, order.times)
        machine = cast(ExploringMachine, self._host.machine)
        ahead, most = _LOOK_AHEAD
        while True:
            rewards = self._tape.peek(order.arms, ahead)
            width = rewards.shape[1]
            if width == 0:
                return 0, self._tape.shortage(order.arms, 1)
            silent = machine.silent(rewards)
            if silent < width:
                return silent + 1, ""
            if width < ahead or ahead >= most:
                return width, ""
            ahead *= 2

    def _say_due(self) -> None:
        due = self._plan.due if self._plan is not None else math.inf
        self._host.send(COORDINATOR, control.Due(due))


class _Unpaced:
    """Orders are carried out at once; only the clock differs between subclasses."""

    def __init__(self, host: AgentHost, tape: Tape) -> None:
        self.now = 0.0
        self._host = host
        self._tape = tape
        self._order: Order | None = None
        self._over = False

    @property
    def ready(self) -> bool:
        """Whether an order is under way."""
        return self._order is not None

    @property
    def under_way(self) -> bool:
        """See `Pace`."""
        return not self._over

    def start(self) -> None:
        """See `Pace`."""
        self._take(self._host.begin_machine())

    def message(self, event: Received, now: float) -> None:
        """See `Pace`."""
        if self._over:
            return
        self._tick(0)
        order = self._host.tell(event, self.now)
        if order is not None:
            self._take(order)

    def advance(self, now: float) -> None:
        """Only the virtual clock advances."""
        raise LocalProtocolError("this clock is not advanced from outside")

    def step(self) -> None:
        """See `Pace`."""
        order = self._order
        if order is None:
            return
        if isinstance(order, Pull):
            if shortage := self._tape.shortage(order.arms, order.times):
                self._exhaust(shortage)
                return
            self._order = None
            pulled = _pull(self._tape, order)
            self._tick(order.times * len(order.arms))
            self._host.account.pulled(order.arms, order.times, self.now)
            self._take(self._host.tell(pulled, self.now))
        else:
            self._explore(order)

    def _explore(self, order: Explore) -> None:
        ahead = _WALL_BLOCK if self._tape.simulated else 1
        rewards = self._tape.peek(order.arms, ahead)
        if rewards.shape[1] == 0:
            self._exhaust(self._tape.shortage(order.arms, 1))
            return
        machine = cast(ExploringMachine, self._host.machine)
        count = min(machine.silent(rewards) + 1, rewards.shape[1])
        self._tick(count * len(order.arms))
        self._host.account.pulled(order.arms, count, self.now)
        rewards = self._tape.take(order.arms, count)
        self._take(self._host.tell(Observed(order.arms, rewards), self.now))

    def stop(self, now: float) -> None:
        """See `Pace`."""
        self._order = None
        self._over = True

    def _exhaust(self, shortage: str) -> None:
        self._order = None
        self._over = True
        self._host.exhausted(shortage)

    def _take(self, order: Order | Finish | None) -> None:
        if isinstance(order, Finish):
            self._order = None
            self._over = True
        elif order is not None:
            self._order = order

    def _tick(self, pulls: int) -> None:
        raise NotImplementedError


class SlotPace(_Unpaced):
    """Clock `slots`: one pull is one slot."""

    def _tick(self, pulls: int) -> None:
        if not pulls:
            return
        before = self.now // SAY_EVERY
        self.now += pulls
        if self.now // SAY_EVERY != before:
            self._host.send(COORDINATOR, control.SlotReached())


class SharedPace:
    """Clock `slots` where all agents share the arms: time is what the arms' medium says it is."""

    ready = False
    """Everything happens when a message arrives."""

    def __init__(self, host: AgentHost) -> None:
        self.now = 0.0
        self._host = host
        self._over = False

    @property
    def under_way(self) -> bool:
        """See `Pace`."""
        return not self._over

    def start(self) -> None:
        """See `Pace`."""
        self._take(self._host.begin_machine())

    def message(self, event: Received, now: float) -> None:
        """See `Pace`."""
        if not self._over:
            self.now = now
            self._take(self._host.tell(event, now))

    def advance(self, now: float) -> None:
        """Only the virtual clock advances."""
        raise LocalProtocolError("this clock is not advanced from outside")

    def step(self) -> None:
        """Nothing happens of the agent's own accord."""

    def stop(self, now: float) -> None:
        """See `Pace`."""
        self._over = True

    def _take(self, order: Order | Finish | None) -> None:
        if isinstance(order, Finish):
            self._over = True
        elif order is not None:
            raise LocalProtocolError("an agent that shares its arms has none of its own to pull")


class FreePace(_Unpaced):
    """Clock `wall`: seconds since the run began; nobody waits for it.

    Where a system in lockstep has no server, nothing else tells the coordinator that it goes on.
    """

    def __init__(self, host: AgentHost, tape: Tape) -> None:
        super().__init__(host, tape)
        self._began = host.stamp()
        system = host.system
        alone = system.coordinator is None and "slots" in system.clocks
        self._say_at = _SAY_SECONDS if alone else math.inf

    def _tick(self, pulls: int) -> None:
        self.now = (self._host.stamp() - self._began) * 1e-9
        if self.now >= self._say_at:
            self._say_at = self.now + _SAY_SECONDS
            self._host.send(COORDINATOR, control.SlotReached())


def _pull(tape: Tape, order: Pull) -> Pulled:
    if order.each:
        rewards = tape.take(order.arms, order.times)
        return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards)
    return Pulled(order.arms, order.times, tape.sums(order.arms, order.times))
