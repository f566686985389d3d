"""Sweeps as pages: points in the order of the sweep, drawn over the number that was swept."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from posse.cli.main import main
from posse.errors import InputError
from posse.reading import folder as folders
from posse.report.differences import names
from tests.cli.conftest import run_file

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

__all__ = ["run_file"]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


Sweep = Callable[..., list[dict[str, str]]]


@pytest.fixture
def sweep(run_file: Path) -> Sweep:
    """Sweeps the run file, and reports it; the rows of one of its figures."""

    def draw(*over: str, out: str = "swept", figure: str = "rounds") -> list[dict[str, str]]:
        words = [word for one in over for word in ("--over", one)]
        assert main(["sweep", str(run_file), *words, "--out", out, "--jobs", "1"]) == 0
        assert main(["report", out]) == 0
        return rows(Path(out, "report-figures", f"{figure}.csv"))

    return draw


TWO = ("parameters.epsilon=0.5,10,1", "system=dp-mase,mase")


def test_points_are_read_in_their_order(sweep: Sweep) -> None:
    sweep(*TWO)
    swept = Path("swept")
    at = [(series.at["parameters.epsilon"], series.spec.system) for series in folders.find(swept)]
    assert at == [(e, system) for e in (0.5, 10, 1) for system in ("dp-mase", "mase")]
    (swept / "sweep.json").unlink()  # as a kill leaves it
    assert len(folders.find(swept)) == 6
    (swept / "sweep.json").write_text('[{"at": 1}]')
    with pytest.raises(InputError, match="is not what posse run --over wrote"):
        folders.find(swept)


def test_it_is_drawn_over_the_swept_number(sweep: Sweep) -> None:
    """Also for a system that has no place for it: its runs are the same at every value."""
    drawn = sweep(*TWO)
    assert [(row["line"], float(row["parameters.epsilon"])) for row in drawn] == [
        (system, e) for system in ("dp-mase", "mase") for e in (0.5, 1, 10)
    ]
    assert len({row["mean"] for row in drawn if row["line"] == "mase"}) == 1
    first = folders.find(Path("swept"))[0].values(lambda run: run.rounds)
    assert float(drawn[0]["mean"]) == pytest.approx(sum(first) / len(first))
    curves = {row["series"] for row in rows(Path("swept/report-figures/regret.csv"))}
    assert {name for name in curves if name.startswith("mase")} == {"mase, epsilon = 0.5, 10, 1"}


@pytest.mark.slow
def test_of_two_numbers_that_with_more_values_is_the_axis(sweep: Sweep) -> None:
    drawn = sweep("agents.count=8,12", "parameters.epsilon=0.5,1,2")
    assert list(dict.fromkeys(row["line"] for row in drawn)) == ["count = 8", "count = 12"]


def test_sweeps_are_compared(sweep: Sweep) -> None:
    sweep(*TWO)
    sweep("parameters.epsilon=0.5,1", "parameters.delta=0.2", out="other")
    assert main(["compare", "swept", "other", "--out", "page/compare.html"]) == 0
    lines = {row["line"] for row in rows(Path("page/compare-figures/rounds.csv"))}
    assert lines == {"dp-mase, default delta", "mase", "dp-mase, delta = 0.2"}


def test_a_swept_table_is_told_by_its_keys(sweep: Sweep) -> None:
    sweep("agents.activity={kind='power',gamma=0.8},{kind='power',gamma=0.5}")
    assert names(folders.find(Path("swept"))) == ["gamma = 0.8", "gamma = 0.5"]


@pytest.mark.slow
def test_a_sweep_beside_runs_is_named_as_passed_over(
    sweep: Sweep, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("parameters.epsilon=0.5,1", out="all/swept")
    assert main(["run", str(run_file), "--out", "all/ride"]) == 0
    Path("all/notes").mkdir()
    capsys.readouterr()
    assert main(["report", "all"]) == 0
    assert "not in this page: swept; posse report draws each" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [False, True])
def test_seeds_that_draw_other_arms_are_told(fixed: bool, run_file: Path) -> None:
    drawn = f"arms.means={{ random = 'uniform', count = 3{', seed = 4' * fixed} }}"
    alone = ["--set", "system=ucb1", "--set", "parameters={ horizon = 20 }", "--set", drawn]
    for seed in ("1", "2"):
        assert main(["run", str(run_file), *alone, "--seed", seed, "--out", seed]) == 0
    assert main(["compare", "1", "2"]) == 0
    assert ("different seeds had different arms" in Path("compare.html").read_text()) != fixed


@pytest.mark.slow
def test_with_a_network_time_is_shown_against_bytes(sweep: Sweep) -> None:
    epsilons = "parameters.epsilon=1,2"
    drawn = sweep("network.delay=0.01,0.02", epsilons, figure="time-bytes")
    times = {row["run"]: float(row["seconds"]) for row in drawn}
    for epsilon in ("1", "2"):
        near, far = (times[f"delay = {d}, epsilon = {epsilon}"] for d in ("0.01", "0.02"))
        assert far == pytest.approx(2 * near, rel=0.1)
    assert all(float(row["bytes"]) > 0 for row in drawn)
    sweep(epsilons, out="other")
    assert not Path("other/report-figures/time-bytes.csv").exists()  # that would be the machine's
