"""Problems are the same for all, instances have numbers, adversaries change rewards as said."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse_arena import rewards
from posse_arena.problems import CORRUPTED, PROBLEMS
from tests.support.conversations import examples


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


@examples(Path(__file__).with_name("problems.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
