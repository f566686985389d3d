"""The process that forks the agents."""

import os

import psutil
import pytest

from posse.engines.processes import ProcessEngine
from posse.plan import prepare

MODULE = "posse.engines.forkserver"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets one choose")
@pytest.mark.parametrize("more", [0, 1])
def test_agents_stay_on_a_core_where_there_are_more_of_them_than_cores(more: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    agents = len(cores) + more
    spec = prepare(
        {
            "system": "single-mab",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "parameters": {"horizon": 2_000, "epsilon": 1.0},
        }
    )
    with ProcessEngine(spec) as engine:
        (server,) = (c for c in psutil.Process().children() if MODULE in c.cmdline())
        assert len(server.children()) == agents
        where = [os.sched_getaffinity(pid) for pid in engine.pids().values()]
        wanted = [{cores[rank % len(cores)]} for rank in range(agents)]
        assert where == (wanted if more else [set(cores)] * agents)
        assert engine.run(spec, 0).slots == 2_000
