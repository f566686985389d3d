"""What a page of several series says first."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from posse.plan import prepare
from posse.reading.folder import Series
from posse.report.differences import names, together
from posse.report.headline import several
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


def said(many: list[Series], *names: str) -> tuple[str, str]:
    told = several(many, names or tuple("abcd"[: len(many)]))
    return told.verdict.sentence, told.judged


def test_it_says_who_is_better_by_how_much_how_surely_and_on_what() -> None:
    # differences 2, 2, 3, 4, 4: mean 3, deviation 1, half-width 2.776 / sqrt(5) = 1.24
    one = series(5, 6, 7, 8, 9, right=True)
    other = series(7, 8, 10, 12, 13, right=False)
    title, after = said([other, one], "b", "a")
    assert title == "a has the least regret: 7.0 (5.3 to 9.3, n = 5)"
    assert after == (
        "The next is b: 10.0 (7.3 to 13.7, n = 5); they differ by 3 ± 1.24 (run by run), which is "
        "clear. On 2 arms (bernoulli), with 3 agents."
    )
    told = several([other, one], ["b", "a"])
    assert [(r.order, r.level, r.winner) for r in told.ranks] == [([1, 0], {1}, 1)]
    assert told.verdict.clear
    assert (told.verdict.cost, told.verdict.epsilon) == (
        one.verdict.cost, "nothing is protected"
    )  # fmt: skip


def test_nobody_is_best_whose_lead_may_be_chance() -> None:
    one, other = series(5, 6, 7, 8, 9), series(5, 6, 7, 8, 10, seed=2)
    title, after = said([one, other])
    assert title == "No clear difference in regret between a and b"
    assert after.startswith("Least on average is a with 7.0 (5.3 to 9.3, n = 5); they differ by ")
    assert "(of separate runs), which may be chance" in after
    told = several([one, other], ["a", "b"]).verdict
    assert (told.clear, told.cost, told.epsilon) == (False, "", "")


def test_each_of_several_differences_is_held_to_more() -> None:
    """Differences 0, 0, 1, 2, 2: mean 1, standard error .447; t is 2.78 for one and 3.50 for two.

    So a difference of 1.4 is clear alone (1.24) and not as one of two (1.56).
    """
    one = series(5, 6, 7, 8, 9)
    near = series(5.4, 6.4, 8.4, 10.4, 11.4)
    far = series(90, 91, 92, 93, 94)
    assert said([one, near])[0].startswith("a has the least regret")
    title, after = said([one, near, far])
    assert title == "No clear difference in regret between a and b"
    assert "they differ by 1.4 ± 1.56 (run by run, one of 2 differences)" in after
    assert several([one, near, far], list("abc")).ranks[0].level == {0, 1}


def test_of_two_with_the_same_mean_none_is_called_better() -> None:
    two = [series(5, 6), series(6, 5)]
    title, after = said(two)
    assert title == "No difference in regret between a and b: 5.5 (n = 2) each"
    assert after == "On 2 arms (bernoulli), with 3 agents."


def test_below_five_runs_nothing_is_sure() -> None:
    title, after = said([series(1, 2), series(8, 9)])
    assert title == "No clear difference in regret between a and b: fewer than 5 runs of each"
    assert "below 5 runs of each nothing is sure" in after


def test_what_did_not_finish_comes_first() -> None:
    done = series(1, 2)
    broken = replace(series(8), failure="agent 3 fell silent")
    told = several([done, broken], ["a", "b"]).verdict
    assert told.state == "partial"
    assert told.sentence.startswith("1 of 2 series did not finish (b). Until then: No clear")


@pytest.mark.parametrize("many", [[], [series(1), series()]])
def test_without_two_to_judge_there_are_no_ranks(many: list[Series]) -> None:
    assert several(many, ["a", "b"][: len(many)]).ranks == []


def test_over_a_horizon_it_says_how_the_sum_changes() -> None:
    title, after = said([series(5, 6), series(7, 15, horizon=40)])
    assert title == "Regret goes from 5.5 (n = 2) at horizon = 10 to 11 (n = 2) at horizon = 40"
    assert after == "2 times as much at 4 times horizon. On 2 arms (bernoulli), with 3 agents."


def test_over_a_horizon_it_names_the_clearly_best_at_each_value() -> None:
    many = [
        series(*regrets, horizon=horizon, system=system)
        for system, horizon, regrets in (
            ("ucb1", 10, (5, 6, 7, 8, 9)),
            ("dp-ucb-int", 10, (25, 26, 27, 28, 29)),
            ("ucb1", 20, (50, 60, 70, 80, 90)),
            ("dp-ucb-int", 20, (51, 60, 70, 80, 99)),
        )
    ]
    title, _ = said(many)
    assert title == (
        "No clear difference in regret at horizon = 20; ucb1 has the least regret at horizon = 10"
    )
    assert several(many, list("abcd")).verdict.cost == ""
    many[3] = series(1, 2, 3, 4, 5, horizon=20, system="dp-ucb-int")
    title, _ = said(many)
    assert title == (
        "ucb1 has the least regret at horizon = 10; dp-ucb-int has the least regret at horizon = 20"
    )
    many[1] = series(5, 6, 7, 8, 9, horizon=10, system="dp-ucb-int")
    many[3] = many[2]
    assert said(many)[0] == "No clear difference in regret at horizon = 10, 20"


def test_a_system_of_a_module_is_called_by_its_name_where_that_suffices() -> None:
    one = series(1.0)

    def called(*systems: str) -> list[str]:
        specs = [msgspec.structs.replace(one.spec, system=system) for system in systems]
        return names([replace(one, spec=spec) for spec in specs])

    assert called("mine:FIRST", "mine:SECOND", "ucb1") == ["FIRST", "SECOND", "ucb1"]
    same = ["mine:FIRST", "yours:FIRST", "ucb1"]
    assert called(*same) == same


def test_labels_that_differ_by_one_value_are_said_together() -> None:
    assert together(["x, p = 1", "x, p = 2"]) == "x, p = 1, 2"
    assert together(["a", "b"]) == "a and b"
    assert together(["a"]) == "a"
