"""posse sweep, here and on a Dask cluster."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from posse.cli import sweep
from posse.cli.main import main
from posse.durable import whole
from posse.errors import SpecError
from posse.report.read import read
from tests.support import halting
from tests.support.dask import dask_cluster
from tests.support.patience import PATIENCE

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
        {"parameters.epsilon": e, "seed": s} for e in (0.5, 1.0) for s in (1, 2)
    ]
    alone = ["run", str(sweep_file), "--set", "parameters.epsilon=0.5", "--seed", "2", "--json"]
    assert main([*alone, "--engine", "memory", "--out", str(tmp_path / "alone")]) == 0
    single = json.loads(capsys.readouterr().out)["summary"]
    for metric in ("rounds", "pulls", "regret", "data_messages"):
        assert rows[1]["summary"][metric] == single[metric]
    assert len((out / "sweep.csv").read_text().splitlines()) == 5
    again = read(out / "epsilon=0.5,seed=2")
    assert again.failure is None
    assert [run.best_arm for run in again.runs] == rows[1]["best_arms"] == [0, 0]
    assert rows[1]["directory"] == "epsilon=0.5,seed=2"
    assert json.loads((out / "sweep.json").read_text()) == rows


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
        assert halting.result(tmp_path / "out" / point) == halting.result(
            tmp_path / "whole" / point
        )


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


def test_one_failing_point_does_not_end_a_sweep(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_file.parent
    (folder / "failing.py").write_text(FAILING)
    (folder / "ill").touch()
    arms = 'arms={kind="python",target="failing:Arms",count=2}'
    command = ["sweep", "ride.toml", "--set", arms, "--over", "agents.count=6,7,8", "--jobs", "1"]
    assert main([*command, "--out", "out"]) == 3
    said = capsys.readouterr()
    assert "posse: count=7: agent" in said.err.replace("agents.count", "count")
    assert "posse: 1 of 3 points failed; the same command with --out out tries them" in said.err
    rows = json.loads((folder / "out/sweep.json").read_text())
    assert [(row["runs"], row["failure"] is None) for row in rows] == [
        (2, True), (0, False), (2, True)
    ]  # fmt: skip
    (folder / "ill").unlink()
    assert main([*command, "--out", "out", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["runs"] for row in rows] == [2, 2, 2]
    assert not (folder / "out/agents.count=7/failure.json").exists()


def test_a_full_disk_loses_no_number(
    run_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = whole.opened

    def full(path: Path):
        if path.name in ("spec.toml", ".room"):
            return opened(path)
        raise OSError(28, "No space left on device")

    command = ["sweep", "ride.toml", "--over", "seed=1,2", "--jobs", "1", "--out", "out"]
    with monkeypatch.context() as patch:
        patch.setattr(whole, "opened", full)
        assert main(command) == 3
    said = capsys.readouterr()
    assert [row["best_arms"] for row in json.loads(said.out)] == [[0, 0], [0, 0]]
    assert "posse: the table cannot be written to out (No space left on device)" in said.err
    assert "posse: seed=1: its result cannot be written (No space left on device)" in said.err
    assert main(command) == 0


def test_as_processes_a_sweep_is_the_same(sweep_file: Path, tmp_path: Path, capsys) -> None:
    command = ["sweep", str(sweep_file), "--set", "agents.count=6", "--json"]
    command += ["--over", "parameters.epsilon=1.0,2.0"]
    assert main([*command, "--out", str(tmp_path / "memory")]) == 0
    memory = json.loads(capsys.readouterr().out)
    assert main([*command, "--engine", "processes", "--out", str(tmp_path / "processes")]) == 0
    processes = json.loads(capsys.readouterr().out)
    for one, other in zip(memory, processes, strict=True):
        for measure in ("rounds", "pulls", "regret", "data_messages"):
            assert one["summary"][measure] == other["summary"][measure]


def test_points_run_on_the_engine_that_they_name(sweep_file: Path, tmp_path: Path, capsys) -> None:
    over = ["--over", "engine.kind=processes,memory"]
    assert main(["sweep", str(sweep_file), *over, "--out", str(tmp_path / "over")]) == 0
    for kind in ("processes", "memory"):
        runs = read(tmp_path / "over" / f"engine.kind={kind}").runs
        assert [run.resources is not None for run in runs] == [kind == "processes"] * 2
    out = str(tmp_path / "of")
    assert main(["sweep", str(sweep_file), "--over", "seed=3", "--jobs", "1", "--out", out]) == 0
    assert read(tmp_path / "of" / "seed=3").runs[0].resources is None  # in memory by default


def test_a_system_is_swept_without_what_it_has_no_place_for(
    sweep_file: Path, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "out"
    over = ["--over", "system=dp-mase,mase", "--over", "seed=1,2"]
    for folder in ("before", "out"):  # each command says it anew, and once for all its points
        assert main(["sweep", str(sweep_file), *over, "--out", str(tmp_path / folder)]) == 0
        said = capsys.readouterr()
        assert said.err.count("parameters.epsilon is left out: mase does not use it") == 1
    for word in ("dp-mase", "arm 0", "2 of 2", "identified", "in all rows: n 2;"):
        assert word in said.out
    assert read(next(out.glob("*system=mase*"))).spec.parameters == {}


def test_a_run_does_not_go_into_a_sweeps_directory(run_file: Path, capsys) -> None:
    assert main(["sweep", "ride.toml", "--over", "seed=1,2", "--jobs", "1", "--out", "out"]) == 0
    before = sorted(Path("out").iterdir())
    assert main(["run", "ride.toml", "--out", "out"]) == 2
    assert "out holds several runs; name another folder for this one" in capsys.readouterr().err
    assert sorted(Path("out").iterdir()) == before


def test_a_sweep_does_not_go_into_a_runs_directory(
    sweep_file: Path, tmp_path: Path, capsys
) -> None:
    out = str(tmp_path / "out")
    assert main(["run", str(sweep_file), "--engine", "memory", "--out", out]) == 0
    assert main(["sweep", str(sweep_file), "--over", "seed=1,2", "--out", out]) == 2
    assert "holds a run; name another folder for a sweep" in capsys.readouterr().err


def test_a_wrong_point_starts_nothing(sweep_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = main(["sweep", str(sweep_file), "--over", "parameters.epsilon=1,-1", "--out", str(out)])
    assert code == 2
    assert not out.exists()
    with pytest.raises(SpecError, match="has a value twice"):
        sweep.points(["parameters.epsilon=0.1,1,1e-1"])
    with pytest.raises(SpecError, match="must have the form path=a,b,c"):
        sweep.points(["epsilon"])


@pytest.mark.slow
def test_a_sweep_on_a_dask_cluster(sweep_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "posse", "sweep", str(sweep_file)]
    command += ["--over", "seed=1,2", "--json"]
    with dask_cluster() as cluster:
        on_dask = [*command, "--on", cluster.on, "--out", str(tmp_path / "a")]
        there = json.loads(subprocess.check_output(on_dask))
    here = json.loads(subprocess.check_output([*command, "--out", str(tmp_path / "b")]))
    for one, other in zip(there, here, strict=True):
        assert one["summary"]["rounds"] == other["summary"]["rounds"]


def test_what_is_the_same_in_all_rows_is_said_once_and_leaves_room(
    run_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = ["sweep", "ride.toml", "--set", "repeat=6", "--over", "agents.count=6,12"]
    assert main([*command, "--jobs", "1", "--out", "out"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["count", "right", "rounds", "regret", "messages"]
    assert [line.split()[0] for line in lines[1:3]] == ["6", "12"]
    assert all("(" in line and ")" in line for line in lines[1:3])  # intervals do not wrap
    assert lines[3] == "in all rows: n 6; answer arm 0; status identified"
