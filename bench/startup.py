"""Start-up time, memory per agent, and time to the answer, by number of agents.

Every agent is a process. Up: from nothing to all agents joined. Answer: `dp-mase` on Problem 1
(ten Bernoulli arms, means .7 .5 .3 .1x7, epsilon 0.1), the first run of fresh agents and a second
one of the same agents. Memory is proportional (Linux's Pss: shared pages count by their share).
"""

import time
from pathlib import Path

from bench.tables import hold, run_file, show
from posse.engines.processes import ProcessEngine
from posse.plan import prepare

COUNTS = (64, 256, 1_024)
BAR_SECONDS = 6.0
BAR_MB = 3.0

CROWD, CROWD_SECONDS, CROWD_GB = 5_000, 45.0, 16.0
"""Agents of a crowd, and its bars."""

PROBLEM_1 = [0.7, 0.5, 0.3, *[0.1] * 7]


def measure(agents: int) -> tuple[list[str], float, float]:
    """A row of the table, seconds to the answer, and bytes of all agents together."""
    raw = run_file("dp-mase", agents, PROBLEM_1, parameters={"epsilon": 0.1})
    spec = prepare(raw)
    began = time.perf_counter()
    with ProcessEngine(spec) as engine:
        up = time.perf_counter()
        first = engine.run(spec, 0)
        answered = time.perf_counter()
        engine.run(spec, 1)
        again = time.perf_counter()
    down = time.perf_counter()
    assert first.resources is not None
    memory = first.resources.proportional_bytes_per_agent
    row = [
        f"{agents:,}",
        f"{up - began:.2f}",
        f"{answered - up:.2f}",
        f"{again - answered:.2f}",
        f"{answered - began:.2f}",
        f"{down - again:.2f}",
        f"{sum(memory) / agents / 1e6:.2f}",
        f"{max(memory) / 1e6:.2f}",
        f"{1e3 * sum(first.resources.cpu_seconds_per_agent) / agents:.1f}",
        first.status,
    ]
    return row, answered - began, sum(memory)


def start(counts: tuple[int, ...]) -> tuple[float, float]:
    """Show the table; return the last count's seconds to the answer and bytes of all its agents."""
    found = [measure(agents) for agents in counts]
    show(
        "dp-mase on Problem 1, every agent a process: seconds; MB per agent",
        ["agents", "up", "run 1", "run 2", "to answer", "down", "MB", "most", "cpu ms", "status"],
        [row for row, _, _ in found],
    )
    return found[-1][1:]


def main() -> None:
    seconds, used = start(COUNTS)
    agents = COUNTS[-1]
    hold(f"{agents:,} agents, seconds to the answer", seconds, BAR_SECONDS, most=True)
    hold(f"{agents:,} agents, MB each", used / agents / 1e6, BAR_MB, most=True)


def crowd() -> None:
    """As many agents as fit on a large machine; what they need is measured on a few of them."""
    few = COUNTS[1]
    _, used = start((few,))
    needed, free = used / few * CROWD / 1e9, _available() / 1e9
    if needed > min(free, CROWD_GB):
        bar = f"bar <= {CROWD_GB:g}, {free:.1f} are free"
        print(f"  {CROWD:,} agents would take {needed:.1f} GB, {bar}: not run")
        return
    seconds, used = start((CROWD,))
    hold(f"{CROWD:,} agents, seconds to the answer", seconds, CROWD_SECONDS, most=True)
    hold(f"{CROWD:,} agents, GB together", used / 1e9, CROWD_GB, most=True)


def _available() -> float:
    """Bytes of memory that processes can have without swapping."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024.0 * int(fields["MemAvailable"].split()[0])
