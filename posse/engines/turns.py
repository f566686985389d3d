"""All agents of one run by the clock `virtual`, moved by a `TurnStep`, without frames.

Each has its real account, rewards and activity. The server's machine is the real one.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posse.arms import Arms
from posse.arms.buffer import RewardBuffer
from posse.clocks.virtual import Activity
from posse.coordinator.setups import Observer
from posse.engines.crowd import host_of
from posse.engines.tally import links_of, report_of
from posse.measure.account import Account
from posse.measure.regret import ArmCosts, Regret
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message
from posse.protocol.privacy import Release
from posse.protocol.wire import measure_payloads
from posse.results.record import RunRecord
from posse.seeds import Purpose, generator, generators
from posse.system.network import Network
from posse.system.steps import Sent, Turns

_DUE, _ADVANCE = (measure_payloads([each]) for each in (control.Due(0.0), control.Advance()))


@dataclass(slots=True)
class _Order:
    """`count` activations that pull these arms, the last of them at `due`."""

    arms: tuple[int, ...]
    start: float
    due: float
    count: int


class CountedTurns(Turns):
    """Turns whose traffic is counted, and not sent."""

    def __init__(
        self,
        plan: Plan,
        network: Network,
        number: int,
        observe: Observer,
        arms: list[Arms],
        costs: dict[str, FloatArray],
    ) -> None:
        spec, self.agents, self.now = plan.spec, len(arms), 0.0
        self._key, count = (spec.seed, number), spec.arms.arm_count()
        self._host = host_of(plan, network, number, observe)
        alike = {name: (each == each[0]).all() for name, each in costs.items()}
        shared = {name: ArmCosts(-each[0]) for name, each in costs.items()}
        self._accounts = [
            Account(
                count,
                {
                    name: Regret(shared[name] if alike[name] else ArmCosts(-each[rank]))
                    for name, each in costs.items()
                },
            )
            for rank in range(self.agents)
        ]
        self._rewards = [RewardBuffer(own, count) for own in arms]
        streams = generators(*self._key, self.agents, Purpose.ACTIVITY)
        rates = spec.agents.activity.rates(self.agents).tolist()
        self._activities = [Activity(*each) for each in zip(rates, streams, strict=True)]
        self._orders: list[_Order | None] = [None] * self.agents
        self._queue: list[tuple[float, int]] = []
        self._turns, self._heard = [0] * self.agents, 0
        self._sent: list[list[Sent]] = [[] for _ in range(self.agents)]

    @property
    def server(self) -> Any:
        """The server's machine, which has begun."""
        return self._host.machine

    @property
    def over(self) -> bool:
        """Whether the server has ended the run."""
        return self._host.attendance.verdict is not None

    def generator(self, rank: int, purpose: Purpose) -> np.random.Generator:
        return generator(*self._key, rank, purpose)

    def order(self, rank: int, arms: tuple[int, ...], count: int) -> None:
        due = self._activities[rank].due(self.now, count)
        self._orders[rank] = _Order(arms, self.now, due, count)
        heapq.heappush(self._queue, (due, rank))

    def next(self) -> tuple[int, tuple[int, ...], int] | None:
        while self._queue and not self.over:
            due, rank = heapq.heappop(self._queue)
            order = self._orders[rank]
            if order is not None and order.due == due:
                self._orders[rank], self.now = None, due
                self._host.moved(due)
                self._turns[rank] += 1
                self._accounts[rank].pulled(order.arms, order.count, due)
                return rank, order.arms, order.count
        return None

    def interrupt(self, rank: int) -> tuple[tuple[int, ...], int]:
        order = self._orders[rank]
        if order is None:
            return (), 0
        done = self._activities[rank].elapsed(order.start, order.due, order.count, self.now)
        if done:
            self._accounts[rank].pulled(order.arms, done, self.now)
        order.start, order.count = self.now, order.count - done
        return order.arms, done

    def peek(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        return self._rewards[rank].peek(arms, times)

    def take(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        rewards = self._rewards[rank].take(arms, times)
        self._accounts[rank].given(arms, times, rewards.sum(axis=1))
        return rewards

    def sums(self, rank: int, arms: tuple[int, ...], times: int) -> FloatArray:
        sums = self._rewards[rank].sums(arms, times)
        self._accounts[rank].given(arms, times, sums)
        return sums

    def disclose(self, rank: int, release: Release) -> None:
        self._accounts[rank].disclosed(release)

    def send(self, rank: int, message: Message) -> None:
        self._sent[rank].append(Sent(type(message), (COORDINATOR,), 1, measure_payloads([message])))
        self._host.heard(rank, message)

    def told(self) -> None:
        self._heard += 1

    def finish(self, rank: int, arm: int | None) -> None:
        self._orders[rank] = None
        self._sent[rank].append(
            Sent(control.Finished, (COORDINATOR,), 1, measure_payloads([control.Finished(arm)]))
        )
        self._host.finished(rank, arm)

    def record(self) -> RunRecord:
        """The record, once the server has ended the run."""
        advanced = (
            Sent(control.Advance, (rank,), turns, turns * _ADVANCE)
            for rank, turns in enumerate(self._turns)
            if turns
        )
        self._host.said(links_of(COORDINATOR, advanced))
        return self._host.conclude(self._reports())

    def _reports(self) -> Iterator[control.Report]:
        for rank, account in enumerate(self._accounts):
            arms, done = self.interrupt(rank)
            if done:
                self.sums(rank, arms, done)
            by_kind: defaultdict[type[Message], list[int]] = defaultdict(lambda: [0, 0])
            for sent in self._sent[rank]:
                of_kind = by_kind[sent.kind]
                of_kind[0] += 1
                of_kind[1] += sent.payload_bytes
            times = 1 + self._turns[rank] + self._heard
            due = Sent(control.Due, (COORDINATOR,), times, times * _DUE)
            said = (Sent(kind, (COORDINATOR,), *counts) for kind, counts in by_kind.items())
            yield report_of(rank, [due, *said], **account.measured())
