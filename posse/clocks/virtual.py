"""The virtual clock at an agent: it says when it will act next, and acts when told to."""

import math
from dataclasses import dataclass

import numpy as np
from mypy_extensions import mypyc_attr

from posse.arms.buffer import RewardBuffer
from posse.clocks.pace import ArmsOrder, Pace, Paced
from posse.protocol import control
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import (
    Explore,
    Finish,
    Observed,
    PeerLost,
    Pull,
    Received,
    Regrouped,
)

LOOK_AHEAD = (512, 1 << 16)
"""Rewards of an arm that an agent looks at first for its next test, and at most."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Activity:
    """When one agent is active: a Poisson process of rate P_N(n), known at the times that matter.

    The activations of independent Poisson processes with rates P_N(n) come in an order with the law
    of "sample the active agent n ~ P_N, restricted to the agents that are not done" (Rio et al.
    2023, Algorithm 1, line 5). So an agent can jump to its next decision with one draw.
    """

    def __init__(self, rate: float, generator: np.random.Generator) -> None:
        self._rate = rate
        self._generator = generator

    def due(self, now: float, count: int) -> float:
        """The time of the `count`-th activation after `now`: a Gamma(count) sum of gaps."""
        return now + float(self._generator.gamma(count)) / self._rate

    def elapsed(self, start: float, due: float, count: int, now: float) -> int:
        """How many activations fell before `now`, given that the `count`-th after `start` is `due`.

        Given the `count`-th, the others are uniform between `start` and `due`: a binomial draw.
        """
        if now >= due:
            return count
        if math.isinf(due) or count <= 1:
            return 0
        return int(self._generator.binomial(count - 1, (now - start) / (due - start)))


@dataclass(slots=True)
class _Plan:
    """`count` activations for an order, the last of them at `due`."""

    order: ArmsOrder
    start: float
    due: float
    count: int


@mypyc_attr(allow_interpreted_subclasses=True)
class VirtualPace(Pace):
    """The pace of the clock `virtual`; see `posse.clocks.run_clock` for the coordinator's side.

    For an `Explore` it reads ahead in the buffer to the activation that makes the machine act. If a
    message comes earlier, it draws how many activations precede it from their exact law
    (`Activity.elapsed`), commits these and plans the rest again.
    """

    def __init__(self, run: Paced, rewards: RewardBuffer, activity: Activity) -> None:
        super().__init__(run)
        self._rewards = rewards
        self._activity = activity
        self._plan: _Plan | None = None

    @property
    def _idle(self) -> bool:
        return self._plan is None

    def start(self) -> None:
        super().start()
        self._say_due()

    def advance(self, now: float) -> None:
        plan = self._plan
        if plan is None or now < plan.due:
            raise RemoteProtocolError("out-of-turn", "Advance before the time that was asked for")
        self.now = now
        self._plan = None
        self._take(self._commit(plan, plan.count))
        if self._idle and not self._over:
            self._take(plan.order if type(plan.order) is Explore else None)
        self._say_due()

    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        """Handle a message; the agent answers with `Due` even if the machine refuses it."""
        try:
            self._message(event, now)
        finally:
            self._say_due()

    def _message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        plan = self._plan
        # an agent with a `Pull` that is due acts before it is sent anything else
        pulls = plan is not None and type(plan.order) is Pull
        if now < self.now or (plan is not None and (now > plan.due or (pulls and now == plan.due))):
            raise RemoteProtocolError("out-of-turn", "the virtual clock leaped over this agent")
        self.now = now
        if self._over:
            return
        if plan is not None and type(plan.order) is Explore:
            self._plan = None
            done = self._activity.elapsed(plan.start, plan.due, plan.count, now)
            if done:
                self._take(self._commit(plan, done))
            if self._idle and not self._over:
                self._plan = _Plan(plan.order, now, plan.due, plan.count - done)
        self._take(self._run.tell(event, now))

    def stop(self, now: float) -> None:
        """End the run; activations of the order under way up to `now` count as pulls."""
        super().stop(now)
        self.now = now = max(now, self.now)
        if self._plan is not None:
            plan, self._plan = self._plan, None
            done = self._activity.elapsed(plan.start, plan.due, plan.count, now)
            if done:
                self._run.account.pulled(plan.order.arms, done, now)
                earned = self._rewards.sums(plan.order.arms, done)
                self._run.account.given(plan.order.arms, done, earned)

    def _commit(self, plan: _Plan, count: int) -> ArmsOrder | Finish | None:
        """Carry out the plan's first `count` activations, which ended by now."""
        order = plan.order
        self._run.account.pulled(order.arms, count, self.now)
        if type(order) is Explore:
            rewards = self._rewards.take(order.arms, count)
            return self._run.tell(Observed(order.arms, rewards), self.now)
        return self._run.tell(self._rewards.pull(order), self.now)

    def _take(self, order: ArmsOrder | Finish | None) -> None:
        if order is None:
            return
        if self._plan is not None and type(self._plan.order) is Pull:
            plan = self._plan
            if self._activity.elapsed(plan.start, plan.due, plan.count, self.now):
                raise LocalProtocolError("a Pull that was begun must not be replaced")
        self._plan = None
        if type(order) is Finish:
            self._over = True
            return
        count, shortage = self._length(order)
        if shortage:
            self._over = True
            self._run.exhausted(shortage)
            return
        self._plan = _Plan(order, self.now, self._activity.due(self.now, count), count)

    def _length(self, order: ArmsOrder) -> tuple[int, str]:
        """The activations until the order gives the machine an event, or why it cannot begin."""
        if type(order) is Pull:
            return order.times, self._rewards.shortage(order.arms, order.times)
        ahead, most = LOOK_AHEAD
        while True:
            rewards = self._rewards.peek(order.arms, ahead)
            width = rewards.shape[1]
            if width == 0:
                return 0, self._rewards.shortage(order.arms, 1)
            uneventful = self._run.lookahead(rewards)
            if uneventful < width:
                return uneventful + 1, ""
            if width < ahead or ahead >= most:
                return width, ""
            ahead *= 2

    def _say_due(self) -> None:
        due = self._plan.due if self._plan is not None else math.inf
        self._run.say(control.Due(due))
