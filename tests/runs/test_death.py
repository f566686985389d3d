"""Agents that die, users that interrupt: named, in time, and nothing is left."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from posse.durable import scratch
from tests.support.patience import PATIENCE
from tests.support.remote import until

SLOW_ARMS = """
import time
from pathlib import Path
import numpy as np

class Slow:
    def pull(self, arm, count):
        Path(__file__).with_name("pulled").touch()
        time.sleep(0.2)
        return np.full(count, 0.5)

slow = Slow()
"""

RUN_FILE = """
system = "dp-mase"
agents.count = 6
[arms]
kind = "python"
target = "slow_arms:slow"
count = 4
[parameters]
epsilon = 1.0
[engine]
deadline = 10.0
on_missing = "end"
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    (tmp_path / "slow_arms.py").write_text(SLOW_ARMS)
    path = tmp_path / "slow.toml"
    path.write_text(RUN_FILE)
    return path


def start(run_file: Path, tmp_path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "posse", "run", str(run_file), "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "pulled").exists, "the first pull")
    return process


@pytest.mark.slow
def test_a_run_that_is_terminated_leaves_nothing(run_file: Path, tmp_path: Path) -> None:
    process = start(run_file, tmp_path)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    psutil.wait_procs(family, timeout=PATIENCE)
    assert not [child for child in family if child.is_running()]


@pytest.mark.slow
def test_a_killed_coordinator_takes_its_agents_along(run_file: Path, tmp_path: Path) -> None:
    """Not even SIGKILL of the run leaves an agent: the leash closes with its holder."""
    process = start(run_file, tmp_path)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate(timeout=PATIENCE)
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert not alive
    scratch.clear()  # as the next start does
