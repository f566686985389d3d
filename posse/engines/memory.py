"""Engine `memory`: every machine in this process, every message still through the codec."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import monotonic_ns
from typing import Any

import msgspec

from agent.cohort import Cohort
from posse.engines.base import Observer, Tap, agent_setups, silent
from posse.engines.board import Board, Showing
from posse.engines.sources import of_this_machine
from posse.errors import PosseError, RunFailed
from posse.hosts.agent import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.coordinator import CoordinatorHost
from posse.hosts.endpoint import NEIGHBOURS
from posse.hosts.sources import Sources
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.systems.network import Network
from protocol.errors import RemoteProtocolError
from protocol.machine import COORDINATOR, Received
from protocol.wire import read_header


def _no_clock() -> int:
    return 0


def run(
    plan: Plan,
    number: int,
    observe: Observer = silent,
    tap: Tap | None = None,
    serial: int | None = None,
    sources: Sources | None = None,
    board: Board | None = None,
) -> RunRecord:
    """Run number `number` of the plan's series; `tap` hears every frame, which say run `serial`.

    `sources`: time, chance and rewards, this machine's by default. Agents show on a `board` how
    they stand.
    """
    network = plan.network(number)
    stamp = monotonic_ns if plan.clock == "wall" else _no_clock
    cohort = Cohort(plan.spec.agents.count)
    sources = replace(sources or of_this_machine(stamp), cohort=cohort)
    agents: list[AgentHost] = []
    if board is not None:
        observe = Showing(board, crowd=1.0).before(observe, agents)
    coordinator = CoordinatorHost(
        plan, network, number, sources, observe, serial, counts=board is not None
    )
    for rank, setup in enumerate(agent_setups(plan, network)):
        carried = msgspec.msgpack.decode(msgspec.msgpack.encode(setup), type=AgentSetup)
        agents.append(AgentHost(carried, rank, sources))
        agents[-1].outbox.clear()  # Ready: there is no joining here
    _Run(plan, network, coordinator, agents, tap).carry_on()
    assert coordinator.record is not None
    return coordinator.record


class _Run:
    """Carries the frames of one run, each in the order in which it was sent.

    What an agent says to all its neighbours is opened once for all of them. Who awaits several such
    messages before it acts is handed them together.
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        coordinator: CoordinatorHost,
        agents: list[AgentHost],
        tap: Tap | None,
    ) -> None:
        self._neighbours = network.neighbours
        self._codec = plan.system.agents_codec
        self._coordinator, self._agents, self._tap = coordinator, agents, tap
        self._gone = coordinator.dismissed
        self._wire: deque[tuple[int, int, bytes]] = deque()
        self._broadcasts = plan.system.broadcasts
        self._heard: list[list[tuple[Received, float]]] = [[] for _ in agents]
        self._awaited = [1] * len(agents)

    def carry_on(self) -> None:
        """To the end."""
        coordinator = self._coordinator
        coordinator.begin()
        self._collect(COORDINATOR, coordinator)
        while coordinator.record is None:
            self._deliver()
            moved = False
            for rank, agent in enumerate(self._agents):
                if agent.busy and rank not in self._gone:
                    self._let(rank, agent.step)
                    moved = True
            stuck = not moved and not self._wire and coordinator.record is None
            if stuck and math.isfinite(coordinator.timer):
                # nothing is under way: whoever has not answered by now never will
                coordinator.fire()
                self._collect(COORDINATOR, coordinator)
            elif stuck:
                waiting = ", ".join(map(str, coordinator.waiting_for()[:10]))
                raise RunFailed(
                    f"the run stands still: it waits for agent {waiting}{coordinator.trouble}"
                )

    def _deliver(self) -> None:
        """What is under way, and what follows from it."""
        wire, tap, coordinator, gone = self._wire, self._tap, self._coordinator, self._gone
        while wire:
            source, target, frame = wire.popleft()
            if gone and (source in gone or target in gone):
                continue
            if target == NEIGHBOURS:
                self._spread(source, frame)
                continue
            if tap is not None:
                tap(source, target, frame)
            if target == COORDINATOR:
                coordinator.receive(source, frame)
                if coordinator.left:  # a mistake of our own: there is no peer here
                    raise RunFailed.told(coordinator.left[0][1])
                if coordinator.outbox:
                    self._collect(target, coordinator)
            else:
                self._let(target, self._agents[target].receive, source, frame)

    def _spread(self, source: int, frame: bytes) -> None:
        """A frame for all neighbours."""
        neighbours = self._neighbours[source]
        if self._gone:
            neighbours = tuple(rank for rank in neighbours if rank not in self._gone)
        if self._tap is not None:
            for rank in neighbours:
                self._tap(source, rank, frame)
        heard = self._opened(source, frame)
        if heard is None:
            for rank in neighbours:
                self._let(rank, self._agents[rank].receive, source, frame)
            return
        kept, awaited = self._heard, self._awaited
        for rank in neighbours:
            together = kept[rank]
            together.append(heard)
            if len(together) >= awaited[rank]:
                self._hear(rank)

    def _hear(self, rank: int) -> None:
        """Hand an agent all that is kept for it."""
        together, self._heard[rank] = self._heard[rank], []
        self._let(rank, self._agents[rank].hear, together)

    def _opened(self, source: int, frame: bytes) -> tuple[Received, float] | None:
        """None where each receiver must look at the frame: it is bad, or its way is timed."""
        try:
            header = read_header(frame)
            message = self._codec.decode(header, frame)
        except RemoteProtocolError:
            return None
        return None if header.sent else (Received(source, message), header.now)

    def _let(self, rank: int, act: Callable[..., object], *given: Any) -> None:
        """Let an agent act; a defect ends the run by the sentence that it has in its process."""
        agent = self._agents[rank]
        try:
            act(*given)
        except PosseError:
            raise
        except Exception as error:
            raise RunFailed.told(agent.defect(error)) from error
        if agent.outbox:
            self._collect(rank, agent)
        if self._broadcasts:
            awaited = self._awaited[rank] = agent.awaited
            if self._heard[rank] and len(self._heard[rank]) >= awaited:
                self._hear(rank)  # of some others it need not hear

    def _collect(self, source: int, host: AgentHost | CoordinatorHost) -> None:
        """What a host has to send."""
        wire = self._wire
        for target, frame in host.outbox:
            wire.append((source, target, frame))
        host.outbox.clear()
