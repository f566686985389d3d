"""What a page of several series says first."""

from pathlib import Path

import pytest

from posse.plan import prepare
from posse.report.headline import headline
from posse.report.read import Series
from posse.results.record import NetworkFacts, RunRecord


def series(*regrets: float, right: bool | None = None, seed: int = 1, horizon: int = 10) -> Series:
    arms = {"kind": "bernoulli", "means": [0.6, 0.4]}
    parameters = {"horizon": horizon}
    spec = {"system": "ucb1", "agents": {"count": 3}, "arms": arms, "parameters": parameters}
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
    title, after = headline([series(5, 6), series(6, 5), series(8, 9)], ["a", "b", "c"])
    assert title == "a and b have the same regret: 5.5 (n = 2)"
    assert after == "On 2 arms (bernoulli), with 3 agents."


def test_below_five_runs_nothing_is_sure() -> None:
    _, after = headline([series(1, 2), series(8, 9)], ["a", "b"])
    assert "below 5 runs of each it is not known how surely they differ" in after


@pytest.mark.parametrize("many", [[], [series(1, 2)], [series(1), series()]])
def test_without_two_to_judge_there_is_none(many: list[Series]) -> None:
    assert headline(many, ["a", "b"][: len(many)]) == ("", "")


def test_sums_over_different_horizons_are_not_compared() -> None:
    assert headline([series(5, 6), series(7, 8, horizon=20)], ["a", "b"]) == ("", "")


def test_over_horizons_each_is_judged_by_itself() -> None:
    runs = [
        (series(5, 6, 7, 8, 9), "a, horizon = 10"),
        (series(7, 8, 10, 12, 13), "b, horizon = 10"),
        (series(10, 12, 14, 16, 18, horizon=20), "a, horizon = 20"),
        (series(14, 16, 20, 24, 26, horizon=20), "b, horizon = 20"),
    ]
    title, after = headline([one for one, _ in runs], [name for _, name in runs])
    assert title == "a has the least regret at each of 2 horizons"
    assert after.startswith("At horizon 20: 14.0 (")
    assert "; the next is b: 20 (" in after
    assert "they differ by 6 ± 2.48 (run by run), which is clear." in after
    other = [runs[0], runs[1], (runs[3][0], "a, horizon = 20"), (runs[2][0], "b, horizon = 20")]
    title, _ = headline([one for one, _ in other], [name for _, name in other])
    assert title == "The least regret by horizon: a at 10, b at 20"


def test_of_one_system_the_growth_over_horizons_is_said() -> None:
    many = [series(4, 4, 4, 4, 4), series(8, 8, 8, 8, 8, horizon=40)]
    title, after = headline(many, ["horizon = 10", "horizon = 40"])
    assert title == "Regret 4 at horizon 10, 8 at 40"
    assert after.startswith("From the first to the last it grows as T^0.50.")
