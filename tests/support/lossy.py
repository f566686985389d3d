"""A run without sockets in which everything may happen in any order, and agents are lost."""

from collections import deque
from typing import Any

import msgspec
import numpy as np

from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import AgentLeft
from posse.hosts.endpoint import NEIGHBOURS
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.results.record import RunRecord
from posse.wire.sources import of_this_machine

MOST_STEPS = 200_000


def lossy(
    plan: Plan,
    losses: dict[int, int],
    order: np.random.Generator,
    heard: list[tuple[int | None, int | None, bytes]] | None = None,
) -> RunRecord:
    """One run: links deliver in order, and which link or agent is next is drawn anew each time.

    `losses[rank]`: after how many steps of all an agent ends. What it sent before arrives, or not:
    each of its links is cut somewhere. The coordinator hears of its end sooner or later. `heard`
    gets all frames.
    """
    network = plan.network(0)
    sources = of_this_machine(lambda: 0)
    coordinator = CoordinatorHost(plan, network, 0, sources)
    agents: dict[int, AgentHost] = {}
    for rank, setup in enumerate(agent_setups(plan, network)):
        carried = msgspec.msgpack.decode(msgspec.msgpack.encode(setup), type=AgentSetup)
        agents[rank] = AgentHost(carried, rank, sources)
        agents[rank].outbox.clear()
    links: dict[tuple[int, int], deque[bytes]] = {}
    untold: list[int] = []

    def collect(source: int, host: Any) -> None:
        for target, frame in host.outbox:
            targets = network.neighbours[source] if target == NEIGHBOURS else (target,)
            for to in targets:
                links.setdefault((source, to), deque()).append(frame)
                if heard is not None:
                    heard.append((source, to, frame))
        host.outbox.clear()

    coordinator.begin()
    collect(COORDINATOR, coordinator)
    for step in range(MOST_STEPS):
        for rank in [rank for rank, when in losses.items() if when <= step and rank in agents]:
            del agents[rank]
            untold.append(rank)
            for (source, _), queue in links.items():
                if source == rank and queue:
                    for _ in range(int(order.integers(len(queue) + 1))):
                        queue.pop()
        choices: list[tuple[int, ...]] = [link for link, queue in links.items() if queue]
        choices += [(rank,) for rank, agent in agents.items() if agent.busy]
        choices += [(rank, rank) for rank in untold]
        if not choices:
            raise AssertionError(f"it stands still; waiting for {coordinator.waiting_for()}")
        match choices[int(order.integers(len(choices)))]:
            case (rank,):
                agents[rank].step()
                collect(rank, agents[rank])
            case (source, target) if source == target:
                untold.remove(source)
                coordinator.lose(source)
                collect(COORDINATOR, coordinator)
            case (source, target):
                frame = links[source, target].popleft()
                if target == COORDINATOR:
                    effects = coordinator.receive(source, frame)
                    assert not any(isinstance(effect, AgentLeft) for effect in effects), effects
                    collect(COORDINATOR, coordinator)
                elif target in agents:
                    agents[target].receive(source, frame)
                    collect(target, agents[target])
        if coordinator.record is not None:
            return coordinator.record
    raise AssertionError(f"it goes on for ever; waiting for {coordinator.waiting_for()}")
