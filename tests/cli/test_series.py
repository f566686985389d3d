"""A series of runs that is ended goes on where it stopped, and the result is the same."""

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.conftest import Posse
from tests.support import halting
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    halting.prepare(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "how"),
    [
        ("memory", signal.SIGKILL),
        ("processes", signal.SIGINT),
    ],
)
def test_it_goes_on_and_the_result_is_that_of_an_undisturbed_run(
    folder: Path, engine: str, how: int
) -> None:
    run = ["run", "run.toml", "--engine", engine, "--out"]
    process = halting.start(folder, *run, "out")
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    _, said = process.communicate(timeout=PATIENCE)
    assert not psutil.wait_procs(family, timeout=PATIENCE)[1]
    assert "Traceback" not in said
    if how != signal.SIGKILL:
        assert process.returncode == 130
        assert "of 4 runs are kept in out; the same command with --out out resumes" in said
    kept = {path: path.stat().st_mtime_ns for path in (folder / "out" / "kept").iterdir()}
    assert 2 <= len([path for path in kept if path.suffix == ".msgpack"]) < 4
    again = halting.finish(folder, *run, "out")
    assert again.returncode == 0, again.stderr
    assert "2 of 4 runs were kept" in again.stdout
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items() if path.exists())
    assert halting.finish(folder, *run, "whole").returncode == 0
    assert halting.result(folder / "out") == halting.result(folder / "whole")
    for table in ("agents", "regret", "votes"):
        ours, theirs = ((folder / name / f"{table}.csv").read_text() for name in ("out", "whole"))
        assert ours == theirs


@pytest.mark.slow
def test_a_second_run_into_the_folder_is_refused(folder: Path) -> None:
    run = ("run", "run.toml", "--engine", "memory", "--out", "out")
    process = halting.start(folder, *run)
    second = halting.call(folder, *run)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert second.returncode == 2
    assert second.stderr.startswith(f"posse: out is being written by process {process.pid}; wait")
    assert second.stderr.count("\n") == 1


def test_a_failure_keeps_what_was_done(run_file: Path, posse: Posse, monkeypatch) -> None:
    """The third run fails; when the reason is gone, only that one is made."""
    (run_file.parent / "ill.py").write_text(
        "from pathlib import Path\nHERE = Path(__file__).parent\n"
        "class Arms:\n    def pull(self, arm, count):\n"
        "        if (HERE / 'ill').exists() and (HERE / 'out/kept/1.msgpack').exists():\n"
        "            raise OSError('ill')\n"
        "        return [float(arm == 0)] * count\n"
        "arms = Arms()\n"
    )
    (run_file.parent / "ill").touch()
    arms = 'arms={kind="python",target="ill:arms",count=3}'
    command = ["run", "ride.toml", "--repeat", "3", "--set", arms, "--out", "out", "--jobs", "1"]
    assert "2 of 3 runs are kept in out" in posse(*command, code=3).err
    (run_file.parent / "ill").unlink()
    said = posse(*command)
    assert "2 of 3 runs were kept" in said.out
    assert "ill" not in said.err
    assert not Path("out/failure.json").exists()


@pytest.mark.slow
def test_a_run_that_is_complete_is_not_made_again(
    run_file: Path, posse: Posse, monkeypatch
) -> None:
    command = ["run", "ride.toml", "--out", "out", "--json"]
    first = posse(*command).out
    monkeypatch.setattr("posse.api.make_runs", None)
    assert posse(*command).out == first


@pytest.mark.slow
def test_another_run_is_not_written_over(run_file: Path, posse: Posse) -> None:
    posse("run", "ride.toml", "--out", "out")
    before = Path("out/result.json").read_text()
    assert (
        "out holds another run, which differs in seed; name another"
        in posse("run", "ride.toml", "--out", "out", "--seed", "6", code=2).err
    )
    assert Path("out/result.json").read_text() == before


@pytest.mark.slow
def test_a_result_that_cannot_be_written_is_printed(
    run_file: Path, posse: Posse, full_disk: Any
) -> None:
    with full_disk():
        printed = posse("run", "ride.toml", "--out", "out", code=1)
    assert len(json.loads(printed.out)["runs"]) == 2
    assert "cannot be written to out (No space left on device); it is printed" in printed.err
    posse("run", "ride.toml", "--out", "out")


FIELD = """
system = "dp-mase"
mode = "field"
agents.count = 6
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 2 }
parameters.epsilon = 2.0
"""


@pytest.mark.slow
def test_a_finished_run_of_the_field_is_never_made_again(
    tmp_path: Path, monkeypatch, posse: Posse
) -> None:
    needs_noise()
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{arm},{1 - arm}\n" for arm in (0, 1) for _ in range(4_000))
    for rank in range(6):
        Path(f"rewards-{rank}.csv").write_text(f"arm,reward\n{rows}")
    Path("run.toml").write_text(FIELD)
    command = ["run", "run.toml", "--out", "out", "--json"]
    first = posse(*command).out
    assert posse(*command).out == first
    Path("rewards-0.csv").write_text(f"arm,reward\n{rows}{rows}")
    assert "in the field no reward is used twice" in posse(*command, code=2).err
