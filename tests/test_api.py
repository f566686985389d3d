"""`posse.run`: a specification in, a result out."""

import errno
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import posse
from posse.errors import InputError
from posse.reading.folder import find
from tests.support.cluster import SPEC
from tests.support.runs import assert_same_run, printed


def test_several_processes_share_the_repeats_and_change_nothing() -> None:
    spec = {**SPEC, "repeat": 3, "engine": {"kind": "memory"}}
    seen: list[int] = []
    shared = posse.run(spec, jobs=2, on_record=lambda record: seen.append(record.run))
    alone = posse.run(spec)
    assert sorted(seen) == [0, 1, 2]
    for one, other in zip(shared.runs, alone.runs, strict=True):
        assert_same_run(one, other)


@pytest.mark.parametrize("sd", [0.5, 0.6])
def test_what_is_warned_of_is_said_before_the_first_run(
    sd: float, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[list[str]] = []
    arms = {"kind": "gaussian", "means": [2.0, 0.0], "sd": sd}
    spec = {**SPEC, "repeat": 2, "arms": arms, "engine": {"kind": "memory"}}
    with caplog.at_level(logging.WARNING, "posse"):
        result = posse.run(spec, on_record=lambda record: seen.append(caplog.messages[:]))
    assert seen == [result.warnings, result.warnings]
    assert len(result.warnings) == (sd > 0.5)


def test_a_result_is_written_as_by_posse_run_and_read_back(tmp_path: Path) -> None:
    spec = {**SPEC, "repeat": 2, "engine": {"kind": "memory"}}
    result = posse.run(spec, out=tmp_path / "out")
    (series,) = find(tmp_path / "out")
    assert series.failure is None
    assert [run.document() for run in series.runs] == [run.document() for run in result.runs]
    assert json.loads((tmp_path / "out/result.json").read_text()) == json.loads(
        json.dumps(result.document())
    )
    with pytest.raises(posse.PosseError, match="holds another run, which differs in seed"):
        posse.run(spec, seed=9, out=tmp_path / "out")


def test_runs_that_a_folder_has_are_not_made_again(tmp_path: Path) -> None:
    spec = {**SPEC, "repeat": 2, "engine": {"kind": "memory"}}

    def stop(record: posse.RunRecord) -> None:
        raise posse.RunFailed("enough")

    with pytest.raises(posse.RunFailed, match="enough"):
        posse.run(spec, out=tmp_path, on_record=stop)
    (series,) = find(tmp_path)
    assert (series.failure, [run.run for run in series.runs]) == ("enough", [0])
    result = posse.run(spec, out=tmp_path)
    assert result.runs[0].elapsed_seconds == series.runs[0].elapsed_seconds
    assert_same_run(result.runs[1], posse.run(spec).runs[1])
    assert find(tmp_path)[0].failure is None


def test_a_full_disk_does_not_hide_why_a_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(record: posse.RunRecord) -> None:
        monkeypatch.setattr("posse.gates.files.os.replace", full)
        raise posse.RunFailed("stopped by its caller")

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with pytest.raises(posse.RunFailed, match="stopped by its caller"):
        posse.run(SPEC | {"engine": {"kind": "memory"}}, out=tmp_path, on_record=stop)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({"jobs": jobs}, "a whole number, 1 or more") for jobs in (0, -1, None, True, 1.5, "2")),
        ({"on": 7}, "'dask://HOST:PORT' or a DaskPlacement"),
    ],
)
def test_what_no_run_can_be_given_is_named(given: dict[str, Any], said: str) -> None:
    ((name, value),) = given.items()
    with pytest.raises(InputError, match=re.escape(f"{name} = {value!r}: must be {said}")):
        posse.run(SPEC, **given)


_OF_MAIN = """
import posse
class Probe:
    def __init__(self, agent, agents, seed): pass
    def pull(self, arm, count): return [(.8, .4)[arm]] * count
arms = {"kind": "python", "target": "__main__:Probe", "count": 2}
spec = {"system": "ucb1", "agents": {"count": 2}, "arms": arms, "parameters": {"horizon": 9}}
if __name__ == "__main__":
    for engine, jobs in (("memory", 1), ("memory", 2), ("processes", 1)):
        try:
            print(posse.run(spec, engine=engine, jobs=jobs, repeat=2).runs[1].best_arm)
        except posse.SpecError as error:
            print(error)
"""
_REFUSED = (
    "arms.target: names code of __main__, this script or notebook, which other processes cannot "
    "import; put it into a file of its own beside it, as 'module:object', or use "
)


@pytest.mark.slow
def test_code_of_a_script_itself_works_where_processes_can_import_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_OF_MAIN)
    said = printed([sys.executable, str(script)])
    assert said.splitlines() == ["0", "0", f"{_REFUSED}engine.kind = 'memory'"]


def test_code_of_a_notebook_is_refused_before_a_process_starts() -> None:
    assert printed([sys.executable, "-c", _OF_MAIN]).splitlines() == [
        "0",
        f"{_REFUSED}jobs = 1 on this machine",
        f"{_REFUSED}engine.kind = 'memory'",
    ]
