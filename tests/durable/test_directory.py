"""What a run leaves behind: it can be run again, goes on, and says whether it is whole."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from posse import api
from posse.durable.batch import carry_out
from posse.durable.directory import RunDirectory
from posse.errors import InputError
from posse.plan import changed, prepare
from posse.results.record import RunRecord
from posse.testing.small import SMALL
from tests.support.cluster import SPEC
from tests.support.conversations import examples

RAW = {**SPEC, "repeat": 2, "engine": {"kind": "memory"}}
PLAN = prepare(RAW)


@pytest.mark.parametrize("system", list(SMALL))
def test_a_run_read_back_is_the_run(system: str) -> None:
    plan = prepare({**SMALL[system], "system": system, "engine": {"kind": "memory"}})
    (run,) = api.run(plan).runs
    again = RunRecord.decoded(run.encoded(), plan.system.results.detail)
    assert json.dumps(again.document()) == json.dumps(run.document())
    assert type(again.detail) is type(run.detail)
    assert (again.links, again.ledgers) == (run.links, run.ledgers)


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


@examples(Path(__file__).with_name("directory.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
