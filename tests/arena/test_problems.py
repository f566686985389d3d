"""Problems are the same for all, instances have numbers, adversaries change rewards as said."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse_arena import rewards
from posse_arena.problems import BASE, CORRUPTED, NETWORKS, PROBLEMS, TASKS, topology


@settings(max_examples=20)
@given(st.sampled_from([*PROBLEMS]), st.integers(2, 9), st.integers(0, 99), st.integers(0, 99))
@example("uniform", 4, 1, 2)
def test_every_instance_has_means_for_each_agent_and_is_drawn_by_its_number(
    name, agents, number, other
):
    problem = PROBLEMS[name]
    table = problem.table(agents, number)
    assert table.shape[0] == agents
    assert ((table >= 0) & (table <= 1)).all()
    assert bool((table == table[0]).all()) == problem.shared
    assert (table == problem.table(agents, number)).all()
    if name == "uniform":
        assert bool((table == problem.table(agents, other)).all()) == (number == other)


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


@settings(max_examples=15)
@given(st.lists(st.integers(0, 2 * CORRUPTED), max_size=4), st.integers(0, 3))
@example([CORRUPTED + 10, 1_000], 2)
def test_corruption_spends_its_budget_on_the_first_rewards(pulls, agent):
    arms = vars(rewards)[rewards.target("corruption", "thousand")](agent=agent, agents=4, seed=1)
    plain = np.random.default_rng([1, agent])
    for count in pulls:
        left = arms.left
        paid = plain.random(count) < arms.means[0]
        got = arms.pull(0, count)
        spent = min(left, int(paid.sum()))
        assert arms.left == left - spent
        assert got.tolist() == (paid & (paid.cumsum() > spent)).tolist()
