"""The same star and the same mesh on other systems, each agent a process of its own; and DP-MASE
with the same machines carried by posse, by Ray and by Dask.

The star: 100 bytes to every agent, 830 from each, and again. The mesh, a ring: 100 bytes to both
neighbours, and again when theirs are here. Rounds of all systems alternate. What is not installed
(`pip install 'posse[bench]'`) is left out, and named. `BENCH_MASE_AGENTS` is 64.
"""

import os
import shutil
import sys
import time
from collections import deque
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import msgspec

from bench import peer_systems as others
from bench.tables import show, spread
from posse.engines.base import agent_setups
from posse.engines.processes import ProcessEngine
from posse.engines.sources import of_this_machine
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan, prepare
from topologies.graphs import ring

AGENTS, ROUNDS, TURNS, SLOTS = 8, 3, 400, 240
MASE_AGENTS = int(os.environ.get("BENCH_MASE_AGENTS", "64"))
GRAPH = ring(AGENTS)


def _plan(system: str, agents: int, parameters: dict[str, Any], **more: Any) -> Plan:
    arms = {"kind": "bernoulli", "means": [0.7, 0.5, 0.3, 0.1, 0.1]}
    raw = {"system": system, "agents": {"count": agents}, "arms": arms, "parameters": parameters}
    return prepare(raw | more)


class Posse:
    """The star and the mesh on posse, whose agents are up until the stack is closed."""

    def __init__(self, stack: ExitStack) -> None:
        star = {"rounds": TURNS, "told": others.TOLD, "answer": others.ANSWER}
        mesh = {"slots": SLOTS, "size": others.TOLD}
        self._plans = (
            _plan("bench.echo:GATHER", AGENTS, star),
            _plan("bench.flood:MESH", AGENTS, mesh, topology={"kind": "ring"}),
        )
        self._engines = [stack.enter_context(ProcessEngine(plan)) for plan in self._plans]

    def star(self) -> float:
        return self._engines[0].run(self._plans[0], 0).elapsed_seconds or 0.0

    def mesh(self) -> float:
        return self._engines[1].run(self._plans[1], 0).elapsed_seconds or 0.0


def compare() -> None:
    rates: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        systems: list[tuple[str, Any, int]] = [("posse", Posse(stack), 1)]
        for name, package, kind, fewer in others.SYSTEMS:
            if find_spec(package) is None or (kind is others.Mpi and not shutil.which("mpiexec")):
                print(f"{name} is left out: it is not installed")
                continue
            one = kind(GRAPH.neighbours, TURNS // fewer, SLOTS // fewer)
            systems.append((name, stack.enter_context(one), fewer))
        for number in range(ROUNDS + 1):
            for name, system, fewer in systems:
                star = 2 * AGENTS * (TURNS // fewer) / system.star()
                took = system.mesh()
                if number:  # the first round is to warm up
                    rates.setdefault((name, "star"), []).append(star)
                    if took:
                        mesh = 2 * GRAPH.size * (SLOTS // fewer) / took
                        rates.setdefault((name, "mesh"), []).append(mesh)
    rows = []
    for name, _, _ in systems:
        row = [name]
        for work in ("star", "mesh"):
            ours, bare = rates.get((name, work)), rates["bare pyzmq", work]
            row += ["", ""] if ours is None else [
                spread(ours, "{:,.0f}"),
                f"{median(a / b for a, b in zip(ours, bare, strict=True)):.3f}",
            ]  # fmt: skip
        rows.append(row)
    show(
        f"{AGENTS} processes, messages/s, {ROUNDS} rounds: median (least-greatest), of bare pyzmq",
        ["", "star", "of bare", "ring", "of bare"],
        rows,
    )


def _carried(plan: Plan, kind: type[others.Ray]) -> float:
    """Seconds of a run whose frames are the arguments and the answers of actors' calls."""
    network = plan.network(0)
    setups = [msgspec.msgpack.encode(setup) for setup in agent_setups(plan, network)]
    actors = kind.make(others.HostActor, list(zip(setups, range(len(setups)), strict=True)))
    host = CoordinatorHost(plan, network, 0, of_this_machine(time.monotonic_ns))
    asked: deque[tuple[int, Any]] = deque()
    began = time.perf_counter()
    host.begin()
    while host.record is None:
        asked += [(rank, kind.ask(actors[rank].take, frame)) for rank, frame in host.outbox]
        host.outbox.clear()
        rank, answer = asked.popleft()
        for frame in answer():
            host.receive(rank, frame)
    return time.perf_counter() - began


def mase() -> None:
    plan = _plan("dp-mase", MASE_AGENTS, {"epsilon": 0.1}, seed=1)
    ways: list[tuple[str, Any, Any]] = [
        ("posse", partial(ProcessEngine, plan), lambda up: up.run(plan, 0).elapsed_seconds)
    ]
    for name, package, kind, _ in others.SYSTEMS:
        if issubclass(kind, others.Ray) and find_spec(package):
            up = partial(kind, [()] * MASE_AGENTS, 0, 0)
            ways.append((name, up, lambda up: _carried(plan, type(up))))
    rows = []
    for name, start, run in ways:
        began = time.perf_counter()
        with start() as system:
            took = run(system)
            rows.append([name, f"{time.perf_counter() - began:.1f}", f"{took:.2f}"])
    show(
        f"DP-MASE, {MASE_AGENTS} agents, K = 5, ε = .1, seconds",
        ["", "from nothing to the answer", "of this the run"],
        rows,
    )


def main() -> None:
    compare()
    mase()


if __name__ == "__main__":
    if len(sys.argv) > 1:  # a process of one that starts its agents itself
        (fewer,) = (fewer for *_, kind, fewer in others.SYSTEMS if kind.__name__ == sys.argv[1])
        getattr(others, sys.argv[1]).main(GRAPH.neighbours, TURNS // fewer, SLOTS // fewer)
    else:
        main()
