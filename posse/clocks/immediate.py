"""Orders that are carried out at once: what the clocks `slots` and `wall` have in common."""

from abc import abstractmethod

from posse.arms.buffer import RewardBuffer
from posse.clocks.pace import Order, Pace, Paced
from protocol.machine import Explore, Finish, Observed, PeerLost, Pull, Ready, Received, Regrouped

_BLOCK = 64
"""Simulated rewards that are looked at together; real ones are pulled one by one."""


class ImmediatePace(Pace):
    """An order under way is carried out at the next `step`; subclasses say what time it took."""

    def __init__(self, run: Paced, rewards: RewardBuffer) -> None:
        super().__init__(run)
        self._rewards = rewards

    def message(self, event: Received | PeerLost | Regrouped, now: float) -> None:
        if self._over:
            return
        self._tick(0)
        order = self._run.tell(event, self.now)
        if order is not None:
            self._take(order)

    def step(self) -> None:
        order = self.order
        if isinstance(order, Ready):
            self.order = None
            self._take(self._ask())
            order = self.order
        if isinstance(order, Pull):
            if shortage := self._rewards.shortage(order.arms, order.times):
                self._exhaust(shortage)
                return
            self.order = None
            pulled = self._rewards.pull(order)
            self._tick(order.times * len(order.arms))
            self._run.account.pulled(order.arms, order.times, self.now)
            self._take(self._run.tell(pulled, self.now))
        elif isinstance(order, Explore):
            self._explore(order)

    def _explore(self, order: Explore) -> None:
        ahead = _BLOCK if self._rewards.simulated else 1
        rewards = self._rewards.peek(order.arms, ahead)
        if rewards.shape[1] == 0:
            self._exhaust(self._rewards.shortage(order.arms, 1))
            return
        count = min(self._run.silent(rewards) + 1, rewards.shape[1])
        self._tick(count * len(order.arms))
        self._run.account.pulled(order.arms, count, self.now)
        rewards = self._rewards.take(order.arms, count)
        self._take(self._run.tell(Observed(order.arms, rewards), self.now))

    def stop(self, now: float) -> None:
        self.order = None
        super().stop(now)

    def _exhaust(self, shortage: str) -> None:
        self.stop(self.now)
        self._run.exhausted(shortage)

    def _take(self, order: Order | Ready | Finish | None) -> None:
        if isinstance(order, Finish):
            self.stop(self.now)
        elif order is not None:
            self.order = order

    @abstractmethod
    def _tick(self, pulls: int) -> None:
        """So many pulls were made, or none: what time is it now?"""
