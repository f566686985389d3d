"""What a page of several series says first."""

from pathlib import Path

import pytest

from posse.plan import prepare
from posse.report.differences import together
from posse.report.headline import headline
from posse.report.read import Series
from posse.results.record import NetworkFacts, RunRecord


def series(
    *regrets: float,
    right: bool | None = None,
    seed: int = 1,
    horizon: int = 10,
    system: str = "ucb1",
) -> Series:
    arms = {"kind": "bernoulli", "means": [0.6, 0.4]}
    parameters = {"horizon": horizon} | ({"epsilon": 1.0} if system != "ucb1" else {})
    spec = {"system": system, "agents": {"count": 3}, "arms": arms, "parameters": parameters}
    runs = [
        RunRecord(run=n, seed=seed + n, regret=regret, right=right)
        for n, regret in enumerate(regrets)
    ]
    return Series(
        path=Path("x"), name="x", spec=prepare(spec).spec, system=None, text="", runs=runs,
        failure=None, network=NetworkFacts(), warnings=[],
    )  # fmt: skip


def test_it_says_who_is_better_by_how_much_how_surely_and_on_what() -> None:
    # differences 2, 2, 3, 4, 4: mean 3, deviation 1, half-width 2.776 / sqrt(5) = 1.24
    one = series(5, 6, 7, 8, 9, right=True)
    other = series(7, 8, 10, 12, 13, right=False)
    title, after = headline([other, one], ["b", "a"])
    assert title == "a has the least regret: 7.0 (5.3 to 9.3, n = 5)"
    assert after == (
        "The next is b: 10.0 (7.3 to 13.7, n = 5); they differ by 3 ± 1.24 (run by run), which is "
        "clear. Right: b in 0 of 5, a in 5 of 5. On 2 arms (bernoulli), with 3 agents."
    )


def test_what_may_be_chance_is_called_so() -> None:
    one, other = series(5, 6, 7, 8, 9), series(5, 6, 7, 8, 10, seed=2)
    assert "(of separate runs), which may be chance" in headline([one, other], ["a", "b"])[1]


def test_of_two_with_the_same_mean_none_is_called_better() -> None:
    two = [series(5, 6), series(6, 5)]
    title, after = headline(two, ["a", "b"])
    assert title == "a and b have the same regret: 5.5 (n = 2)"
    assert after == "On 2 arms (bernoulli), with 3 agents."
    title, after = headline([*two, series(8, 9), series(9, 8)], ["a", "b", "c", "d"])
    assert title == "a and b have the least regret: 5.5 (n = 2)"
    assert after.startswith("The next is c and d: 8.5 (n = 2); below 5 runs")


def test_below_five_runs_nothing_is_sure() -> None:
    _, after = headline([series(1, 2), series(8, 9)], ["a", "b"])
    assert "below 5 runs of each it is not known how surely they differ" in after


@pytest.mark.parametrize("many", [[], [series(1, 2)], [series(1), series()]])
def test_without_two_to_judge_there_is_none(many: list[Series]) -> None:
    assert headline(many, ["a", "b"][: len(many)]) == ("", "")


def test_over_a_horizon_it_says_how_the_sum_changes() -> None:
    title, after = headline([series(5, 6), series(7, 15, horizon=40)], ["a", "b"])
    assert title == "Regret goes from 5.5 (n = 2) at horizon = 10 to 11 (n = 2) at horizon = 40"
    assert after == "2 times as much at 4 times horizon. On 2 arms (bernoulli), with 3 agents."


def test_over_a_horizon_it_names_the_best_at_each_value() -> None:
    many = [
        series(*regrets, horizon=horizon, system=system)
        for system, horizon, regrets in (
            ("ucb1", 10, (5, 6, 7, 8, 9)),
            ("dp-ucb-int", 10, (25, 26, 27, 28, 29)),
            ("ucb1", 20, (50, 60, 70, 80, 90)),
            ("dp-ucb-int", 20, (51, 60, 70, 80, 99)),
        )
    ]
    title, after = headline(many, ["a", "b", "c", "d"])
    assert title == "ucb1 has the least regret at horizon = 10, 20"
    assert after.startswith("The difference to the next is clear at 1 of 2. ")
    many[3] = series(1, 2, 3, 4, 5, horizon=20, system="dp-ucb-int")
    title, _ = headline(many, ["a", "b", "c", "d"])
    assert title == "The least regret: ucb1 at horizon = 10; dp-ucb-int at horizon = 20"


def test_labels_that_differ_by_one_value_are_said_together() -> None:
    assert together(["x, p = 1", "x, p = 2"]) == "x, p = 1, 2"
    assert together(["a", "b"]) == "a and b"
    assert together(["a"]) == "a"
