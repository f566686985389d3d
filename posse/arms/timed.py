"""The queue in front of arms whose rewards depend on the slot of a pull, or come late."""

from collections import deque

import numpy as np

from posse.arms.base import PIECE, pieces
from posse.arms.buffer import RewardBuffer
from posse.arms.changing import Timed
from posse.arms.csv import CsvInSlots
from posse.measure.numbers import counted
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import Pull, Pulled


class TimedBuffer(RewardBuffer):
    """Pulls in the slots of an agent, and hands over each arm's rewards in the order of its pulls.

    With a delay an order goes on, its arms in turn, until each has as many rewards as were ordered.
    What comes later is the first of the arm's next order (Joulani, György and Szepesvári, ICML
    2013, Algorithm QPM-D, except that an order always pulls as often as it says). So a machine gets
    the rewards that it would get at once, and each arm costs up to `delay` pulls more, once.
    """

    def __init__(self, arms: Timed | CsvInSlots, count: int) -> None:
        super().__init__(arms, count)
        self.simulated = False  # nothing is pulled before its slot
        self._timed = arms
        self._queues: list[deque[tuple[int, float]]] = [deque() for _ in range(count)]
        """Of each arm the slots in which rewards come, and the rewards, oldest first."""
        self._ready: FloatArray | None = None

    def shortage(self, arms: tuple[int, ...], times: int) -> str:
        """Empty if this many turns of these arms are left, else a sentence."""
        left, needed = self._timed.remaining(arms[0]), times * len(arms)
        if left is None or needed <= left:
            return ""
        return f"the log has {counted(left, 'slot')} left and {needed} are needed"

    def peek(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Pull, and keep the rewards for `take`."""
        if self._ready is None:
            self._ready = self._turns(arms, times)
        return self._ready

    def take(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Use the rewards that `peek` pulled, or pull now."""
        rewards = self._turns(arms, times) if self._ready is None else self._ready
        self._ready = None
        return rewards

    def pull(self, order: Pull) -> Pulled:
        """Carry out an order; `waited` is the number of turns beyond those ordered."""
        if not order.each and order.times > PIECE and self._ready is None:
            sums, waited = np.zeros(len(order.arms)), 0
            for count in pieces(order.times):
                sums += self.take(order.arms, count).sum(axis=1)
                waited += self.waited
            self.waited = waited
            return Pulled(order.arms, order.times, sums)
        rewards = self.take(order.arms, order.times)
        return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards if order.each else None)

    def _turns(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Pull until `times` rewards of each arm have come, and hand these over."""
        self.waited = 0
        if not self._timed.delay:
            return self._timed.turns(arms, times)
        self._pull(arms, times)
        while not all(self._have_come(arm, times) for arm in arms):
            self._pull(arms, 1)
            self.waited += 1
        return np.array([[self._queues[arm].popleft()[1] for _ in range(times)] for arm in arms])

    def _pull(self, arms: tuple[int, ...], times: int) -> None:
        first = self._timed.slot + self._timed.delay
        rewards = self._timed.turns(arms, times).tolist()
        for place, arm in enumerate(arms):
            comes = range(first + place, first + place + times * len(arms), len(arms))
            self._queues[arm].extend(zip(comes, rewards[place], strict=True))

    def _have_come(self, arm: int, times: int) -> bool:
        """Whether this many rewards of an arm, which were not used yet, have come by now."""
        queue = self._queues[arm]
        return len(queue) >= times and queue[times - 1][0] < self._timed.slot
