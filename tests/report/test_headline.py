"""What a page of several series says first."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from posse.plan import prepare
from posse.reading.folder import Series
from posse.report.differences import names
from posse.report.headline import several
from posse.results.record import NetworkFacts, RunRecord
from tests.support.conversations import examples


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


@pytest.mark.parametrize("many", [[], [series(1), series()]])
def test_without_two_to_judge_there_are_no_ranks(many: list[Series]) -> None:
    assert several(many, ["a", "b"][: len(many)]).ranks == []


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


@examples(Path(__file__).with_name("headline.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
