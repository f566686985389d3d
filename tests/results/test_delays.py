"""Delays over all runs, and how few messages a quantile may rest on."""

import math

from hypothesis import given
from hypothesis import strategies as st

from posse.results.delays import delays
from posse.results.record import Delay, RunRecord


def run(*counts: tuple[float, int]) -> RunRecord:
    return RunRecord(run=0, seed=0, delay=Delay(histogram=list(counts)))


histograms = st.lists(
    st.lists(st.tuples(st.sampled_from([0.001, 0.002, 0.03, 0.5]), st.integers(1, 60)), max_size=4),
    max_size=3,
)


@given(histograms)
def test_quantiles_are_of_the_messages_of_all_runs_and_rest_on_one_at_least(
    counted: list[list[tuple[float, int]]],
) -> None:
    within = delays([*(run(*counts) for counts in counted), RunRecord(run=9, seed=0)]).within()
    every = sorted(s for counts in counted for s, count in counts for _ in range(count))
    shares = {"half within": 0.5, "90 % within": 0.9, "99 % within": 0.99, "slowest": 1.0}
    names = [name for name, q in shares.items() if every and len(every) * (1 - q) >= 1 - 1e-9]
    assert [name for name, _ in within] == [*names, "slowest"] * bool(every)
    for name, seconds in within:
        needed = math.ceil(shares[name] * len(every) - 1e-9)
        assert seconds == every[needed - 1]
