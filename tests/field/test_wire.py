"""Runs over a bad wire between hosts, with keys: each is the undisturbed run.

Packets that are lost, doubled, reordered, late or slow are TCP's business and not posse's; what is
held here is that no wait of posse's is too short for it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.engines import memory
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.security import keys
from tests.support import wire
from tests.support.runs import assert_same_run, spec
from tests.support.wire import HOSTS, Faults

pytestmark = pytest.mark.machine

PORT = 7411
PATIENCE = 300.0

FAULTS = {
    "5 % lost": Faults(loss=0.05),
    "20 % doubled": Faults(twice=0.2),
    "20 % reordered": Faults(shuffled=0.2),
    "10 kB/s": Faults(rate=10_000),
    "a second each way": Faults(delay=1.0),
    "5 % lost and 0.1 s each way": Faults(loss=0.05, delay=0.1),
}
RUNS: dict[str, Callable[[], Plan]] = {
    "mase": lambda: spec("mase", 6, engine={"deadline": 120.0}),
    "ddp-mab": lambda: spec(
        "ddp-mab",
        3,
        parameters={"horizon": 5_000, "epsilon": 1.0},
        topology={"kind": "ring"},
        engine={"deadline": 120.0},
    ),
    "private-ucb": lambda: spec(
        "private-ucb",
        3,
        parameters={"horizon": 20, "epsilon": 0.5},
        topology={"kind": "ring"},
        engine={"deadline": 120.0},
    ),
    "tdfs-ucb": lambda: spec("tdfs-ucb", 3, parameters={"horizon": 20}, engine={"deadline": 120.0}),
    "anonymous": lambda: spec(
        "anonymous", 5, parameters={"horizon": 300, "group_size": 2}, engine={"deadline": 120.0}
    ),
}
IN_CI = [("private-ucb", "5 % lost")]


def run(plan: Plan, faults: Faults, folder: Path) -> RunRecord:
    """With its coordinator on host a, and agents on all three."""
    agents = plan.spec.agents.count
    keys.create(folder / "keys", agents)
    file = RunDirectory(folder / "file", plan).open().path / SPECIFICATION
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with wire.wire(faults) as hosts:
        endpoint = f"tcp://{hosts['a'][1]}:{PORT}"

        def start(host: str, *command: str) -> "subprocess.Popen[str]":
            posse = [sys.executable, "-P", "-m", "posse", *command, "--keys", str(folder / "keys")]
            return subprocess.Popen(
                ["ip", "netns", "exec", hosts[host][0], *posse],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=folder,
            )

        processes = [start("a", "coordinator", str(file), "--bind", endpoint, "--json")]
        try:
            processes += [
                start(HOSTS[rank % 3], "agent", "--join", endpoint, "--rank", str(rank))
                for rank in range(agents)
            ]
            said = [process.communicate(timeout=PATIENCE) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    assert [process.returncode for process in processes] == [0] * len(processes), said
    found: RunRecord = RunRecord.read(json.loads(said[0][0])["runs"][0], plan.system.results.detail)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("system", RUNS)
def test_over_a_bad_wire_it_is_the_undisturbed_run(
    system: str, fault: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if (system, fault) not in IN_CI and not request.config.getoption("--chaos"):
        pytest.skip("one of them, but for --chaos")
    if said := wire.missing():
        pytest.skip(said)
    request.node.user_properties += [
        ("fault", fault),
        ("where", "three hosts"),
        ("system", system),
    ]
    plan = RUNS[system]()
    expected, found = memory.run(plan, 0), run(plan, FAULTS[fault], tmp_path)
    found.refused = {}
    document = json.loads(json.dumps(expected.document()))
    assert_same_run(RunRecord.read(document, plan.system.results.detail), found)
