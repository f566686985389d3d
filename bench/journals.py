"""What journals cost in the field: the same run with one in every process, and without.

    python -m bench.journals [--agents 64] [--rounds 3] [SYSTEM ...]

Agents are processes of their own that join over tcp on loopback. What is timed is the run, from its
beginning to its end. Runs with and without alternate.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import hold, show, show_bars, spread
from posse.durable.journal import Journal
from posse.engines.processes import ProcessEngine
from posse.engines.remote_agent import remote_agent
from posse.plan import Plan, prepare

BAR = 1.5
RING = {"kind": "ring"}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dp-mase": {"parameters": {"epsilon": 0.1}},
    "cdp-mab": {"parameters": {"horizon": 20_000, "epsilon": 1.0}},
    "ddp-mab": {"parameters": {"horizon": 20_000, "epsilon": 1.0}, "topology": RING},
    "private-ucb": {"parameters": {"horizon": 150, "epsilon": 0.5}, "topology": RING},
    "tdfs-private": {"parameters": {"horizon": 150, "epsilon": 1.0}},
    "anonymous": {"parameters": {"horizon": 3_000, "group_size": 2}},
}


def logs(folder: Path, agents: int) -> None:
    """A reward log for each agent, and one with as many arms as agents for those who share it."""
    generator = np.random.default_rng(1)
    for name, arms in [*((str(rank), 4) for rank in range(agents)), ("all", agents)]:
        means = np.linspace(0.9, 0.1, arms)
        rewards = generator.random((200, arms)) < means
        rows = [f"{arm},{int(reward)}" for row in rewards for arm, reward in enumerate(row)]
        (folder / f"rewards-{name}.csv").write_text("\n".join(["arm,reward", *rows]))


def plan_of(system: str, folder: Path, agents: int) -> Plan:
    shared = system.startswith("tdfs")
    return prepare(
        {
            "system": system,
            "mode": "field",
            "agents": {"count": agents},
            "arms": {
                "kind": "csv",
                "path": "rewards-all.csv" if shared else "rewards-{rank}.csv",
                "count": agents if shared else 4,
                "replace": True,
            },
            "privacy": {"reuse": "unlimited"},
            "engine": {"deadline": 120.0},
            "base": str(folder),
            **SYSTEMS[system],
        }
    )


def seconds(plan: Plan, folder: Path, port: int, *, journals: bool) -> float:
    """How long one run takes."""
    endpoint = f"tcp://127.0.0.1:{port}"
    agents = []
    for rank in range(plan.spec.agents.count):
        pid = os.fork()
        if pid == 0:
            own = folder / f"agent-{rank}.journal" if journals else None
            os._exit(remote_agent(endpoint, rank, plan=plan, journal=own).serve())
        agents.append(pid)
    kept = Journal(folder / "coordinator.journal", "a bench") if journals else None
    try:
        with ProcessEngine(plan, bind=endpoint, token="", spawn=0, journal=kept) as engine:
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


def main() -> None:
    """Print the median of some rounds of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=15_731)
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS), metavar="SYSTEM")
    options = parser.parse_args()
    rows, ratios = [], {}
    for system in options.systems:
        both: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(options.rounds):
            for journals, took in both.items():
                with tempfile.TemporaryDirectory() as name:
                    logs(Path(name), options.agents)
                    plan = plan_of(system, Path(name), options.agents)
                    took.append(seconds(plan, Path(name), options.port, journals=journals))
        ratio = [on / off for off, on in zip(both[False], both[True], strict=True)]
        ratios[system] = sorted(ratio)[len(ratio) // 2]
        rows.append([system, spread(both[False]), spread(both[True]), spread(ratio)])
        print(rows[-1], file=sys.stderr)
    show(f"journals, {options.agents} agents", ["system", "without, s", "with, s", "ratio"], rows)
    for system, ratio_of in ratios.items():
        hold(system, ratio_of, BAR, most=True)
    show_bars()


if __name__ == "__main__":
    main()
