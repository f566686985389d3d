"""Delays over all runs, and how few messages a quantile may rest on."""

from posse.results.delays import delays
from posse.results.record import Delay, RunRecord


def run(*counts: tuple[float, int]) -> RunRecord:
    return RunRecord(run=0, seed=0, delay=Delay(histogram=list(counts)))


def test_quantiles_are_of_all_runs() -> None:
    timed = delays([run((0.001, 90)), run((0.002, 9), (0.5, 1)), RunRecord(run=2, seed=0)])
    assert timed.counts.total() == 100
    assert timed.within() == [
        ("half within", 0.001), ("90 % within", 0.001), ("99 % within", 0.002), ("slowest", 0.5),
    ]  # fmt: skip


def test_few_messages_have_few_quantiles() -> None:
    names = [[name for name, _ in delays([run((0.1, n))]).within()] for n in (1, 2, 10, 99, 100)]
    assert list(map(len, names)) == [1, 2, 3, 3, 4]
    assert names[0] == ["slowest"]
    assert delays([]).within() == []
