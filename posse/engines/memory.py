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
from posse.engines.sources import of_this_machine
from posse.errors import PosseError, RunFailed
from posse.hosts.agent import AgentHost
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.coordinator import CoordinatorHost
from posse.hosts.endpoint import NEIGHBOURS
from posse.plan import Plan
from posse.results.record import RunRecord
from protocol.machine import COORDINATOR


def _no_clock() -> int:
    return 0


def _let(agent: AgentHost, act: Callable[..., object], *given: Any) -> None:
    """Let an agent act; a defect ends the run by the sentence that it has in its own process."""
    try:
        act(*given)
    except PosseError:
        raise
    except Exception as error:
        raise RunFailed.told(agent.defect(error)) from error


def run(
    plan: Plan,
    number: int,
    observe: Observer = silent,
    tap: Tap | None = None,
    serial: int | None = None,
) -> RunRecord:
    """Run number `number` of the plan's series; `tap` hears every frame, which say run `serial`."""
    network = plan.network(number)
    stamp = monotonic_ns if plan.clock == "wall" else _no_clock
    cohort = Cohort(plan.spec.agents.count)
    sources = replace(of_this_machine(stamp), cohort=cohort)
    coordinator = CoordinatorHost(plan, network, number, sources, observe, serial)
    agents = []
    for rank, setup in enumerate(agent_setups(plan, network)):
        carried = msgspec.msgpack.decode(msgspec.msgpack.encode(setup), type=AgentSetup)
        agents.append(AgentHost(carried, rank, sources))
        agents[-1].outbox.clear()  # Ready: there is no joining here
    wire: deque[tuple[int, int, bytes]] = deque()

    def collect(source: int, host: AgentHost | CoordinatorHost) -> None:
        for target, frame in host.outbox:
            if target == NEIGHBOURS:
                wire.extend((source, neighbour, frame) for neighbour in network.neighbours[source])
            else:
                wire.append((source, target, frame))
        host.outbox.clear()

    gone = coordinator.dismissed
    coordinator.begin()
    collect(COORDINATOR, coordinator)
    while coordinator.record is None:
        while wire:
            source, target, frame = wire.popleft()
            if gone and (source in gone or target in gone):
                continue
            if tap is not None:
                tap(source, target, frame)
            if target == COORDINATOR:
                coordinator.receive(source, frame)
                if coordinator.left:  # a mistake of our own: there is no peer here
                    raise RunFailed.told(coordinator.left[0][1])
                collect(target, coordinator)
            else:
                _let(agents[target], agents[target].receive, source, frame)
                collect(target, agents[target])
        moved = False
        for rank, agent in enumerate(agents):
            if agent.busy and rank not in gone:
                _let(agent, agent.step)
                collect(rank, agent)
                moved = True
        stuck = not moved and not wire and coordinator.record is None
        if stuck and math.isfinite(coordinator.timer):
            # nothing is under way: whoever has not answered by now never will
            coordinator.fire()
            collect(COORDINATOR, coordinator)
        elif stuck:
            waiting = ", ".join(map(str, coordinator.waiting_for()[:10]))
            raise RunFailed(
                f"the run stands still: it waits for agent {waiting}{coordinator.trouble}"
            )
    return coordinator.record
