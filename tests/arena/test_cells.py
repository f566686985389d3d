"""Who is run on what: budgets are kept by claims, and who is left out is told why."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from posse.experiments import prepare
from posse_arena.cells import Cell, Setting, cells, run_file, settings
from posse_arena.entrants import ENTRANTS
from posse_arena.problems import PROBLEMS, TASKS, TUNING, Size
from tests.support.conversations import examples

BY_NAME = {entrant.name: entrant for entrant in ENTRANTS}
SMALL = Size(8, 100, 5, 3)


def cell(name, budget=None, network="regular", adversary="none", problem="uniform", links="near"):
    task = BY_NAME[name].tasks[0]
    setting = Setting(task, PROBLEMS[problem], BY_NAME[name].place or network, adversary, links)
    return Cell(entrant=BY_NAME[name], setting=setting, budget=budget)


def plan(asked):
    return prepare(run_file(asked, SMALL, 0))


def found(name):
    """The settings of an entrant."""
    every = settings(BY_NAME[name], "light", ["regret"])
    return [one for one in every if isinstance(one, Setting)]


def test_a_cell_that_is_refused_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setitem(TASKS, "players", replace(TASKS["players"], light=SMALL))
    taken, out = cells([BY_NAME["tdfs-ucb"]], "light", ["players"])
    assert [one.setting.links for one in taken] == ["near", "continents", "lossy"]
    assert {one.where for one in out} == {
        f"players, players, {adversary}" for adversary in ("liars", "corruption", "equivocators")
    }


def test_tuning_takes_instances_that_are_not_scored():
    for task, problem in TUNING.items():
        assert task in problem.tasks
        assert problem.name not in PROBLEMS or TASKS[task].full.scored < 1_000


@examples(Path(__file__).with_name("cells.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
