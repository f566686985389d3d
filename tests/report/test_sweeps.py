"""Sweeps as pages: points in the order of the sweep, drawn over the number that was swept."""

import csv
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from posse.cli.main import main
from posse.errors import InputError
from posse.report import read
from posse.report.differences import names
from tests.cli.conftest import run_file

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

__all__ = ["run_file"]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def swept(run_file: Path) -> Path:
    over = ["--over", "parameters.epsilon=0.5,10,1", "--over", "system=dp-mase,mase"]
    assert main(["sweep", str(run_file), *over, "--out", "swept", "--jobs", "1"]) == 0
    return Path("swept")


def test_points_are_read_in_their_order(swept: Path) -> None:
    at = [(series.at["parameters.epsilon"], series.spec.system) for series in read.find(swept)]
    assert at == [(e, system) for e in (0.5, 10, 1) for system in ("dp-mase", "mase")]
    (swept / "sweep.json").unlink()  # as a kill leaves it
    assert len(read.find(swept)) == 6
    (swept / "sweep.json").write_text('[{"at": 1}]')
    with pytest.raises(InputError, match="is not what posse sweep wrote"):
        read.find(swept)


def test_it_is_drawn_over_the_swept_number(swept: Path) -> None:
    """Also for a system that has no place for it: its runs are the same at every value."""
    assert main(["report", "swept"]) == 0
    drawn = rows(swept / "report-figures" / "rounds.csv")
    assert [(row["line"], float(row["parameters.epsilon"])) for row in drawn] == [
        (system, e) for system in ("dp-mase", "mase") for e in (0.5, 1, 10)
    ]
    assert len({row["mean"] for row in drawn if row["line"] == "mase"}) == 1
    first = read.find(swept)[0].values(lambda run: run.rounds)
    assert float(drawn[0]["mean"]) == pytest.approx(sum(first) / len(first))


@pytest.mark.slow
def test_of_two_numbers_that_with_more_values_is_the_axis(run_file: Path) -> None:
    over = ["--over", "agents.count=8,12", "--over", "parameters.epsilon=0.5,1,2"]
    assert main(["sweep", str(run_file), *over, "--out", "swept", "--jobs", "1"]) == 0
    assert main(["report", "swept"]) == 0
    drawn = rows(Path("swept/report-figures/rounds.csv"))
    assert list(dict.fromkeys(row["line"] for row in drawn)) == ["count = 8", "count = 12"]


def test_sweeps_are_compared(swept: Path, run_file: Path) -> None:
    over = ["--over", "parameters.epsilon=0.5,1", "--set", "parameters.delta=0.2"]
    assert main(["sweep", str(run_file), *over, "--out", "other", "--jobs", "1"]) == 0
    assert main(["compare", "swept", "other", "--out", "page/compare.html"]) == 0
    drawn = rows(Path("page/compare-figures/rounds.csv"))
    assert {row["line"] for row in drawn} == {
        "dp-mase, default delta",
        "mase",
        "dp-mase, delta = 0.2",
    }


def test_a_swept_table_is_told_by_its_keys(run_file: Path) -> None:
    over = ["--over", "agents.activity={kind='power',gamma=0.8},{kind='power',gamma=0.5}"]
    assert main(["sweep", str(run_file), *over, "--out", "swept", "--jobs", "1"]) == 0
    assert names(read.find(Path("swept"))) == ["gamma = 0.8", "gamma = 0.5"]


def test_a_line_is_called_by_nothing_that_its_system_lacks(run_file: Path) -> None:
    over = ["--over", "system=dp-mase,mase", "--over", "agents.count=8,12"]
    assert main(["sweep", str(run_file), *over, "--out", "swept", "--jobs", "1"]) == 0
    assert main(["report", "swept"]) == 0
    drawn = rows(Path("swept/report-figures/rounds.csv"))
    assert list(dict.fromkeys(row["line"] for row in drawn)) == ["dp-mase", "mase"]


def test_a_sweep_beside_runs_is_named_as_passed_over(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = ["--over", "parameters.epsilon=0.5,1", "--out", "all/swept", "--jobs", "1"]
    assert main(["sweep", str(run_file), *over]) == 0
    assert main(["run", str(run_file), "--out", "all/ride"]) == 0
    Path("all/notes").mkdir()
    capsys.readouterr()
    assert main(["report", "all"]) == 0
    assert "not in this page: swept; posse report draws each" in capsys.readouterr().err


def test_a_run_is_not_compared_with_itself(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(run_file), "--out", "ride"]) == 0
    assert main(["compare", "ride", "./ride"]) == 2
    assert "ride is named twice; name each run once" in capsys.readouterr().err


@pytest.mark.parametrize("fixed", [False, True])
def test_seeds_that_draw_other_arms_are_told(fixed: bool, run_file: Path) -> None:
    drawn = f"arms.means={{ random = 'uniform', count = 3{', seed = 4' * fixed} }}"
    alone = ["--set", "system=ucb1", "--set", "parameters={ horizon = 20 }", "--set", drawn]
    for seed in ("1", "2"):
        assert main(["run", str(run_file), *alone, "--seed", seed, "--out", seed]) == 0
    assert main(["compare", "1", "2"]) == 0
    assert ("different seeds had different arms" in Path("compare.html").read_text()) != fixed


class Blocks(HTMLParser):
    """The visible texts of a page, one for each paragraph, cell or caption."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts = [""]
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in ("head", "script", "svg", "thead", "nav")
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("head", "script", "svg", "thead", "nav")
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts[-1] += data


def test_no_sentence_of_a_page_stands_there_twice(swept: Path) -> None:
    (one, *_) = sorted(path for path in swept.iterdir() if path.is_dir())
    for folder in (swept, one):
        assert main(["report", str(folder)]) == 0
        texts = Blocks((folder / "report.html").read_text()).texts
        sentences = Counter(
            sentence
            for text in texts
            for sentence in re.split(r"(?<=[.;:])\s+", " ".join(text.split()))
            if len(sentence) > 70
        )
        assert len(sentences) > 5
        assert [sentence for sentence, count in sentences.items() if count > 1] == []


def test_curves_that_are_the_same_are_one_line(swept: Path) -> None:
    assert main(["report", "swept"]) == 0
    drawn = list(dict.fromkeys(row["series"] for row in rows(swept / "report-figures/regret.csv")))
    assert "mase, epsilon = 0.5, 10, 1" in drawn
    assert sum(name.startswith("mase") for name in drawn) == 1


@pytest.mark.slow
def test_with_a_network_time_is_shown_against_bytes(run_file: Path) -> None:
    over = ["--over", "network.delay=0.01,0.02", "--over", "parameters.epsilon=1,2"]
    assert main(["sweep", str(run_file), *over, "--out", "swept", "--jobs", "1"]) == 0
    assert main(["report", "swept"]) == 0
    drawn = rows(Path("swept/report-figures/time-bytes.csv"))
    times = {row["run"]: float(row["seconds"]) for row in drawn}
    for epsilon in ("1", "2"):
        near, far = (times[f"delay = {d}, epsilon = {epsilon}"] for d in ("0.01", "0.02"))
        assert far == pytest.approx(2 * near, rel=0.1)
    assert all(float(row["bytes"]) > 0 for row in drawn)
    assert main(["sweep", str(run_file), *over[2:], "--out", "other", "--jobs", "1"]) == 0
    assert main(["report", "other"]) == 0
    assert not Path("other/report-figures/time-bytes.csv").exists()  # that would be the machine's
