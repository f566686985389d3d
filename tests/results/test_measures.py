"""Means over a series of runs."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

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


@given(st.lists(st.none() | st.floats(0.1, 99), min_size=1, max_size=9))
@example([3.0, None, 5.0])
@example([None, None])
def test_runs_without_the_value_do_not_count(regrets: list[float | None]) -> None:
    known = [regret for regret in regrets if regret is not None]
    told = result(*regrets).summary().get("regret")
    assert (told and (told["mean"], told["n"])) == (
        (pytest.approx(sum(known) / len(known)), len(known)) if known else None
    )


@given(st.integers(5, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@example((4, 5))
def test_the_share_of_right_runs_has_wilsons_interval(counts: tuple[int, int]) -> None:
    right, count = counts
    runs = result(*[1.0] * count)
    for n, run in enumerate(runs.runs):
        run.right = n < right
    told = runs.summary()["right"]
    assert (told["mean"], told["ci95"], told["median"]) == (right / count, None, None)
    wanted = binomtest(right, count).proportion_ci(method="wilson")
    assert (told["low"], told["high"]) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
