"""`posse.run`: a specification in, a result out."""

import logging

import pytest

import posse
from tests.support.cluster import SPEC
from tests.support.runs import assert_same_run


def test_run_takes_plain_data() -> None:
    result = posse.run({**SPEC, "repeat": 2, "engine": {"kind": "memory"}})
    assert [run.best_arm for run in result.runs] == [0, 0]
    assert result.runs[0].log != result.runs[1].log


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
