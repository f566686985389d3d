"""What a run leaves behind: it can be run again, goes on, and says whether it is whole."""

import csv
import json
from pathlib import Path

import pytest

from posse import api
from posse.durable.batch import carry_out
from posse.durable.directory import RunDirectory, fresh
from posse.errors import InputError
from posse.plan import changed, prepare
from posse.results.record import RunRecord
from posse.spec.runfile import read
from posse.testing.small import SMALL
from tests.support.cluster import SPEC

RAW = {**SPEC, "repeat": 2, "engine": {"kind": "memory"}}
PLAN = prepare(RAW)


def test_the_specification_runs_again_alike(tmp_path: Path) -> None:
    RunDirectory(tmp_path, PLAN).open()
    again = prepare(read(tmp_path / "spec.toml"))
    assert again.spec.parameters == PLAN.spec.parameters
    assert api.run(again).runs[0].log == api.run(PLAN).runs[0].log


def test_a_complete_series_has_its_result_and_tables_of_all_runs(tmp_path: Path) -> None:
    result = api.run(PLAN)
    RunDirectory(tmp_path, PLAN).open().complete(result)
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(
        json.dumps(result.document())
    )
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["0", "1"]
    assert [float(row["regret"]) for row in rows] == [run.regret for run in result.runs]


@pytest.mark.parametrize("system", list(SMALL))
def test_a_run_read_back_is_the_run(system: str) -> None:
    plan = prepare({**SMALL[system], "system": system, "engine": {"kind": "memory"}})
    (run,) = api.run(plan).runs
    again = RunRecord.decoded(run.encoded(), plan.system.results.detail)
    assert json.dumps(again.document()) == json.dumps(run.document())
    assert type(again.detail) is type(run.detail)
    assert (again.links, again.ledgers) == (run.links, run.ledgers)


def test_a_series_that_ended_early_says_why(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path, PLAN).open()
    said = "agent 0 told others different things"
    directory.fail(said, api.run(PLAN).runs[:1], ["00ff and ff00"])
    assert not (tmp_path / "result.json").exists()
    failure = json.loads((tmp_path / "failure.json").read_text())
    assert failure == {"error": said, "notes": "00ff and ff00"}
    with (tmp_path / "runs.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 1


def test_an_earlier_result_stands_until_the_new_one_is_there(tmp_path: Path) -> None:
    result = api.run(PLAN)
    RunDirectory(tmp_path, PLAN).open().complete(result)
    before = (tmp_path / "result.json").read_text()
    directory = RunDirectory(tmp_path, PLAN).open()
    directory.fail("interrupted", [])
    assert (tmp_path / "result.json").read_text() == before
    directory.complete(result)
    assert not (tmp_path / "failure.json").exists()


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("seed", changed(PLAN, {"seed": 99})),
        ("parameters.delta", changed(PLAN, {}, {"delta": 0.25})),
        ("engine.kind", changed(PLAN, {"engine.kind": "processes"})),
        ("repeat", changed(PLAN, {"repeat": 1})),
        ("the run file's folder", prepare({**RAW, "base": "/elsewhere"})),
    ],
)
def test_another_run_is_refused(tmp_path: Path, key: str, other) -> None:
    RunDirectory(tmp_path, PLAN).open()
    there = (tmp_path / "spec.toml").read_text()
    with pytest.raises(
        InputError, match=f"holds another run, which differs in {key}; name another"
    ):
        RunDirectory(tmp_path, other).open()
    assert (tmp_path / "spec.toml").read_text() == there


def test_more_runs_and_more_patience_are_the_same_run(tmp_path: Path) -> None:
    def missing(plan) -> list[int]:
        left: list[int] = []
        directory = RunDirectory(tmp_path, plan).open()

        def work(numbers):
            left.extend(numbers)
            return api.make_runs(plan, numbers)

        list(carry_out(directory.pieces(), work))
        return left

    assert missing(PLAN) == [0, 1]
    patient = {**SPEC, "repeat": 4, "engine": {"kind": "memory", "deadline": 5.0}}
    assert missing(prepare(patient)) == [2, 3]
    assert missing(prepare(patient)) == []


def test_a_folder_that_is_full_is_found_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("posse.gates.files.os.fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        RunDirectory(tmp_path, PLAN).open()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["not = toml = at all", "deep = " + "[" * 5000])
def test_what_posse_did_not_write_is_no_run_to_go_on_with(text: str, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(text)
    with pytest.raises(InputError, match="is not what posse run wrote"):
        RunDirectory(tmp_path, PLAN).open()


def test_two_fresh_directories_of_one_second_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {fresh("ride") for _ in range(3)}
    assert len(paths) == 3
    assert all(path.parent == Path("runs") and path.name.startswith("ride-") for path in paths)
