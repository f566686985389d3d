"""All runs of a series whose agents share their arms, moved by a `GroupStep`, without frames.

Rewards come from the coordinators' own arms, whose accounts are filled in at the end.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posse.arms.bernoulli import BernoulliArms
from posse.arms.buffer import READ_AHEAD
from posse.coordinator.setups import Observer
from posse.engines.crowd import host_of
from posse.engines.tally import Regrets, links_of, report_of
from posse.measure.account import Account
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.log import Row
from posse.protocol.machine import COORDINATOR, ServerEffects
from posse.protocol.privacy import Release
from posse.results.record import RunRecord
from posse.system.network import Network
from posse.system.steps import Groups, Queues, Sent


class CountedGroups(Groups):
    """Groups whose traffic is counted, and not sent."""

    def __init__(
        self, plan: Plan, networks: Sequence[Network], numbers: Sequence[int], observe: Observer
    ) -> None:
        self._plan, self._agents = plan, plan.spec.agents.count
        self._hosts = [
            host_of(plan, network, number, observe)
            for network, number in zip(networks, numbers, strict=True)
        ]
        shared = self._shared = [host.shared_arms for host in self._hosts]
        runs, rows, arms = len(shared), len(shared) * self._agents, plan.spec.arms.arm_count()
        self._binary = isinstance(plan.spec.arms, BernoulliArms)
        self._rewards = Queues(
            runs * arms,
            lambda queue, n: shared[queue // arms].ahead(queue % arms, n),
            READ_AHEAD,
            "u1" if self._binary else "f8",
        )
        self.now = 0
        self._pulls, self._first = np.zeros((rows, arms), dtype=np.int64), np.arange(rows) * arms
        self._drawn, self._sums = np.zeros((runs, arms), dtype=np.int64), np.zeros((runs, arms))
        self._regret, self._earned = Regrets(runs), np.zeros(runs)
        self._optimum = np.array([each.optimum for each in shared])
        self._accounts = [Account(arms, {}) for _ in range(rows)]
        self._sent: list[list[Sent]] = [[] for _ in range(rows)]

    @property
    def pulls(self) -> IntArray:
        return self._pulls

    def server(self, place: int) -> Any:
        return self._hosts[place].machine

    def pull(self, queues: IntArray) -> FloatArray:
        rewards = self._rewards.take(queues)
        self._drawn.ravel()[queues] += 1
        self._sums.ravel()[queues] += rewards
        return rewards

    def played(self, arms: IntArray, payoffs: FloatArray, paid: BoolArray) -> None:
        self.now += 1
        self._pulls.ravel()[self._first + arms] += 1
        earned = self._earnings(payoffs, paid)
        self._earned += earned
        self._regret.add(self._optimum - earned, self.now, self.now)

    def _earnings(self, payoffs: FloatArray, paid: BoolArray) -> FloatArray:
        """What each group earned in a slot, as `GroupArms` has it."""
        low, high = self._shared[0].scale
        if (low, high) != (0.0, 1.0):
            payoffs = np.where(paid, low + (high - low) * payoffs, 0.0)
        of_runs = payoffs.reshape(-1, self._agents)
        if self._binary:
            earned: FloatArray = of_runs.sum(axis=1)  # exact
            return earned
        return np.array([sum(each) for each in of_runs.tolist()])

    def note(self, row: int, noted: Row) -> None:
        line = self._plan.system.results.line(noted, float(self.now))
        self._accounts[row].log.setdefault(noted.table, []).append(line)

    def disclose(self, row: int, release: Release) -> None:
        self._accounts[row].disclosed(release)

    def sent(self, row: int, sent: Sent) -> None:
        self._sent[row].append(sent)

    def told(self, place: int, sent: Sent) -> None:
        self._hosts[place].said(links_of(COORDINATOR, [sent]))

    def decided(self, place: int, effects: ServerEffects) -> None:
        self._shared[place].slots = self.now
        self._hosts[place].decided(effects, float(self.now))

    def records(self) -> Iterator[RunRecord]:
        """The record of each run, once its server has ended it."""
        curves = self._regret.curves()
        for place, host in enumerate(self._hosts):
            own = slice(place * self._agents, (place + 1) * self._agents)
            self._shared[place].moved(
                self._pulls[own],
                self._drawn[place],
                self._sums[place],
                float(self._earned[place]),
                curves[place],
            )
            host.reached(float(self.now))  # who observes the run hears how far it is
            yield host.conclude(map(self._report, range(own.start, own.stop)))

    def _report(self, row: int) -> control.Report:
        measured = self._accounts[row].measured()
        return report_of(row % self._agents, self._sent[row], **measured)
