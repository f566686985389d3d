"""Declared programmes: their exact total decides while runs are as declared, then a filter."""

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import PLDAccountant

from posse.durable import programme
from posse.durable.ledger import Ledger
from posse.errors import PosseError, SpecError
from posse.protocol.accounting import Losses, admits, together
from tests.durable.test_persons import write
from tests.support.ledger import Run, claiming, log, task, used_by

__all__ = ["log"]

DELTA = 1e-6
FIVE = Losses(laplace=((0.1, 5),))


def _declare(log, *costs):
    Ledger(log.with_name(log.name + ".ledger"), log).declare(list(costs))


def test_the_exact_total_of_declared_runs_decides_and_a_filter_of_others(log):
    cost = Losses(laplace=((0.05, 40),))
    runs = 3
    exact = together([cost] * runs).epsilon(DELTA)
    budget = exact * 1.001
    assert not admits([cost] * runs, DELTA, budget, DELTA)
    about = claiming(task(2.0, reuse="budget", budget=budget, delta=1e-3, slack=DELTA), losses=cost)
    _declare(log, *[cost] * runs)
    for _ in range(runs):
        assert len(used_by(log, about, 6, 4)[0]) == 6
    with pytest.raises(PosseError, match="would cost more than its budget"):
        Run(log, about)  # a fourth was not declared


def test_a_run_that_is_not_as_declared_ends_the_programme(log):
    cost = Losses(laplace=((0.05, 40),))
    budget = together([cost] * 3).epsilon(DELTA) * 1.001
    given = {"reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    _declare(log, *[cost] * 3)
    used_by(log, claiming(task(2.0, **given), losses=cost), 6, 4)
    used_by(log, claiming(task(0.01, **given), losses=Losses(laplace=((0.01, 1),))), 6, 4)
    with pytest.raises(PosseError, match="would cost more than its budget"):
        Run(log, claiming(task(2.0, **given), losses=cost))


def test_nothing_is_declared_after_a_run(log):
    Run(log, task()).ends()
    with pytest.raises(PosseError, match="has runs already, and what is chosen after a run is no"):
        _declare(log, FIVE)


def _of_eva(path):
    """A log in which Eva has two rows of one arm."""
    return write(path, (0, 0.01, "eva"), (0, 0.02, "eva"), (1, 0.5, "adam"))


def test_persons_have_a_programme_too(tmp_path):
    """Two rows in each of three runs move every sum by two."""
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 2}
    budget = together([cost.of_rewards(2)] * 3).epsilon(DELTA) * 1.001
    assert not admits([cost.of_rewards(2)] * 3, DELTA, budget, DELTA)
    given = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **given), losses=cost)
    declared = _of_eva(tmp_path / "a.csv")
    _declare(declared, *[cost] * 3)
    for _ in range(3):
        assert used_by(declared, about, 9, 0) == [[0.01, 0.02], []]
    assert used_by(declared, about, 9, 0) == [[], []]  # a fourth was not declared
    # where nothing is declared, in a folder of its own, the filter has her leave earlier
    alone = tmp_path / "alone"
    alone.mkdir()
    other = _of_eva(alone / "a.csv")
    gave = [len(used_by(other, about, 9, 0)[0]) for _ in range(3)]
    assert gave[0] == 2
    assert sum(gave) < 6


def test_who_gave_rewards_to_a_run_over_another_log_is_off_plan(tmp_path):
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 4}
    budget = together([cost.of_rewards(4)] * 2).epsilon(DELTA) * 1.001
    given = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **given), losses=cost)
    bob = [(0, 0.2 + n / 100, "bob") for n in range(4)]
    declared = write(tmp_path / "a.csv", *[(0, n / 100, "eva") for n in range(3)], *bob)
    elsewhere = write(tmp_path / "b.csv", (0, 0.9, "eva"), (1, 0.5, "zoe"))
    _declare(declared, *[cost] * 2)
    assert len(used_by(declared, about, 9, 0)[0]) == 7
    assert used_by(elsewhere, about, 9, 0)[0] == [0.9]
    again = used_by(declared, about, 9, 0)[0]
    assert again[-4:] == [0.2, 0.21, 0.22, 0.23]
    assert len(again) < 7


def test_events_cost_what_the_losses_cost():
    losses = Losses(laplace=((0.1, 20), (0.3, 2)), gaussian=0.04)
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(programme.events(losses))
    assert accountant.get_epsilon(DELTA) == pytest.approx(losses.epsilon(DELTA), rel=5e-3)
    known = PLDAccountant(NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    known.compose(programme.events(Losses(pure=((0.5, 3),))))
    assert known.get_epsilon(0.0) == pytest.approx(1.5, abs=1e-3)
    with pytest.raises(PosseError, match="no event for a δ by itself"):
        programme.events(Losses(delta=1e-7))


RUN = """system = "dp-mase"
[agents]
count = 8
[arms]
kind = "bernoulli"
means = [0.9, 0.1]
[parameters]
epsilon = 0.5
"""


def test_a_system_without_an_epsilon_is_not_declared(log, tmp_path):
    (tmp_path / "run.toml").write_text(
        RUN.replace("dp-mase", "ucb1").replace("epsilon = 0.5", "horizon = 9")
    )
    plan = tmp_path / "plan.toml"
    plan.write_text('[[run]]\nfile = "run.toml"\n')
    with pytest.raises(PosseError, match="ucb1 has no ε that could be added up"):
        programme.read(plan)
    plan.write_text('[[run]]\nfilo = "run.toml"\n')
    with pytest.raises(SpecError, match="file"):
        programme.read(plan)
