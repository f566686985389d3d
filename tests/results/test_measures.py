"""Means over a series of runs."""

import math

import pytest

from posse.results.record import RunRecord
from posse.results.result import Result


def result(*regrets: float | None) -> Result:
    runs = [RunRecord(run=n, seed=0, regret=regret) for n, regret in enumerate(regrets)]
    return Result(
        system="mase", variant="corrected", engine="memory", seed=0, runs=runs, specification={}
    )


def test_a_mean_and_half_its_interval_by_hand() -> None:
    # deviation 2 of three values, Student's 4.303 at two degrees of freedom
    mean = result(3.0, 5.0, 7.0).summary()["regret"]
    assert (mean.mean, mean.n) == (5.0, 3)
    assert mean.ci95 == pytest.approx(4.303 * 2 / math.sqrt(3), rel=1e-3)


def test_runs_without_the_value_do_not_count() -> None:
    mean = result(3.0, None, 5.0).summary()["regret"]
    assert (mean.mean, mean.n) == (4.0, 2)
    assert "regret" not in result(None, None).summary()


def test_one_run_has_no_interval() -> None:
    assert result(3.0).summary()["regret"].ci95 is None
    assert result(3.0).document()["summary"]["regret"] == {"mean": 3.0, "ci95": None, "n": 1}
