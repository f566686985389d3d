"""posse sweep, here and on a Dask cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from posse.cli import sweep
from posse.cli.main import main
from posse.errors import SpecError

SWEEP = """
system = "dp-mase"
seed = 1
repeat = 2
agents.count = 16
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
epsilon = 1.0
"""


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def test_a_sweep_is_the_runs_of_its_points(
    sweep_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = ["--over", "parameters.epsilon=0.5,1.0", "--over", "seed=1,2"]
    out = tmp_path / "out"
    command = [sys.executable, "-P", "-m", "posse", "sweep", str(sweep_file), *over]
    rows = json.loads(subprocess.check_output([*command, "--json", "--out", str(out)]))
    assert [row["at"] for row in rows] == [
        {"parameters.epsilon": e, "seed": s} for e in ("0.5", "1.0") for s in ("1", "2")
    ]
    alone = ["run", str(sweep_file), "--set", "parameters.epsilon=0.5", "--seed", "2", "--json"]
    assert main([*alone, "--engine", "memory", "--out", str(tmp_path / "alone")]) == 0
    single = json.loads(capsys.readouterr().out)["summary"]
    for metric in ("rounds", "pulls", "regret", "data_messages"):
        assert rows[1]["summary"][metric] == single[metric]
    assert len((out / "sweep.csv").read_text().splitlines()) == 5


def test_a_wrong_point_starts_nothing(sweep_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = main(["sweep", str(sweep_file), "--over", "parameters.epsilon=1,-1", "--out", str(out)])
    assert code == 2
    assert not out.exists()
    with pytest.raises(SpecError, match="is not path=a,b,c"):
        sweep.points(["epsilon"])


def test_what_is_no_scheduler_is_said(sweep_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    assert main(["sweep", str(sweep_file), "--over", "seed=1,2", "--dask", "nonsense"]) == 1
    assert "--dask nonsense: no scheduler answers there" in capsys.readouterr().err


CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_sweep_on_a_dask_cluster(sweep_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    command = [sys.executable, "-P", "-m", "posse", "sweep", str(sweep_file)]
    command += ["--over", "seed=1,2", "--json"]
    cluster = subprocess.Popen(
        [sys.executable, "-P", "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = cluster.stdout.readline().decode().strip()
        on_dask = [*command, "--dask", address, "--out", str(tmp_path / "a")]
        there = json.loads(subprocess.check_output(on_dask))
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=20)
        cluster.stdout.close()
    here = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "b")]))
    for one, other in zip(there, here, strict=True):
        assert one["summary"]["rounds"] == other["summary"]["rounds"]
