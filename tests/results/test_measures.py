"""Means over a series of runs."""

import json

import pytest

from posse.results.record import RunRecord
from posse.results.result import Result


def result(*regrets: float | None) -> Result:
    runs = [RunRecord(run=n, seed=0, regret=regret) for n, regret in enumerate(regrets)]
    return Result(
        system="mase", variant="corrected", engine="memory", seed=0, runs=runs, specification={}
    )


def test_a_summary_is_json() -> None:
    whole = result(3.0, 3.0, 5.0, 7.0, 7.0)
    assert json.loads(json.dumps(whole.summary())) == whole.document()["summary"]


def test_runs_without_the_value_do_not_count() -> None:
    mean = result(3.0, None, 5.0).summary()["regret"]
    assert (mean["mean"], mean["n"]) == (4.0, 2)
    assert "regret" not in result(None, None).summary()


def test_the_share_of_right_runs_has_wilsons_interval() -> None:
    runs = result(*[1.0] * 5)
    for n, run in enumerate(runs.runs):
        run.right = n > 0
    right = runs.summary()["right"]
    assert (right["mean"], right["ci95"], right["median"]) == (0.8, None, None)
    assert (right["low"], right["high"]) == pytest.approx((0.3755, 0.9638), abs=1e-4)
