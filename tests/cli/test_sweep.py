"""posse run --over, here and on a Dask cluster."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from posse.cli import sweep
from posse.reading.folder import read
from tests.cli.conftest import Posse
from tests.support import halting
from tests.support.dask import dask_cluster
from tests.support.patience import PATIENCE


@pytest.mark.slow
def test_a_sweep_is_the_runs_of_its_points(run_file: Path, posse: Posse) -> None:
    over = ["--over", "parameters.epsilon=0.5,1.0", "--over", "seed=1,2"]
    command = [sys.executable, "-P", "-m", "posse", "sweep", "ride.toml", *over]
    rows = json.loads(subprocess.check_output([*command, "--json", "--out", "out"]))
    assert [row["at"] for row in rows] == [
        {"parameters.epsilon": e, "seed": s} for e in (0.5, 1.0) for s in (1, 2)
    ]
    alone = posse("run", "ride.toml", "--seed", "2", "--json", "--out", "alone")
    assert rows[1]["summary"].keys() >= {"rounds", "pulls", "regret", "data_messages"}
    for measure, mean in json.loads(alone.out)["summary"].items():
        assert measure == "elapsed_seconds" or rows[1]["summary"][measure] == mean
    assert len(Path("out/sweep.csv").read_text().splitlines()) == 5
    again = read(Path("out/epsilon=0.5,seed=2"))
    assert again.failure is None
    assert [run.best_arm for run in again.runs] == rows[1]["best_arms"] == [0, 0]
    assert rows[1]["directory"] == "epsilon=0.5,seed=2"
    assert json.loads(Path("out/sweep.json").read_text()) == rows


def test_values_keep_their_types() -> None:
    assert sweep.points(["a=1,2.5,true,word", "b=x"]) == [
        {"a": value, "b": "x"} for value in (1, 2.5, True, "word")
    ]
    assert sweep.points(["a=1,2.5,true"]) == [{"a": value} for value in (1, 2.5, True)]
    assert sweep.points(["arms.means=[0.9,0.1],[0.8,0.2]"]) == [
        {"arms.means": means} for means in ([0.9, 0.1], [0.8, 0.2])
    ]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_ended_goes_on(tmp_path: Path, how: int) -> None:
    halting.prepare(tmp_path)
    command = ["sweep", "run.toml", "--over", "parameters.epsilon=2.0,4.0", "--repeat", "2"]
    process = halting.start(tmp_path, *command, "--out", "out")
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    _, said = process.communicate(timeout=PATIENCE)
    assert not psutil.wait_procs(workers, timeout=PATIENCE)[1]
    assert "Traceback" not in said
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command with --out out resumes from them" in said
    again = halting.finish(tmp_path, *command, "--out", "out")
    assert again.returncode == 0, again.stderr
    assert halting.finish(tmp_path, *command, "--out", "whole").returncode == 0
    for point in ("epsilon=2.0", "epsilon=4.0"):
        ours, undisturbed = (halting.result(tmp_path / name / point) for name in ("out", "whole"))
        assert ours == undisturbed


FAILING = """
from pathlib import Path

class Arms:
    def __init__(self, agent, agents, seed):
        self.ill = agents == 7 and Path(__file__).with_name("ill").exists()

    def pull(self, arm, count):
        if self.ill:
            raise OSError("ill")
        return [float(arm == 0)] * count
"""


def test_one_failing_point_does_not_end_a_sweep(run_file: Path, posse: Posse) -> None:
    folder = run_file.parent
    (folder / "failing.py").write_text(FAILING)
    (folder / "ill").touch()
    arms = 'arms={kind="python",target="failing:Arms",count=2}'
    command = ["sweep", "ride.toml", "--set", arms, "--over", "agents.count=6,7,8", "--jobs", "1"]
    said = posse(*command, "--out", "out", code=3)
    assert "posse: count=7: agent" in said.err.replace("agents.count", "count")
    assert "posse: 1 of 3 points failed; the same command with --out out tries them" in said.err
    rows = json.loads((folder / "out/sweep.json").read_text())
    assert [(row["runs"], row["failure"] is None) for row in rows] == [
        (2, True), (0, False), (2, True)
    ]  # fmt: skip
    (folder / "ill").unlink()
    rows = json.loads(posse(*command, "--out", "out", "--json").out)
    assert [row["runs"] for row in rows] == [2, 2, 2]
    assert not (folder / "out/agents.count=7/failure.json").exists()


def test_a_full_disk_loses_no_number(run_file: Path, posse: Posse, full_disk: Any) -> None:
    command = ["sweep", "ride.toml", "--over", "seed=1,2", "--jobs", "1", "--out", "out"]
    with full_disk():
        printed = posse(*command, code=3)
    assert [row["best_arms"] for row in json.loads(printed.out)] == [[0, 0], [0, 0]]
    assert "posse: the table cannot be written to out (No space left on device)" in printed.err
    assert "posse: seed=1: its result cannot be written (No space left on device)" in printed.err
    posse(*command)


@pytest.mark.slow
def test_points_run_on_the_engine_that_they_name(run_file: Path, posse: Posse) -> None:
    posse("sweep", "ride.toml", "--over", "engine.kind=processes,memory", "--out", "over")
    for kind in ("processes", "memory"):
        runs = read(Path("over", f"engine.kind={kind}")).runs
        assert [run.resources is not None for run in runs] == [kind == "processes"] * 2
    run_file.write_text(run_file.read_text().replace("engine.kind", "#"))
    posse("sweep", "ride.toml", "--over", "seed=3", "--jobs", "1", "--out", "of")
    assert read(Path("of/seed=3")).runs[0].resources is None  # in memory by default


@pytest.mark.slow
def test_a_system_is_swept_without_what_it_has_no_place_for(run_file: Path, posse: Posse) -> None:
    over = ["--over", "system=dp-mase,mase", "--over", "seed=1,2"]
    for folder in ("before", "out"):  # each command says it anew, and once for all its points
        said = posse("sweep", "ride.toml", *over, "--out", folder)
        assert said.err.count("parameters.epsilon is left out: mase does not use it") == 1
    for word in ("dp-mase", "arm 0", "2 of 2", "identified", "in all rows: n 2;"):
        assert word in said.out
    assert read(next(Path("out").glob("*system=mase*"))).spec.parameters == {}


@pytest.mark.slow
def test_a_run_and_a_sweep_go_into_folders_of_their_own(run_file: Path, posse: Posse) -> None:
    run = ["run", "ride.toml", "--out"]
    sweep = ["sweep", "ride.toml", "--over", "seed=1,2", "--jobs", "1", "--out"]
    posse(*run, "one")
    assert "holds a run; name another folder for a sweep" in posse(*sweep, "one", code=2).err
    posse(*sweep, "many")
    before = sorted(Path("many").iterdir())
    refused = posse(*run, "many", code=2).err
    assert "many holds several runs; name another folder for this one" in refused
    assert sorted(Path("many").iterdir()) == before


@pytest.mark.slow
def test_a_sweep_on_a_dask_cluster(run_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "posse", "sweep", "ride.toml"]
    command += ["--over", "seed=1,2", "--json"]
    with dask_cluster() as cluster:
        on_dask = [*command, "--on", cluster.on, "--out", str(tmp_path / "a")]
        there = json.loads(subprocess.check_output(on_dask))
    here = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "b")]))
    for one, other in zip(there, here, strict=True):
        assert one["summary"]["rounds"] == other["summary"]["rounds"]
