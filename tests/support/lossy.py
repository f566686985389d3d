"""A run without sockets in which everything may happen in any order, and agents are lost."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import agent_setups
from posse.hosts.agent_setup import AgentSetup
from posse.hosts.effects import AgentLeft, SendFrame
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
    links: dict[tuple[int, int], deque[bytes]] = {}
    untold: list[int] = []

    def collect(source: int, effects: Sequence[Any]) -> None:
        assert not any(isinstance(effect, AgentLeft) for effect in effects), effects
        for effect in effects:
            if not isinstance(effect, SendFrame):
                continue
            target, frame = effect.target, effect.frame
            targets = network.neighbours[source] if target == NEIGHBOURS else (target,)
            for to in targets:
                links.setdefault((source, to), deque()).append(frame)
                if heard is not None:
                    heard.append((source, to, frame))

    collect(COORDINATOR, coordinator.begin())
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
                collect(rank, agents[rank].step())
            case (source, target) if source == target:
                untold.remove(source)
                collect(COORDINATOR, coordinator.lose(source))
            case (source, target):
                frame = links[source, target].popleft()
                if target == COORDINATOR:
                    collect(COORDINATOR, coordinator.receive(source, frame))
                elif target in agents:
                    collect(target, agents[target].receive(source, frame))
        if coordinator.record is not None:
            return coordinator.record
    raise AssertionError(f"it goes on for ever; waiting for {coordinator.waiting_for()}")
