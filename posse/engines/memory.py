"""Engine `memory`: every machine in this process, every message still through the codec.

Those of the plane `world`, not the paper's, are delivered first and encoded later, by thousands.
"""

import gc
import math
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic_ns
from typing import Any

import msgspec

from posse import (
    own_code,
)
from posse import system as systems
from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import Observer, agent_setups, silent
from posse.durable.capture import Tap
from posse.engines import arrays
from posse.errors import PosseError, RunFailed
from posse.gates.decode import Packed
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import (
    AgentHostEffect,
    AgentLeft,
    HandMessage,
    HostEffect,
    SendFrame,
)
from posse.hosts.endpoint import NEIGHBOURS
from posse.hosts.sources import Sources
from posse.live.service import hush
from posse.measure.numbers import named
from posse.plan import Plan
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, Received
from posse.protocol.wire import read_header
from posse.results.record import RunRecord
from posse.system.network import Network
from posse.wire.sources import of_this_machine

_SETUP: Packed[AgentSetup] = Packed(AgentSetup)

Meddle = Callable[[CoordinatorHost, int, int, bytes], tuple[bytes, Sequence[HostEffect]]]
"""What arrives of a frame, by its source and target, and effects of a loss that it caused."""

Effects = Sequence[HostEffect] | Sequence[AgentHostEffect]

Wire = deque[tuple[int, int, Any, float]]
"""What is under way: source, target, frame or message, and of a message the time sent."""


def run(
    plan: Plan,
    number: int,
    observe: Observer = silent,
    tap: Tap | None = None,
    serial: int | None = None,
    sources: Sources | None = None,
    meddle: Meddle | None = None,
) -> RunRecord:
    """Run number `number` of the plan's series; returns its record.

    `tap` hears every frame; `serial` is the run's number there. `sources` are time, chance and
    rewards, by default this machine's. `meddle` makes of each frame what arrives.
    Without all three, the system's steps over arrays make the same record, if it offers them.
    """
    alone = tap is None and sources is None and meddle is None
    if alone and (made := _by_arrays(plan, (number,), observe)):
        return made[0]
    return _by_machines(plan, number, observe, tap, serial, sources, meddle)


def series(
    plan: Plan, numbers: Sequence[int], observe: Observer = silent, tap: Tap | None = None
) -> Iterator[RunRecord]:
    """The records of these runs, in order; those that can be made together are."""
    for part in arrays.together(plan, numbers) if tap is None else [numbers]:
        made = _by_arrays(plan, part, observe) if tap is None else None
        for number in part if made is None else ():
            yield _by_machines(plan, number, observe, tap)
        yield from made or ()


def _by_arrays(plan: Plan, numbers: Sequence[int], observe: Observer) -> list[RunRecord] | None:
    with _collecting_seldom(len(numbers) * plan.spec.agents.count):
        return arrays.run(plan, numbers, observe)


def _by_machines(
    plan: Plan,
    number: int,
    observe: Observer,
    tap: Tap | None,
    serial: int | None = None,
    sources: Sources | None = None,
    meddle: Meddle | None = None,
) -> RunRecord:
    network = plan.network(number)
    stamp = monotonic_ns if plan.clock == "wall" else lambda: 0
    # a tap, the field and the wall clock need each frame at the moment it is sent
    together = not (tap or plan.field or plan.clock == "wall")
    sources = replace(sources or of_this_machine(stamp), common={}, together=together)
    agents: list[AgentHost] = []
    systems.know(plan.system, plan.spec.system)
    with own_code.aside(), _collecting_seldom(plan.spec.agents.count):
        coordinator = CoordinatorHost(plan, network, number, sources, observe, serial)
        encoded, carried = b"", None
        for rank, setup in enumerate(agent_setups(plan, network)):
            before, encoded = encoded, msgspec.msgpack.encode(setup)
            if carried is None or encoded != before:  # one object for agents that are told the same
                carried = _SETUP.read(encoded)
            agents.append(AgentHost(carried, rank, sources))  # only joining needs its `Ready`
        _Run(plan, network, coordinator, agents, tap, meddle).carry_on()
    assert coordinator.record is not None
    return coordinator.record


_LIVE_LOOK = 0.2
"""Seconds within which an agent with live arms is asked again."""

_YOUNG, _OF_AN_AGENT = 50_000, 200
"""Objects made between two searches for garbage in cycles, at least and for each agent. A run makes
fewer, of which none is garbage: by Python's own number the searches took a third of its time."""


@contextmanager
def _collecting_seldom(agents: int) -> Iterator[None]:
    young, *older = before = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG, _OF_AN_AGENT * agents) if young else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Run:
    """Carries the frames of one run in the order in which they were sent.

    A frame for all neighbours is decoded once, and reaches each in one batch with what others sent
    then. An agent that awaits several messages gets them when all are here.
    """

    def __init__(
        self,
        plan: Plan,
        network: Network,
        coordinator: CoordinatorHost,
        agents: list[AgentHost],
        tap: Tap | None,
        meddle: Meddle | None,
    ) -> None:
        self._meddle = meddle
        self._neighbours = network.neighbours
        self._codec = plan.system.agents_codec
        self._coordinator, self._agents, self._tap = coordinator, agents, tap
        self._gone = coordinator.dismissed
        self._wire: Wire = deque()
        self._broadcasts: dict[int, Received] = {}
        self._heard: list[list[Received]] = [[] for _ in agents]
        self._now = 0.0

    def carry_on(self) -> None:
        """Run to the end; `RunFailed` if the run stands still."""
        coordinator = self._coordinator
        self._collect(COORDINATOR, coordinator.begin())
        while not coordinator.complete:
            self._deliver()
            moved = False
            for rank, agent in enumerate(self._agents):
                if agent.busy and rank not in self._gone:
                    self._let(rank, agent.step)
                    moved = True
            alarms = [] if moved or self._wire else [a.alarm for a in self._agents if a.alarm]
            if alarms:  # of live arms: applications are threads of this process
                select.select(alarms, [], [], _LIVE_LOOK)
                for alarm in alarms:
                    hush(alarm)
            stuck = not (moved or alarms or self._wire or coordinator.complete)
            if stuck and math.isfinite(coordinator.timer):
                # nothing is under way, so no answer can come any more
                self._collect(COORDINATOR, coordinator.fire())
            elif stuck:
                waits = f"it waits for {named(coordinator.waiting_for())}"
                why = coordinator.deadlock or waits
                raise RunFailed(f"the run stands still: {why}{coordinator.trouble}")

    def _deliver(self) -> None:
        """Deliver the frames under way, and those that follow from them."""
        wire, tap, gone = self._wire, self._tap, self._gone
        while wire or self._broadcasts:
            if self._broadcasts and not self._waits(wire):
                self._hand_over()
                continue
            source, target, frame, now = self._next()
            if gone and (source in gone or target in gone):
                continue
            if not isinstance(frame, bytes):
                if target == COORDINATOR:
                    self._tell(Received(source, frame), now)
                else:
                    self._let(target, self._agents[target].hear, (Received(source, frame),), now)
                continue
            if target == NEIGHBOURS:
                self._spread(source, frame)
                continue
            if tap is not None:
                tap(source, target, frame)
            if target == COORDINATOR:
                self._hand_in(source, frame)
            else:
                self._let(target, self._agents[target].receive, source, frame)

    def _hand_in(self, source: int, frame: bytes) -> None:
        """Give the coordinator a frame."""
        self._collect(COORDINATOR, self._coordinator.receive(source, frame))

    def _next(self) -> tuple[int, int, Any, float]:
        """The next under way, as it arrives."""
        source, target, frame, now = self._wire.popleft()
        if self._meddle is None or not isinstance(frame, bytes):
            return source, target, frame, now
        frame, effects = self._meddle(self._coordinator, source, target, frame)
        self._collect(COORDINATOR, effects)
        return source, target, frame, now

    def _tell(self, received: Received, now: float) -> None:
        """Give the coordinator this message, and those right behind it without a frame."""
        wire, heard = self._wire, [received]
        while wire:
            source, target, message, now = wire[0]
            if target != COORDINATOR or isinstance(message, bytes):
                break
            wire.popleft()
            if source not in self._gone:
                heard.append(Received(source, message))
        self._collect(COORDINATOR, self._coordinator.hear(heard, now))

    def _spread(self, source: int, frame: bytes) -> None:
        """Keep a frame for all neighbours; deliver it at once if it has a stamp or is malformed."""
        neighbours = [rank for rank in self._neighbours[source] if rank not in self._gone]
        if self._tap is not None:
            for rank in neighbours:
                self._tap(source, rank, frame)
        try:
            header = read_header(frame)
            if not header.sent:
                self._broadcasts[source] = Received(source, self._codec.decode(header.plane, frame))
                self._now = header.now
                return
        except RemoteProtocolError:
            pass  # each receiver refuses it
        self._hand_over()
        for rank in neighbours:
            self._let(rank, self._agents[rank].receive, source, frame)

    def _waits(self, wire: Wire) -> bool:
        """Whether kept frames may wait: the next frame is not for a single agent."""
        if not wire:
            return False
        source, target, _, _ = wire[0]
        return target == COORDINATOR or (target == NEIGHBOURS and source not in self._broadcasts)

    def _hand_over(self) -> None:
        """Hand over what was sent to neighbours since the last call."""
        broadcasts, self._broadcasts = self._broadcasts, {}
        for rank, neighbours in enumerate(self._neighbours):
            heard = [broadcasts[source] for source in neighbours if source in broadcasts]
            if heard and rank not in self._gone:
                self._heard[rank] += heard
                self._let(rank, None)

    def _let(
        self, rank: int, act: Callable[..., Sequence[AgentHostEffect]] | None, *given: Any
    ) -> None:
        """Let an agent act, then hear the messages kept for it once all that it awaits are here.

        A defect becomes `RunFailed`, with the same message as in engine `processes`.
        """
        agent = self._agents[rank]
        try:
            if act is not None:
                self._collect(rank, act(*given))
            while kept := self._heard[rank]:
                awaited = agent.awaited or len(kept)
                if len(kept) < awaited:
                    break
                self._heard[rank] = kept[awaited:]
                self._collect(rank, agent.hear(kept[:awaited], self._now))
        except PosseError:
            raise
        except (Exception, SystemExit) as error:
            raise RunFailed.from_reason(agent.defect(error)) from error

    def _collect(self, source: int, effects: Effects) -> None:
        """Queue what a host sends."""
        wire = self._wire
        for effect in effects:
            if type(effect) is SendFrame:
                wire.append((source, effect.target, effect.frame, 0.0))
            elif type(effect) is HandMessage:
                wire.append((source, effect.target, effect.message, effect.now))
            elif type(effect) is AgentLeft:  # our own mistake: no peer takes part here
                raise RunFailed.from_reason(effect.why)
