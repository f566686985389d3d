"""Who is run on what: budgets are kept by claims, and who is left out is told why."""

from dataclasses import replace

import pytest

from posse import SpecError
from posse.experiments import prepare
from posse_arena.cells import Cell, LeftOut, Setting, cells, reader_epsilon, run_file, settings
from posse_arena.entrants import ENTRANTS, ONLY_FULL, entered, ours
from posse_arena.problems import NETWORKS, PROBLEMS, TASKS, TUNING, Size

BY_NAME = {entrant.name: entrant for entrant in ENTRANTS}
SMALL = Size(8, 100, 5, 3)


def cell(name, budget=None, network="regular", adversary="none", problem="uniform", links="near"):
    task = BY_NAME[name].tasks[0]
    setting = Setting(task, PROBLEMS[problem], BY_NAME[name].place or network, adversary, links)
    return Cell(entrant=BY_NAME[name], setting=setting, budget=budget)


def plan(asked):
    return prepare(run_file(asked, SMALL, 0))


@pytest.mark.parametrize(
    ("name", "parameter"), [("cdp-mab", 1.0), ("adap-ucb", 1.0), ("robust-private-ucb", 1.0)]
)
def test_who_claims_the_epsilon_of_its_parameter_is_given_the_budget(name, parameter):
    assert plan(cell(name, 1.0)).parameters.epsilon == parameter


def test_whose_parameter_is_a_rate_gets_the_largest_that_keeps_to_the_budget():
    made = plan(cell("private-ucb", 2.0))
    assert made.parameters.epsilon < 1
    assert 1.5 < made.claim.epsilon <= 2
    assert made.claim.delta == 1e-5


def test_who_cannot_keep_to_a_budget_is_told_what_it_claims_at_least():
    with pytest.raises(SpecError, match=r"cannot be set for ε = 0\.1: the least ε that it claims"):
        run_file(cell("private-ucb", 0.1), SMALL, 0)


@pytest.mark.parametrize(
    ("name", "budget", "epsilon"),
    [("ucb1", None, 0.0), ("cooperative-ucb", None, None), ("cdp-mab", 1.0, 1.0),
     ("adap-ucb", 1.0, 0.0), ("private-ucb-printed", 10.0, None)],
)  # fmt: skip
def test_epsilon_is_that_of_a_reader_of_all_messages(name, budget, epsilon):
    asked = cell(name, budget)
    assert reader_epsilon(asked.entrant, plan(asked)) == epsilon


def test_the_run_file_has_the_adversarys_rewards_and_the_true_means():
    raw = run_file(cell("byzantine-ucb", adversary="liars"), SMALL, 4)
    assert raw["arms"]["target"] == "posse_arena.rewards:liars_uniform"
    assert raw["arms"]["means"] == PROBLEMS["uniform"].table(8, 4)[0].tolist()
    assert raw["parameters"]["assumed_contamination"] == 1 / 8
    assert raw["seed"] == 4


def test_settings_say_who_is_left_out_and_why():
    found = list(settings(BY_NAME["ucb1"], "light", ["regret"]))
    out = {one.where: one.why for one in found if isinstance(one, LeftOut)}
    assert out == {
        "regret, uniform, equivocators": "its agents have no neighbours to whom they might tell "
        "different things",
        "regret, hundred": "too large for the light form",
        "regret, thousand": "too large for the light form",
        "regret, spread": "its claim is for agents that have the same arms",
    }
    kinds = [(one.adversary, one.links) for one in found if isinstance(one, Setting)]
    assert kinds[:5] == [
        ("none", "near"), ("none", "continents"), ("none", "lossy"), ("liars", "near"),
        ("corruption", "near"),
    ]  # fmt: skip


def test_systems_with_neighbours_are_on_all_networks_and_those_for_parts_on_parts():
    on = {
        name: {one.network for one in found(name) if one.problem.name == "uniform"}
        for name in ("cooperative-ucb", "hdp-mab", "cdp-mab", "ucb1")
    }
    assert on == {
        "cooperative-ucb": NETWORKS.keys() - {"components"},
        "hdp-mab": {"components"},
        "cdp-mab": {"server"},
        "ucb1": {"alone"},
    }


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


def test_the_light_form_leaves_out_the_slowest_and_nothing_else():
    assert {e.name for e in ours(full=True)} - {e.name for e in ours(full=False)} == {*ONLY_FULL}


def test_some_of_ours_are_chosen_by_name():
    assert [e.name for e in ours(False, among=["ucb1", "moss"])] == ["ucb1", "moss"]
    with pytest.raises(SpecError, match="'ucb2' is not known"):
        ours(False, among=["ucb2"])


def test_tuning_takes_instances_that_are_not_scored():
    for task, problem in TUNING.items():
        assert task in problem.tasks
        assert problem.name not in PROBLEMS or TASKS[task].full.scored < 1_000


def test_a_system_enters_by_what_its_parameters_are():
    assert (entered("ucb1").tasks, entered("ucb1").name) == (("regret",), "ucb1 (entered)")
    assert entered("mase").tasks == ("best-arm",)
    assert entered("ucb1", "own-arm").tasks == ("own-arm",)
    with pytest.raises(SpecError, match="ucb1 has no parameter explore"):
        entered("ucb1", None, {"explore": (0.1,)})
