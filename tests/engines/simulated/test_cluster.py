"""A simulated posse: the real loops under virtual time."""

import subprocess
import sys
from typing import Any

import pytest

from posse import api
from posse.engines import memory
from posse.engines.simulated.cluster import SimulatedCluster
from posse.plan import prepare
from posse.testing.small import SMALL
from tests.runs.test_restarts import undisturbed_part


def simulated(raw: dict[str, Any], seed: int = 1, *, starts: bool = False) -> SimulatedCluster:
    cluster = SimulatedCluster(prepare(raw), seed, api.serve, starts=starts)
    try:
        cluster.run(cluster.schedule.now + 1_000.0)
    finally:
        cluster.close()
    return cluster


@pytest.mark.parametrize(
    "name",
    ["mase", "dp-mase", "cooperative-ucb", "ddp-mab", "hdp-mab", "tdfs-private", "anonymous"],
)
@pytest.mark.parametrize("durable", [False, True])
def test_an_undisturbed_run_is_that_of_engine_memory(name: str, *, durable: bool) -> None:
    raw = {"system": name, **SMALL[name], "engine": {"durable": durable}}
    cluster = simulated(raw)
    assert {ended.code for ended in cluster.ended} == {0}
    assert not cluster.defects
    expected = memory.run(prepare(raw), 0)
    assert undisturbed_part(cluster.records[0]) == undisturbed_part(expected)


_TRACE = """
from posse.testing.small import SMALL
from tests.engines.simulated.test_cluster import simulated
run = {"system": "ddp-mab", **SMALL["ddp-mab"], "engine": {"durable": True, "transport": "tcp"}}
print(simulated(run).trace, simulated(run, starts=True).trace)
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    traces = {
        subprocess.run(
            [sys.executable, "-c", _TRACE],
            capture_output=True,
            check=True,
            text=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": "."},
        ).stdout
        for seed in (1, 2)
    }
    assert len(traces) == 1
    assert len(traces.pop().splitlines()) > 500
