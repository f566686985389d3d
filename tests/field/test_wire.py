"""A run over a bad wire between hosts, with keys: it is the undisturbed run.

Packets that are lost, doubled, reordered, late or slow are TCP's business and not posse's; what is
held here is that no wait of posse's is too short for it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posse.durable.directory import SPECIFICATION, RunDirectory
from posse.engines import memory
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.security import keys
from tests.support import wire
from tests.support.runs import assert_same_run, spec
from tests.support.wire import HOSTS

pytestmark = pytest.mark.machine

PORT = 7411
PATIENCE = 300.0


def run(plan: Plan, loss: float, folder: Path) -> RunRecord:
    """With its coordinator on host a, and agents on all three."""
    agents = plan.spec.agents.count
    keys.create(folder / "keys", agents)
    file = RunDirectory(folder / "file", plan).open().path / SPECIFICATION
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    with wire.wire(loss) as hosts:
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
@pytest.mark.skipif(bool(wire.missing()), reason=wire.missing())
def test_over_a_bad_wire_it_is_the_undisturbed_run(tmp_path: Path) -> None:
    plan = spec(
        "private-ucb",
        3,
        parameters={"horizon": 20, "epsilon": 0.5},
        topology={"kind": "ring"},
        engine={"deadline": 120.0},
    )
    expected, found = memory.run(plan, 0), run(plan, 0.05, tmp_path)
    found.refused = {}
    document = json.loads(json.dumps(expected.document()))
    assert_same_run(RunRecord.read(document, plan.system.results.detail), found)
