"""The process that forks the agents."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from posse.engines import memory
from posse.engines.processes import ProcessEngine
from posse.engines.start import forkserver
from posse.errors import PosseError
from posse.plan import Plan, prepare
from tests.runs.test_restarts import CASES, SMALLER
from tests.support.patience import PATIENCE
from tests.support.runs import assert_same_run

MODULE = "posse.engines.start.forkserver"

SCRIPT = """
import sys

sys.path.insert(0, sys.argv[1])
import posse

spec = {
    "system": "dp-mase",
    "agents": {"count": 6},
    "arms": {"kind": "python", "target": "elsewhere:Arms", "count": 2},
    "parameters": {"epsilon": 5.0},
    "engine": {"kind": "processes"},
}
print(posse.run(spec).runs[0].best_arm)
"""
ARMS = """
class Arms:
    def __init__(self, agent, agents, seed):
        pass

    def pull(self, arm, count):
        return [float(arm)] * count
"""

ONLY_LINUX = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux lets one choose"
)


def alone(agents: int) -> Plan:
    return prepare(
        {
            "system": "single-mab",
            "agents": {"count": agents},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "parameters": {"horizon": 2_000, "epsilon": 1.0},
        }
    )


SHORT = """
import _thread, os, sys
sys.path[:] = sys.argv[2:]
from posse.engines.start import forkserver
fork, left = os.fork, [2]
def refuse(*_): {refuse}
def some():
    left[0] -= 1
    if left[0] < 0:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
{patch}
forkserver.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refuse", "patch", "said"),
    [
        ("pass", "os.fork = some", "only 2 of the agents' processes could be started: "),
        (
            'raise RuntimeError("can\'t start new thread")',
            "_thread.start_new_thread = refuse",
            "agent [0-3] could not be started: ",
        ),
    ],
)
def test_too_few_processes_or_threads_are_said_at_once(
    refuse: str, patch: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs may take what was free; agents that were forked held the pipe of deaths."""
    monkeypatch.setattr(forkserver, "_START", SHORT.format(refuse=refuse, patch=patch))
    plan = alone(4)
    with (
        pytest.raises(PosseError, match=f"{said}this machine or container permits no more threads"),
        ProcessEngine(plan) as engine,
    ):
        engine.run(plan, 0)


@ONLY_LINUX
@pytest.mark.parametrize("more", [0, 1])
def test_agents_stay_on_a_core_where_there_are_more_of_them_than_cores(more: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    agents = len(cores) + more
    plan = alone(agents)
    with ProcessEngine(plan) as engine:
        (server,) = (c for c in psutil.Process().children() if MODULE in c.cmdline())
        assert len(server.children()) == agents
        where = [os.sched_getaffinity(pid) for pid in engine.pids().values()]
        wanted = [{cores[rank % len(cores)]} for rank in range(agents)]
        assert where == (wanted if more else [set(cores)] * agents)
        assert engine.run(plan, 0).slots == 2_000


@ONLY_LINUX
@pytest.mark.parametrize(("agents", "behind"), [(8, 0), (9, 5)])
def test_agents_give_way_to_their_coordinator_where_a_core_has_many(
    agents: int, behind: int
) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        with ProcessEngine(alone(agents)) as engine:
            nice = {psutil.Process(pid).nice() for pid in engine.pids().values()}
    finally:
        os.sched_setaffinity(0, before)
    assert nice == {psutil.Process().nice() + behind}


def test_agents_import_from_where_the_script_does_that_starts_them(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "elsewhere.py").write_text(ARMS)
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, str(tmp_path / "there")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-mase", "private-ucb", "tdfs-private", "ddp-mab"])
def test_agents_that_share_processes_carry_the_same_run(name: str) -> None:
    raw = {key: value for key, value in CASES[name].items() if key != "engine"}
    engine = {"agents_per_process": 3, "deadline": PATIENCE}
    plan = prepare(raw | SMALLER.get(name, {}) | {"engine": engine})
    with ProcessEngine(plan) as shared:
        agents = plan.spec.agents.count
        assert len({*shared.pids().values()}) == -(-agents // 3)
        assert_same_run(memory.run(plan, 0), shared.run(plan, 0))
        with pytest.raises(PosseError, match="agent 1 shares its process with others"):
            shared.restart(1)


@pytest.mark.inside
def test_machines_are_rehearsed_before_the_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    by_machines: list[str] = []
    monkeypatch.setattr(
        memory, "_by_machines", lambda plan, *_: by_machines.append(plan.spec.system)
    )
    forkserver._rehearse.__wrapped__()
    assert by_machines == ["dp-mase"]
