"""The process that forks the agents."""

import os

import psutil
import pytest

from posse.engines.processes import ProcessEngine
from posse.plan import prepare

MODULE = "posse.engines.forkserver"
CORES = os.cpu_count() or 1


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux schedules batches")
@pytest.mark.parametrize(
    ("agents", "crowd"), [(6, False), (8 * CORES, False), (8 * CORES + 1, True)]
)
def test_agents_take_turns_where_they_are_many(agents: int, crowd: bool) -> None:
    spec = prepare(
        {
            "system": "mase",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
        }
    )
    with ProcessEngine(spec) as engine:
        (server,) = (c for c in psutil.Process().children() if MODULE in c.cmdline())
        policies = {os.sched_getscheduler(child.pid) for child in server.children()}
        assert len(server.children()) == agents
        assert policies == {os.SCHED_BATCH if crowd else os.SCHED_OTHER}
        assert engine.run(spec, 0).best_arm == 0
