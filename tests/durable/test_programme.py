"""Declared programmes: their exact total decides while runs are as declared, then a filter."""

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import PLDAccountant

from posse.durable import programme
from posse.durable.ledger import Ledger
from posse.errors import PosseError, SpecError
from posse.protocol.accounting import Losses, admits, together
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
