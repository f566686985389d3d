"""Posse in lockstep against the same traffic over bare blocking sockets, which check nothing.

`star`      each of N processes sends a request of a fixed size, waits for the reply, sends the next
`mesh`      in each slot, every process sends a frame of equal size to each neighbour and takes one
            from each before the next slot; the bare sockets check only the slot's number
`learning`  the same traffic by `cooperative-ucb`, γ = 1

Posse's frames go through hosts, codec, meters and machines.
"""

from functools import partial
from typing import Any

from bench import bare
from bench.tables import run_file
from posse.plan import prepare

MESSAGES, REQUEST, STAR_ROUNDS = 32_000, 96, 9
"""Requests of all agents together in a round, and the bytes of data in each."""

STAR_BARS = {8: 0.75, 64: 0.7}
"""The bar by number of agents."""

GRAPHS: tuple[tuple[str, int, dict[str, Any], int], ...] = (
    ("ring", 50, {"kind": "ring"}, 150),
    ("4-regular", 50, {"kind": "regular", "degree": 4}, 80),
    ("complete", 16, {"kind": "complete"}, 80),
)
"""Name, agents, `[topology]`, slots."""

MEANS, MESH_ROUNDS, MESH_BAR = 800, 15, 0.75
"""Bytes of data in a frame of the mesh: the means of a hundred arms."""

LEARNING = ((200, 0.1, 60, 3, 0.75), (64, 0.15, 200, 5, 0.65))
"""Agents, p of the Erdős–Rényi graph, slots, rounds, and the bar."""


def _bare_star(agents: int, each: int, size: int) -> bare.Figure:
    return bare.star(agents, each, bytes(size))


def star() -> None:
    for agents, bar in STAR_BARS.items():
        each = MESSAGES // agents
        parameters = {"messages": each, "size": REQUEST}
        plan = prepare(run_file("bench.systems:ECHO", agents, parameters=parameters))
        bare_star = partial(_bare_star, agents, each)
        bare.compare(f"star, {agents} agents", plan, bare_star, STAR_ROUNDS, bar)


def _on_graph(work: str, raw: dict[str, Any], slots: int, rounds: int, bar: float) -> None:
    plan = prepare(raw)
    graph = plan.spec.graph(0)
    frames = f"{slots} slots of {2 * graph.size:,} frames"
    bare.compare(f"{work}, {frames}", plan, partial(bare.mesh, graph, slots), rounds, bar)


def mesh() -> None:
    for name, agents, topology, slots in GRAPHS:
        parameters = {"slots": slots, "size": MEANS}
        raw = run_file("bench.systems:MESH", agents, parameters=parameters, topology=topology)
        _on_graph(f"mesh, {name} of {agents}", raw, slots, MESH_ROUNDS, MESH_BAR)


def learning() -> None:
    for agents, p, slots, rounds, bar in LEARNING:
        parameters, topology = {"horizon": slots, "gamma": 1}, {"kind": "erdos-renyi", "p": p}
        raw = run_file("cooperative-ucb", agents, parameters=parameters, topology=topology)
        _on_graph(f"cooperative, {agents} agents, p = {p}", raw, slots, rounds, bar)
