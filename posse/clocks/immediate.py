"""The clocks `slots` and `wall`, in which orders are carried out at once.

`slots`: one pull is one slot; agents wait only for messages. `wall`: seconds; nobody waits.
"""

import math
from abc import abstractmethod
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from posse.arms.buffer import RewardBuffer
from posse.clocks.pace import ArmsOrder, Pace, Paced
from posse.protocol import control
from posse.protocol.machine import (
    Explore,
    Finish,
    Observed,
    PeerLost,
    Pull,
    Received,
    Regrouped,
)

_BLOCK = 64
"""Simulated rewards that an `Explore` reads ahead; real ones are pulled one by one.

What a `Pull` of many is summed from depends on it, and so do results, as on a seed.
"""

SAY_EVERY = 50
"""Slots between two signs of life: about 20 s with a thousand agents on two cores."""

_SAY_SECONDS = 5.0
"""Seconds between two signs of life. Their times depend on nothing but the clock."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ImmediatePace(Pace):
    """Carries out an order at the next `step`; subclasses say how much time that takes."""

    def __init__(self, run: Paced, rewards: RewardBuffer) -> None:
        super().__init__(run)
        self._rewards = rewards

    @property
    def acts(self) -> bool:
        order = self.order
        return order is not None and self._rewards.come(order)

    @property
    def alarm(self) -> int | None:
        return self._rewards.alarm

    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        if self._over:
            return
        self._tick(0)
        order = self._run.tell(event, self.now)
        if order is not None:
            self._take(order)

    def step(self) -> None:
        order = self.order
        if type(order) is Pull:
            if shortage := self._rewards.shortage(order.arms, order.times):
                self._exhaust(shortage)
                return
            self.order = None
            pulled = self._rewards.pull(order)
            turns = order.times + self._rewards.waited
            self._tick(turns * len(order.arms))
            self._run.account.pulled(order.arms, turns, self.now)
            self._take(self._run.tell(pulled, self.now))
        elif type(order) is Explore:
            self._explore(order)

    def _explore(self, order: Explore) -> None:
        ahead = _BLOCK if self._rewards.simulated else 1
        rewards = self._rewards.peek(order.arms, ahead)
        if rewards.shape[1] == 0:
            self._exhaust(self._rewards.shortage(order.arms, 1))
            return
        count = min(self._run.lookahead(rewards) + 1, rewards.shape[1])
        rewards = self._rewards.take(order.arms, count)
        turns = count + self._rewards.waited
        self._tick(turns * len(order.arms))
        self._run.account.pulled(order.arms, turns, self.now)
        self._take(self._run.tell(Observed(order.arms, rewards), self.now))

    def stop(self, now: float) -> None:
        self.order = None
        super().stop(now)
        self._rewards.finished(self._run.account.answer)

    def _exhaust(self, shortage: str) -> None:
        self.stop(self.now)
        self._run.exhausted(shortage)

    def _take(self, order: ArmsOrder | Finish | None) -> None:
        if type(order) is Finish:
            self.stop(self.now)
        elif order is not None:
            self.order = order

    @abstractmethod
    def _tick(self, pulls: int) -> None:
        """Set `now` after this many pulls (0 or more)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SlotPace(ImmediatePace):
    """The pace of the clock `slots`: time is the number of the agent's pulls."""

    def _tick(self, pulls: int) -> None:
        if not pulls:
            return
        before = self.now // SAY_EVERY
        self.now += pulls
        if self.now // SAY_EVERY != before:
            self._run.say(control.SlotReached())


@mypyc_attr(allow_interpreted_subclasses=True)
class WallPace(ImmediatePace):
    """The pace of the clock `wall`: seconds since the run began, by `clock` in nanoseconds.

    `says`: the agent sends signs of life, because nothing else tells the coordinator of it.
    """

    def __init__(
        self, run: Paced, rewards: RewardBuffer, clock: Callable[[], int], says: bool
    ) -> None:
        super().__init__(run, rewards)
        self._clock = clock
        self._began = clock()
        self._say_at = _SAY_SECONDS if says else math.inf

    def _tick(self, pulls: int) -> None:
        self.now = (self._clock() - self._began) * 1e-9
        if self.now >= self._say_at:
            self._say_at = self.now + _SAY_SECONDS
            self._run.say(control.SlotReached())
