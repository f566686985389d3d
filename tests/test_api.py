"""`posse.run`: a specification in, a result out."""

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
