"""What a run leaves behind: it can be run again, and says whether it is whole."""

import csv
import json
from pathlib import Path

import pytest

from posse import api
from posse.durable.directory import RunDirectory
from posse.plan import prepare
from posse.spec.runfile import read
from tests.support.cluster import SPEC

PLAN = prepare({**SPEC, "repeat": 2, "engine": {"kind": "memory"}})


def test_the_specification_has_every_default_and_runs_again_alike(tmp_path: Path) -> None:
    RunDirectory(tmp_path, PLAN)
    again = prepare(read(tmp_path / "spec.toml"))
    assert again.spec.parameters == PLAN.spec.parameters
    assert api.run(again).runs[0].log == api.run(PLAN).runs[0].log


def test_a_complete_series_has_its_result_and_tables_of_all_runs(tmp_path: Path) -> None:
    result = api.run(PLAN)
    RunDirectory(tmp_path, PLAN).complete(result)
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(
        json.dumps(result.document())
    )
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["0", "1"]
    assert [float(row["regret"]) for row in rows] == [run.regret for run in result.runs]


def test_a_series_that_ended_early_says_why_and_keeps_its_runs(tmp_path: Path) -> None:
    result = api.run(PLAN)
    RunDirectory(tmp_path, PLAN).fail("agent 3 was lost", result.runs[:1])
    assert not (tmp_path / "result.json").exists()
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert failure["error"] == "agent 3 was lost"
    assert [run["run"] for run in failure["runs"]] == [0]


def test_what_an_older_series_left_does_not_stand_for_the_new_one(tmp_path: Path) -> None:
    RunDirectory(tmp_path, PLAN).complete(api.run(PLAN))
    RunDirectory(tmp_path, PLAN).fail("interrupted", [])
    assert not (tmp_path / "result.json").exists()
    RunDirectory(tmp_path, PLAN)
    assert not (tmp_path / "failure.json").exists()


def test_two_fresh_directories_of_one_second_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {RunDirectory.fresh("ride", PLAN).path for _ in range(3)}
    assert len(paths) == 3
    assert all(path.parent == Path("runs") and path.name.startswith("ride-") for path in paths)
