"""Dask clusters on real hosts, by ssh and by Slurm: `.ci/run` brings hosts, sshds and Slurm up."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from posse.engines import memory
from posse.plan import prepare
from posse.spec.runfile import read
from tests.field.test_hosts import DDP_MAB, ROOT, hosts
from tests.support.dask import dask_cluster
from tests.support.machine import answers
from tests.support.patience import PATIENCE
from tests.support.runs import printed

pytestmark = pytest.mark.machine

SIXTY_FOUR = ["agents.count=64", "engine.restarts=1"]

KILLING = """
import json, sys
from posse import api
from posse.engines.start.dask import DaskPlacement
from posse.plan import prepare
from posse.spec.runfile import read
from tests.support.dask import kill_with_children

run_file, on, pid, *overrides = sys.argv[1:]
heard = 0

def observe(host):
    global heard
    heard += 1
    if heard == 100 and int(pid):
        kill_with_children(int(pid))

plan = prepare(read(run_file, overrides))
for _, record in api.make_runs(plan, [0], on=DaskPlacement(on), observe=observe):
    json.dump(record.document(), sys.stdout)
"""
"""Kills a process in the middle of a run on a cluster."""

SSH = """
import sys
from distributed import SSHCluster

python, key, port, *hosts = sys.argv[1:]
connect = {"known_hosts": None, "client_keys": [key], "port": int(port), "username": "root"}
if __name__ == "__main__":
    with SSHCluster(
        [hosts[0], *hosts],
        connect_options=connect,
        remote_python=python,
        worker_options={"nthreads": 1},
        scheduler_options={"dashboard": False, "port": 0},
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""

SLURM = """
import sys
from dask_jobqueue import SLURMCluster

folder, prologue = sys.argv[1:]
if __name__ == "__main__":
    with SLURMCluster(
        cores=1,
        memory="1GB",
        interface="lo",
        job_directives_skip=["--mem"],
        job_script_prologue=[prologue],
        python=sys.executable,
        log_directory=folder,
        local_directory=folder,
        scheduler_options={"dashboard": False},
    ) as cluster:
        cluster.scale(jobs=2)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(DDP_MAB)
    return path


@contextmanager
def started_by(script: str, *arguments: str, before: Sequence[str] = ()) -> Iterator[str]:
    """Where the scheduler is of the cluster that a script starts."""
    cluster = subprocess.Popen(
        [*before, sys.executable, "-P", "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = cluster.stdout.readline().strip()
        assert address, cluster.communicate(timeout=PATIENCE)[1]
        yield address.replace("tcp://", "dask://")
    finally:
        cluster.communicate(timeout=PATIENCE)


def same_as_in_the_lab(
    run_file: Path, on: str, *, kill: int = 0, before: Sequence[str] = ()
) -> dict[str, Any]:
    """A run of 64 agents on a cluster, in which a process is killed; it is the lab's."""
    command = [*before, sys.executable, "-P", "-c", KILLING, str(run_file), on, str(kill)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = printed([*command, *SIXTY_FOUR], timeout=PATIENCE, env=env)
    there: dict[str, Any] = json.loads(said)
    here = json.loads(json.dumps(memory.run(prepare(read(run_file, SIXTY_FOUR)), 0).document()))
    for name in ("status", "best_arm", "regret_curve", "pulls", "privacy", "answers"):
        assert there[name] == here[name], name
    assert there["communication"]["data"] == here["communication"]["data"]
    return there


@pytest.mark.slow
def test_three_hosts_on_one_of_which_a_worker_is_killed(run_file: Path) -> None:
    laid_out = hosts()
    if not laid_out:
        pytest.skip("there are no three network namespaces *-h1 to *-h3 (ip netns)")
    one, two, three = ((a, ("ip", "netns", "exec", name)) for name, a in laid_out.items())
    with dask_cluster([one, two, two, three]) as cluster:
        killed = cluster.workers[1].pid
        there = same_as_in_the_lab(run_file, cluster.on, kill=killed, before=one[1])
    assert sorted(there["restarts"].values()) == [1] * 16


@pytest.mark.slow
def test_a_cluster_that_was_started_by_ssh(run_file: Path) -> None:
    lab = [os.environ.get(f"SSHD_LAB_{name}", "") for name in ("KEY", "PORT", "HOSTS")]
    if not all(lab):
        pytest.skip("no sshds listen on three hosts (SSHD_LAB_KEY, SSHD_LAB_PORT, SSHD_LAB_HOSTS)")
    pytest.importorskip("asyncssh", reason="asyncssh is not installed")
    key, port, listed = lab
    names = {address: name for name, address in hosts().items()}
    before = ("ip", "netns", "exec", names[listed.split()[0]])
    python = f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    with started_by(SSH, python, key, port, *listed.split(), before=before) as on:
        same_as_in_the_lab(run_file, on, before=before)


@pytest.mark.slow
def test_a_cluster_that_was_started_by_slurm(run_file: Path) -> None:
    if not answers("srun", "-N2", "-n2", "true"):
        pytest.skip("no Slurm cluster of two nodes answers (srun)")
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    with (
        tempfile.TemporaryDirectory() as folder,
        started_by(SLURM, folder, f"export PYTHONPATH={shlex.quote(str(ROOT))}") as on,
    ):
        same_as_in_the_lab(run_file, on)
