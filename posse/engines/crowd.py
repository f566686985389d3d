"""All agents of one run, moved together by a `RunStep`, and the coordinator's host that hears them.

Its server's machine is the real one. What agents send each other and it is counted, not sent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posse.arms import Arms
from posse.arms.buffer import RewardBuffer
from posse.clocks.immediate import SAY_EVERY
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import Observer
from posse.engines.tally import Tally, links_of
from posse.measure.account import entered
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.log import Row
from posse.protocol.machine import COORDINATOR, ServerEffects
from posse.protocol.message import Message
from posse.protocol.privacy import Release
from posse.protocol.wire import measure_payloads
from posse.results.record import RunRecord
from posse.seeds import Purpose, generators
from posse.system.network import Network
from posse.system.steps import Crowd, Sent
from posse.wire.sources import of_this_machine

_AT_ONCE = 1 << 16
"""Rewards that are drawn at once."""


def host_of(plan: Plan, network: Network, number: int, observe: Observer) -> CoordinatorHost:
    """The coordinator's host of a run without frames, which has begun."""
    sources = replace(of_this_machine(lambda: 0), common={}, carried=False)
    host = CoordinatorHost(plan, network, number, sources, observe)
    host.begin()
    return host


class CountedCrowd(Crowd):
    """A crowd whose traffic is counted, and not sent."""

    def __init__(
        self,
        plan: Plan,
        network: Network,
        number: int,
        observe: Observer,
        arms: list[Arms],
        costs: dict[str, FloatArray],
    ) -> None:
        self.run, self.network, self.agents = number, network, len(arms)
        self._plan, self._arms = plan, arms
        self._host = host_of(plan, network, number, observe)
        self._tally = Tally(costs)
        self._buffers: list[RewardBuffer] = []
        self._releases: list[Release] = []
        self._notes: list[tuple[str, list[list[float]]]] = []
        self._said: dict[type[Message], IntArray] = {}
        self._told: dict[type[Message], IntArray] = {}
        self._sent: list[list[Sent]] = []

    @property
    def slot(self) -> int:
        """The slots so far, the same for all."""
        return self._tally.now

    @property
    def server(self) -> Any:
        """The server's machine, which has begun."""
        return self._host.machine

    def generators(self, purpose: Purpose) -> list[np.random.Generator]:
        return generators(self._plan.spec.seed, self.run, self.agents, purpose)

    def pull(self, arms: tuple[int, ...] | IntArray, times: int) -> FloatArray:
        if isinstance(arms, tuple):
            orders = [arms] * self.agents
            queues = self._tally.first[:, None] + np.array(arms)
        else:
            orders = [(k,) for k in arms.tolist()]
            queues = (self._tally.first + arms)[:, None]
        single = times * queues.shape[1] == 1
        if single and not self._buffers:  # which draw single rewards ahead
            count = self._plan.spec.arms.arm_count()
            self._buffers = [RewardBuffer(own, count) for own in self._arms]
        if self._buffers:
            drawn = [b.sums(k, times) for b, k in zip(self._buffers, orders, strict=True)]
        else:
            drawn = [a.totals(k, times) for a, k in zip(self._arms, orders, strict=True)]
        sums = np.array(drawn)
        self._pulled(queues, sums, times)
        return sums

    def draw(
        self, arms: IntArray, times: int, take: Callable[[slice, FloatArray], None]
    ) -> FloatArray:
        sums, drawn = np.zeros(self.agents), [*zip(self._arms, arms.tolist(), strict=True)]
        block = max(1, _AT_ONCE // times)
        for first in range(0, self.agents, block):
            rewards = np.array([own.draw(arm, times) for own, arm in drawn[first : first + block]])
            sums[first : first + block] = rewards.sum(axis=1)
            take(slice(first, first + block), rewards)
        self._pulled(self._tally.first + arms, sums, times)
        return sums

    def _pulled(self, queues: IntArray, sums: FloatArray, times: int) -> None:
        before = self.slot // SAY_EVERY
        self._tally.pulled(queues, sums, times)
        if self.slot // SAY_EVERY != before:
            self._host.reached(float(self.slot))

    def disclose(self, release: Release) -> None:
        self._releases.append(release)

    def note(self, *rows: Row) -> None:
        lines = [self._plan.system.results.line(row, float(self.slot)) for row in rows]
        self._notes.append((rows[0].table, lines))

    def say(self, message: Message, ranks: Sequence[int] | slice = slice(None)) -> None:
        self._count(self._said, message, ranks)

    def told(self, message: Message, ranks: Sequence[int] | slice = slice(None)) -> None:
        self._count(self._told, message, ranks)

    def _count(
        self,
        counts: dict[type[Message], IntArray],
        message: Message,
        ranks: Sequence[int] | slice,
    ) -> None:
        """Count a message of each of these agents, or to each."""
        if type(message) not in counts:
            counts[type(message)] = np.zeros((self.agents, 2), dtype=np.int64)
        counts[type(message)][ranks] += 1, measure_payloads([message])

    def attest(self, step: int, value: bytes) -> None:
        self.say(control.Attested(step, value))

    def sent(self, by_rank: Sequence[Iterable[Sent]]) -> None:
        self._sent = [[*rows] for rows in by_rank]

    def decided(self, effects: ServerEffects) -> None:
        self._host.decided(effects, float(self.slot))

    def finish(self, answers: Sequence[int | None]) -> RunRecord:
        """The record, once each agent has given its answer."""
        self._host.reached(float(self.slot))
        for rank, arm in enumerate(answers):
            self._host.finished(rank, arm)
        told = (
            Sent(kind, (rank,), *row)
            for kind, rows in self._told.items()
            for rank, row in enumerate(rows.tolist())
            if row[0]
        )
        self._host.said(links_of(COORDINATOR, told))
        return self._host.conclude(self._reports(answers))

    def _reports(self, answers: Sequence[int | None]) -> Iterator[control.Report]:
        said = [
            [Sent(kind, (COORDINATOR,), *row) for row in rows.tolist()]
            for kind, rows in self._said.items()
        ]
        alike = all(len(lines) == 1 for _, lines in self._notes)
        log, releases = self._log(0), entered(self._releases)
        for rank, answer in enumerate(answers):
            sent = [of_kind[rank] for of_kind in said if of_kind[rank].messages]
            sent += self._sent[rank] if self._sent else ()
            own = log if alike else self._log(rank)
            yield self._tally.report(rank, rank, answer, sent, releases, own)

    def _log(self, rank: int) -> dict[str, list[list[float]]]:
        log: dict[str, list[list[float]]] = {}
        for table, lines in self._notes:
            log.setdefault(table, []).append(lines[rank if len(lines) > 1 else 0])
        return log
