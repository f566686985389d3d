"""The cost of keys and journals in the field: the same run with and without them, in turn.

Agents are processes that join over tcp on loopback. Only the run itself is timed.
"""

import os
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import compare, hold, run_file
from posse.agent.remote import remote_agent
from posse.durable.journal import Journal
from posse.engines.processes import ProcessEngine
from posse.plan import Plan, prepare
from posse.security import keys

ADDRESS = "tcp://127.0.0.1:15731"
ROUNDS = 3

MESSAGES = 8_000
"""Requests from each of four agents."""
BAR_KEYS = 0.7

AGENTS = 64
BAR_JOURNALS = 2.0
"""All share one disk, and each row waits for it."""
RING = {"kind": "ring"}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dp-mase": {"parameters": {"epsilon": 0.1}},
    "cdp-mab": {"parameters": {"horizon": 20_000, "epsilon": 1.0}},
    "ddp-mab": {"parameters": {"horizon": 20_000, "epsilon": 1.0}, "topology": RING},
    "private-ucb": {"parameters": {"horizon": 150, "epsilon": 0.5}, "topology": RING},
    "tdfs-private": {"parameters": {"horizon": 150, "epsilon": 1.0}},
    "anonymous": {"parameters": {"horizon": 3_000, "group_size": 2}},
}


def seconds(make: Callable[[Path], Plan], *, keyed: bool = False, journals: bool = False) -> float:
    """How long a run takes, of the plan that `make` creates in a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder, party = Path(name), Path(name, "keys")
        plan = make(folder)
        count = plan.spec.agents.count
        if keyed:
            keys.create(party, count)
        agents = []
        for rank in range(count):
            pid = os.fork()
            if pid == 0:
                pair = keys.for_agent(party, rank) if keyed else None
                own = folder / f"agent-{rank}.journal" if journals else None
                agent = remote_agent(ADDRESS, rank, plan=plan, keys=pair, journal=own)
                os._exit(agent.serve())
            agents.append(pid)
        pairs = keys.for_coordinator(party, count) if keyed else None
        kept = Journal(folder / "coordinator.journal", "a bench") if journals else None
        given: dict[str, Any] = {"token": "", "spawn": 0, "keys": pairs, "journal": kept}
        try:
            with ProcessEngine(plan, bind=ADDRESS, **given) as engine:
                record = engine.run(plan, 0)
            while agents:
                assert os.waitpid(agents[-1], 0)[1] == 0
                agents.pop()
        finally:
            for pid in agents:
                os.kill(pid, signal.SIGKILL)
        if kept is not None:
            kept.remove()
    return record.elapsed_seconds


def echo(folder: Path) -> Plan:
    parameters = {"messages": MESSAGES, "size": 96}
    return prepare(run_file("bench.systems:ECHO", 4, parameters=parameters))


def real(system: str, folder: Path) -> Plan:
    """A plan on a reward log per agent. Players share one log, with as many arms as players."""
    shared = system.startswith("tdfs")
    arms = AGENTS if shared else 4
    generator = np.random.default_rng(1)
    means = np.linspace(0.9, 0.1, arms)
    for who in ["all"] if shared else range(AGENTS):
        rewards = generator.random((200, arms)) < means
        rows = [f"{arm},{int(reward)}" for row in rewards for arm, reward in enumerate(row)]
        (folder / f"rewards-{who}.csv").write_text("\n".join(["arm,reward", *rows]))
    path = "rewards-all.csv" if shared else "rewards-{rank}.csv"
    return prepare({
        "system": system,
        "mode": "field",
        "agents": {"count": AGENTS},
        "arms": {"kind": "csv", "path": path, "count": arms, "replace": True},
        "privacy": {"reuse": "unlimited"},
        "engine": {"deadline": 120.0},
        "base": str(folder),
        **SYSTEMS[system],
    })  # fmt: skip


def main() -> None:
    keys = {"with keys": partial(seconds, echo, keyed=True), "without": partial(seconds, echo)}
    rate = {"messages/s": (lambda took: 8 * MESSAGES / took, "{:,.0f}")}
    (ratio,) = compare("four agents over tcp", ROUNDS, keys, rate)
    hold("with keys, of the messages/s without", ratio, BAR_KEYS)
    for system in SYSTEMS:
        make = partial(real, system)
        journals = {
            "with journals": partial(seconds, make, journals=True),
            "without": partial(seconds, make),
        }
        title = f"{system}, {AGENTS} agents"
        (ratio,) = compare(title, ROUNDS, journals, {"seconds": (float, "{:.2f}")})
        hold(f"journals, {system}, of the time without", ratio, BAR_JOURNALS, most=True)
