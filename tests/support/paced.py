"""A run for paces: a machine written by hand, and what the pace had it do."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posse.arms.buffer import RewardBuffer
from posse.measure.account import Account
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import AgentEvent, Explore, Finish, Pull
from posse.protocol.message import Message

Answer = Callable[[AgentEvent], Pull | Explore | Finish | None]


class Rising:
    """Arm k gives k, k + 1, k + 2, …; optionally `limit` of them."""

    simulated = True

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self.drawn: dict[int, int] = {}

    def draw(self, arm: int, count: int) -> FloatArray:
        first = self.drawn.get(arm, 0)
        last = first + count if self._limit is None else min(first + count, self._limit)
        self.drawn[arm] = last
        return arm + np.arange(first, last, dtype=float)

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        return np.array([self.draw(k, times).sum() for k in arms])

    def remaining(self, arm: int) -> int | None:
        return None if self._limit is None else self._limit - self.drawn.get(arm, 0)


class Run:
    """Answers each event as `answer` says; explores silently up to `acts_at` activations."""

    def __init__(self, answer: Answer, acts_at: int = 10**9) -> None:
        self.account = Account(2, {})
        self.told: list[tuple[AgentEvent, float]] = []
        self.said: list[Message] = []
        self.shortage = ""
        self._answer = answer
        self._acts_at = acts_at

    def tell(self, event: AgentEvent, now: float) -> Pull | Explore | Finish | None:
        self.told.append((event, now))
        return self._answer(event)

    def lookahead(self, rewards: FloatArray) -> int:
        return min(self._acts_at - self.account.activations - 1, rewards.shape[1])

    def exhausted(self, what: str) -> None:
        self.shortage = what

    def say(self, message: Message) -> None:
        self.said.append(message)

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event, _ in self.told]


def buffer(limit: int | None = None) -> RewardBuffer:
    """Two arms."""
    return RewardBuffer(Rising(limit), 2)


def script(*answers: Any) -> Answer:
    """One answer after the other, then none."""
    left = iter(answers)
    return lambda event: next(left, None)
