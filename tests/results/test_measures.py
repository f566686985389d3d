"""Means over a series of runs."""

import json
import math

import pytest

from posse.results.record import RunRecord
from posse.results.result import Result


def result(*regrets: float | None) -> Result:
    runs = [RunRecord(run=n, seed=0, regret=regret) for n, regret in enumerate(regrets)]
    return Result(
        system="mase", variant="corrected", engine="memory", seed=0, runs=runs, specification={}
    )


def test_a_mean_and_its_interval_by_hand() -> None:
    # deviation 2 about 5, so the standard error is 2 / sqrt(5); Student's 2.776 at 4 degrees
    mean = result(3.0, 3.0, 5.0, 7.0, 7.0).summary()["regret"]
    assert (mean["mean"], mean["median"], mean["n"]) == (5.0, 5.0, 5)
    half = 2.776 * 2 / math.sqrt(5)
    assert mean["ci95"] == pytest.approx(half)
    assert (mean["low"], mean["high"]) == pytest.approx(
        (5 / math.exp(half / 5), 5 * math.exp(half / 5))
    )


def test_a_summary_is_json() -> None:
    whole = result(3.0, 3.0, 5.0, 7.0, 7.0)
    assert json.loads(json.dumps(whole.summary())) == whole.document()["summary"]


def test_runs_without_the_value_do_not_count() -> None:
    mean = result(3.0, None, 5.0).summary()["regret"]
    assert (mean["mean"], mean["n"]) == (4.0, 2)
    assert "regret" not in result(None, None).summary()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_below_five_runs_there_is_no_interval(count: int) -> None:
    assert result(*[3.0] * count).document()["summary"]["regret"] == {
        "mean": 3.0, "ci95": None, "n": count, "median": 3.0, "low": None, "high": None,
    }  # fmt: skip


def test_the_share_of_right_runs_has_wilsons_interval() -> None:
    runs = result(*[1.0] * 5)
    for n, run in enumerate(runs.runs):
        run.right = n > 0
    right = runs.summary()["right"]
    assert (right["mean"], right["ci95"], right["median"]) == (0.8, None, None)
    assert (right["low"], right["high"]) == pytest.approx((0.3755, 0.9638), abs=1e-4)
