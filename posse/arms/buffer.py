"""A buffer of rewards, so that an agent can look at rewards before it uses them."""

from collections.abc import Callable

import numpy as np
from mypy_extensions import mypyc_attr

from posse.arms import Arms
from posse.measure.numbers import counted
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import Explore, Pull, Pulled

_EMPTY = np.zeros(0)
READ_AHEAD = 256
"""Simulated rewards of an arm that are drawn at once where single ones are asked for."""


@mypyc_attr(allow_interpreted_subclasses=True)
class RewardBuffer:
    """A queue of rewards for each arm, in front of the arms themselves.

    An exploring agent acts at the activation at which its test fires. It finds that activation by
    looking ahead; the rewards after it stay in the buffer. `acted` is called whenever an arm that
    is not simulated, and may be slow, has given rewards. `waited` counts the turns that the last
    order took beyond those ordered, because rewards came late.
    """

    def __init__(self, arms: Arms, count: int, acted: Callable[[], None] | None = None) -> None:
        self._arms = arms
        self._acted = None if arms.simulated else acted
        # rewards of arm k from self._next[k] on are unused
        self._drawn: list[FloatArray] = [_EMPTY] * count
        self._next = [0] * count
        self._finite = frozenset(k for k in range(count) if arms.remaining(k) is not None)
        self._type = "u1" if getattr(arms, "binary", False) else "f8"
        """The type of what is kept: hundreds of rewards of each agent are drawn ahead."""
        self.simulated = arms.simulated
        self.alarm: int | None = None
        """A file descriptor that is readable when awaited rewards have come, of live arms."""
        self.waited = 0

    def held(self, arm: int) -> int:
        """How many rewards of an arm were drawn and not yet used."""
        return len(self._drawn[arm]) - self._next[arm]

    def peek(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """The next `times` rewards of each arm, shape (len(arms), times or what is left)."""
        for k in arms:
            missing = times - self.held(k)
            if missing > 0:
                rest = self._drawn[k][self._next[k] :]
                drawn = np.array(self._draw(k, missing), dtype=self._type)
                self._drawn[k] = np.concatenate([rest, drawn]) if len(rest) else drawn
                self._next[k] = 0
        width = min(times, min([self.held(k) for k in arms]))
        rewards = np.empty((len(arms), width))
        for row, k in enumerate(arms):
            rewards[row] = self._drawn[k][self._next[k] : self._next[k] + width]
        return rewards

    def take(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Use the next `times` rewards of each arm, shape (len(arms), times)."""
        if len(arms) == 1 and not self.held(arms[0]):
            return self._draw(arms[0], times)[None]
        rewards = self.peek(arms, times)
        for k in arms:
            self._next[k] += rewards.shape[1]
        return rewards

    def take_one(self, arm: int) -> float:
        """Use one reward of one arm."""
        drawn, position = self._drawn[arm], self._next[arm]
        if position == len(drawn):
            drawn = self._drawn[arm] = self._draw(arm, READ_AHEAD if self.simulated else 1)
            position = 0
        self._next[arm] = position + 1
        return float(drawn.item(position))

    def sums(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Use `times` rewards of each arm; only their sums, shape (len(arms),)."""
        if times == 1 and len(arms) == 1:
            return np.array([self.take_one(arms[0])])
        if not any(map(self.held, arms)):
            return self._totals(arms, times)
        return self._partly_held(arms, times)

    def _partly_held(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Sum the buffered rewards, and let the arms sum the rest without drawing each reward."""
        fresh = tuple(k for k in arms if not self.held(k))
        sums = dict(zip(fresh, self._totals(fresh, times), strict=True)) if fresh else {}
        for k in arms:
            if k not in sums:
                position = self._next[k]
                held = self._drawn[k][position : position + times]
                self._next[k] += len(held)
                missing = times - len(held)
                sums[k] = float(held.sum()) + (self._totals((k,), missing)[0] if missing else 0.0)
        return np.array([sums[k] for k in arms])

    def _draw(self, arm: int, count: int) -> FloatArray:
        rewards = self._arms.draw(arm, count)
        if self._acted is not None:
            self._acted()
        return rewards

    def _totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        if self._acted is None:
            return self._arms.totals(arms, times)
        sums = []
        for k in arms:
            sums.append(self._arms.totals((k,), times)[0])
            self._acted()
        return np.array(sums)

    def pull(self, order: Pull) -> Pulled:
        """Carry out an order; check with `shortage` first that the arms have enough rewards."""
        if order.each:
            rewards = self.take(order.arms, order.times)
            return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards)
        return Pulled(order.arms, order.times, self.sums(order.arms, order.times))

    def come(self, order: Pull | Explore) -> bool:
        """Whether the rewards of this order, or of one activation, can be had at once."""
        return True

    def finished(self, answer: int | None) -> None:
        """The agent is done."""

    def shortage(self, arms: tuple[int, ...], times: int) -> str:
        """Empty if each arm has `times` rewards left, else a sentence about one that has not.

        An arm that is named twice needs twice as many.
        """
        if self._finite:
            for k in arms:
                remaining = (self._arms.remaining(k) or 0) + self.held(k)
                needed = times * arms.count(k)
                if k in self._finite and remaining < needed:
                    left = counted(remaining, "reward")
                    return f"arm {k} has {left} left and {needed} are needed"
        return ""
