"""The system finds the best arm, with the same runs in memory and across processes."""

from pathlib import Path

import pytest

import posse

RUN = Path(__file__).with_name("run.toml")


@pytest.fixture(scope="module")
def memory() -> posse.Result:
    return posse.run(RUN, engine="memory")


def test_it_finds_the_best_arm(memory: posse.Result) -> None:
    assert [run.best_arm for run in memory.runs] == [0] * 5


def test_processes_give_the_same_runs(memory: posse.Result) -> None:
    processes = posse.run(RUN, engine="processes")
    for first, second in zip(memory.runs, processes.runs, strict=True):
        assert (first.best_arm, first.pulls, first.regret_curve) == (
            second.best_arm,
            second.pulls,
            second.regret_curve,
        )
        assert first.communication.data == second.communication.data
