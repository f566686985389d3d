"""Federated elimination for tests: run specifications, and exchanges over a fake network."""

from collections import deque
from typing import Any

import numpy as np
from hypothesis import strategies as st

from posse.plan import prepare
from posse.protocol.machine import Received, Send
from posse.protocol.wire import pack_floats
from posse.topologies import graphs
from posse.topologies.graphs import Graph
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.push import Flooding
from tests.support.runfile import describe_run

MEANS = [0.9, 0.7, 0.5, 0.2, 0.1]


PARTS = [{"kind": "path", "count": 5}, {"kind": "star", "count": 3}, {"kind": "single"}]


COMPONENTS = {"kind": "components", "components": PARTS}


def spec(system: str, agents: int, topology: dict[str, Any] | None = None, **changes: Any):
    parameters = {"horizon": 20_000, "epsilon": 1.0} | changes.pop("parameters", {})
    raw: dict[str, Any] = describe_run(
        system, agents, MEANS, seed=5, parameters=parameters, engine={"deadline": 20.0}
    )
    if topology is not None:
        raw["topology"] = topology
    return prepare(raw | changes)


RUNS: dict[str, tuple[Any, ...]] = {
    "cdp": ("cdp-mab", 8, None, {}),
    "cdp partial": ("cdp-mab", 8, None, {"participation": 0.4}),
    "cdp R rounds": ("cdp-mab", 8, None, {"max_rounds": 2, "gap": 0.2}),
    "cdp both": ("cdp-mab", 8, None, {"max_rounds": 2, "gap": 0.2, "participation": 0.5}),
    "cdp per agent": ("cdp-mab", 8, None, {"noise": "per_agent"}),
    "cdp shared": ("cdp-mab", 8, None, {"noise": "shared", "honest": 0.75}),
    "cdp Laplace": ("cdp-mab", 8, None, {"noise": "shared", "noise_law": "laplace"}),
    "cdp dropouts": ("cdp-mab", 8, None, {"noise": "shared", "dropouts": 2}),
    "ddp ring": ("ddp-mab", 7, {"kind": "ring"}, {}),
    "ddp star": ("ddp-mab", 6, {"kind": "star"}, {}),
    "ddp random": ("ddp-mab", 9, {"kind": "erdos-renyi", "p": 0.3}, {"t_delay": "diameter"}),
    "ddp R rounds": ("ddp-mab", 7, {"kind": "ring"}, {"max_rounds": 2, "gap": 0.2}),
    "ddp one": ("ddp-mab", 1, {"kind": "complete"}, {}),
    "ddp flooding": (
        "ddp-mab",
        7,
        {"kind": "path"},
        {"exchange": "flooding"},
    ),
    "ddp gossip": ("ddp-mab", 7, {"kind": "regular", "degree": 4}, {"exchange": "gossip"}),
    "hdp": ("hdp-mab", 9, COMPONENTS, {}),
    "hdp R rounds": ("hdp-mab", 9, COMPONENTS, {"max_rounds": 2, "gap": 0.2}),
    "hdp singles": ("hdp-mab", 4, {"kind": "single", "count": 4}, {"t_delay": "diameter"}),
    "single": ("single-mab", 3, None, {}),
}


def named(name: str, **changes: Any):
    system, agents, topology, parameters = RUNS[name]
    parameters = parameters | changes.pop("parameters", {})
    return spec(system, agents, topology, parameters=parameters, **changes)


def deliver(machines: list[Any], graph: Graph, rounds: int = 1, order: int = 0) -> list[list[set]]:
    """Run exchanges slot by slot over an unordered network; what each knows after each slot."""
    generator = np.random.default_rng(order)
    knowledge: list[list[set]] = []
    for r in range(1, rounds + 1):
        for n, machine in enumerate(machines):
            machine.begin(r, np.array([n, 10.0 * r]))
        known: list[list[set]] = [[{n}] for n in range(graph.agents)]
        wires: dict[tuple[int, int], deque] = {
            (i, j): deque() for i in range(graph.agents) for j in graph.neighbours[i]
        }
        waiting = set() if machines[0].over else set(range(graph.agents))

        def carry(i: int, effects: Any, wires: Any = wires) -> None:
            for effect in effects:
                assert isinstance(effect, Send), effect
                wires[i, effect.to].append(effect.message)

        while waiting or any(wires.values()):
            ready: list[tuple[int | None, int]] = [(None, n) for n in sorted(waiting)]
            ready += [link for link, queue in wires.items() if queue]
            sender, n = ready[int(generator.integers(len(ready)))]
            if sender is None:
                waiting.discard(n)
                carry(n, machines[n].open())
            else:
                closed = machines[n].idle
                message = wires[sender, n].popleft()
                carry(n, machines[n].receive(Received(sender, message)))
                if closed:
                    continue
            if machines[n].idle:
                known[n].append(set(machines[n].has))
                if not machines[n].over:
                    waiting.add(n)
        knowledge = known
    return knowledge


def gis(graph: Graph) -> list[Gis]:
    told = {"diameter": graph.diameter}
    return [Gis(n, graph.agents, graph.neighbours[n], told) for n in range(graph.agents)]


def flooding(graph: Graph) -> list[Flooding]:
    told = {"diameter": graph.diameter}
    return [Flooding(n, graph.agents, graph.neighbours[n], told) for n in range(graph.agents)]


connected = st.tuples(st.integers(2, 9), st.floats(0.3, 0.9), st.integers(0, 10**6)).map(
    lambda t: graphs.erdos_renyi(t[0], t[1], np.random.default_rng(t[2]))
)


def row(*numbers: float) -> bytes:
    return pack_floats(np.array(numbers))


def say(machine: Any, sender: int, message: Any) -> Any:
    return machine.receive(Received(sender, message))
