"""posse coordinator and posse agent, by hand."""

import json
import subprocess
import sys
from pathlib import Path


def test_a_coordinator_and_agents_started_by_hand(run_file: Path) -> None:
    posse = [sys.executable, "-P", "-m", "posse"]
    address = f"ipc://{run_file.parent}/hub"
    # agents first: they wait for their coordinator
    agents = [subprocess.Popen([*posse, "agent", "--join", address]) for _ in range(8)]
    coordinator = subprocess.run(
        [*posse, "coordinator", str(run_file), "--bind", address, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert coordinator.returncode == 0, coordinator.stderr
    assert [run["best_arm"] for run in json.loads(coordinator.stdout)["runs"]] == [0, 0]
    assert [agent.wait(timeout=30) for agent in agents] == [0] * 8
