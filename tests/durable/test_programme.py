"""Declared programmes: their exact total decides while runs are as declared, then a filter."""

import math

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

from posse.durable import programme
from posse.durable.ledger import Ledger
from posse.durable.persons import _shares
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
    limits = {"reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    _declare(log, *[cost] * 3)
    used_by(log, claiming(task(2.0, **limits), losses=cost), 6, 4)
    used_by(log, claiming(task(0.01, **limits), losses=Losses(laplace=((0.01, 1),))), 6, 4)
    with pytest.raises(PosseError, match="would cost more than its budget"):
        Run(log, claiming(task(2.0, **limits), losses=cost))


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
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)
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
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)
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


def test_a_programme_may_be_over_several_logs_of_a_person(tmp_path):
    """Eva gives two rewards of one log and one of the other, each in two runs: three in all."""
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 3}
    split = [together([cost.of_rewards(k)] * 2 + [cost.of_rewards(3 - k)] * 2) for k in (1, 2)]
    whole = [*split, together([cost.of_rewards(3)] * 2)]
    budget = max(losses.epsilon(DELTA) for losses in whole) * 1.001
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)

    def gave(folder, *, declared):
        folder.mkdir()
        a = write(folder / "a.csv", (0, 0.01, "eva"), (0, 0.02, "eva"), (1, 0.5, "adam"))
        b = write(folder / "b.csv", (0, 0.04, "eva"), (0, 0.05, "eva"), (1, 0.5, "zoe"))
        if declared:
            for one, other in ((a, b), (b, a)):
                ledger = Ledger(one.with_name(f"{one.name}.ledger"), one)
                ledger.declare([cost] * 2, {f"{other.name}.ledger": [cost] * 2})
        return [len(used_by(log, about, 9, 0)[0]) for log in (a, b, b, a)]

    assert gave(tmp_path / "declared", declared=True) == [2, 1, 1, 2]
    assert sum(gave(tmp_path / "alone", declared=False)) < 6


def test_a_run_over_another_log_that_is_not_as_declared_ends_the_programme_of_both(tmp_path):
    cost, most = Losses(laplace=((0.05, 40),)), {"person": "who", "rewards_per_person": 4}
    budget = together([cost.of_rewards(4)] * 2).epsilon(DELTA) * 1.001
    limits = {**most, "reuse": "budget", "budget": budget, "delta": 1e-3, "slack": DELTA}
    about = claiming(task(2.0, **limits), losses=cost)
    rewards = [(0, n / 100, "bob") for n in range(4)]

    def second(folder, *, as_declared):
        """What the second run over a log is given, after one over the other."""
        folder.mkdir()
        a = write(folder / "a.csv", *rewards)
        b = write(folder / "b.csv", (0, 0.9, "zoe"), (1, 0.5, "zoe"))
        Ledger(a.with_name("a.csv.ledger"), a).declare([cost] * 2, {"b.csv.ledger": [cost]})
        used_by(a, about, 9, 0)
        other = cost if as_declared else Losses(laplace=((0.06, 40),))
        used_by(b, claiming(task(2.4, **limits), losses=other), 9, 0)
        return len(used_by(a, about, 9, 0)[0])

    assert second(tmp_path / "as declared", as_declared=True) == 4
    with pytest.raises(PosseError, match="every row of .* or whom they would cost more"):
        second(tmp_path / "not", as_declared=False)
    with pytest.raises(PosseError, match=r"b\.csv\.ledger has runs already"):
        Ledger(tmp_path / "not" / "c.csv.ledger").declare([cost], {"b.csv.ledger": [cost]})


def test_the_logs_of_runs_are_names_in_one_folder(tmp_path):
    (tmp_path / "run.toml").write_text(RUN)
    plan = tmp_path / "plan.toml"
    plan.write_text('[[run]]\nfile = "run.toml"\nlog = "b.csv"\n[[run]]\nfile = "run.toml"\n')
    declared = programme.read(plan)
    assert list(declared.by_log("a.csv")) == ["b.csv", "a.csv"]
    plan.write_text('[[run]]\nfile = "run.toml"\nlog = "../b.csv"\n')
    with pytest.raises(SpecError, match="log"):
        programme.read(plan)


@given(st.integers(1, 6), st.integers(1, 4))
def test_a_person_s_rewards_are_split_in_all_ways(rewards, logs):
    ways = list(_shares(rewards, logs))
    if len(ways) > 1 or logs == 1:
        assert all(sum(shares) == rewards and min(shares) >= 0 for shares in ways)
        assert len(set(ways)) == len(ways) == math.comb(rewards + logs - 1, logs - 1)
    else:
        assert ways == [(rewards,) * logs]
