"""Problems are the same for all, instances have numbers, adversaries change rewards as said."""

import numpy as np
import pytest

from posse_arena import rewards
from posse_arena.problems import BASE, CORRUPTED, NETWORKS, PROBLEMS, TASKS, topology


def test_instances_are_drawn_by_their_number():
    problem = PROBLEMS["uniform"]
    assert (problem.table(4, 1) == problem.table(4, 1)).all()
    assert (problem.table(4, 1) != problem.table(4, 2)).any()


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_every_problem_has_means_for_each_agent(problem):
    table = problem.table(6, 3)
    assert table.shape[0] == 6
    assert (table >= 0).all()
    assert (table <= 1).all()
    assert bool((table == table[0]).all()) == problem.shared


def test_agents_that_differ_have_their_offsets_centred():
    table = PROBLEMS["spread"].table(50, 1)
    assert table.std(axis=0).max() < 0.1


def test_the_real_log_has_the_rules_share_of_right_answers():
    table = PROBLEMS["tumours"].table(2, 0)
    assert table.shape == (2, 30)
    assert table[0].max() == pytest.approx(486 / 569)


def test_each_task_has_a_first_problem_and_networks_have_all_agents():
    assert all(task in PROBLEMS[BASE[task]].tasks for task in TASKS)
    assert topology("small-world", 9)["parameters"]["n"] == 9
    assert [part["count"] for part in topology("components", 9)["components"]] == [4, 5]
    assert next(iter(NETWORKS)) == "regular"


def test_a_liar_has_the_opposite_rewards_and_others_their_own():
    arms = [
        rewards.Changed("liars", PROBLEMS["thousand"], agent, 8, seed=1).pull(0, 10_000).mean()
        for agent in (0, 7)
    ]
    assert np.round(arms, 1).tolist() == [0.9, 0.1]


def test_who_never_has_an_answer_is_given_up():
    arms = rewards.Changed("liars", PROBLEMS["two"], 0, 8, seed=1)
    arms.pull(0, rewards.MOST)
    with pytest.raises(RuntimeError, match="no answer after 50,000 pulls"):
        arms.pull(1, 1)


def test_corruption_spends_its_budget_on_the_first_rewards():
    arms = vars(rewards)[rewards.target("corruption", "thousand")](agent=2, agents=4, seed=1)
    first = arms.pull(0, CORRUPTED + 10)
    assert first[:CORRUPTED].sum() == 0
    assert (arms.left, arms.pull(0, 1_000).mean() > 0.8) == (0, True)
