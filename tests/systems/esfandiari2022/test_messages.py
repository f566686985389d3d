"""What server and players of anonymous bandits compute alike (Esfandiari et al. 2022)."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.esfandiari2022.messages import (
    batches,
    estimates,
    from_words,
    grid,
    largest_sum,
    roster,
    schedule_length,
    sweeps,
    to_words,
)
from tests.support.conversations import examples


@pytest.mark.parametrize("size", [6, 11])
def test_estimates_are_unbiased_with_the_variance_of_the_group(size: int) -> None:
    """Var = p_s (1 - p_s) + 2 Σ_{others} p (1 - p): fresh rewards in both rounds.

    20,000 replications; means within 5 standard errors, variances within 10 %: a false alarm in
    fewer than one of 10^4 seeds, and the seed is fixed.
    """
    generator = np.random.default_rng(7)
    p = np.linspace(0.2, 0.8, size)
    group = tuple(range(size))
    spread = p * (1 - p)
    expected = spread + 2 * (spread.sum() - spread)
    rewards = (generator.random((20_000, 12, size)) < p).astype(float)
    sums = np.stack([rewards[:, s, list(roster(s, group))].sum(axis=1) for s in range(12)], axis=1)
    found = np.array([estimates(row, size) for row in sums])
    assert (np.abs(found.mean(axis=0) - p) < 5 * np.sqrt(expected / 20_000)).all()
    assert np.abs(found.var(axis=0) / expected - 1).max() < 0.1


groups = st.lists(st.integers(0, 99), min_size=2, max_size=9, unique=True).map(tuple)


@given(groups, st.data())
def test_each_round_after_the_first_leaves_one_member_out_and_the_sums_give_each_its_reward(
    group: tuple[int, ...], data: st.DataObject
) -> None:
    size = len(group)
    rosters = [roster(step, group) for step in range(size + 3)]
    assert rosters.pop() == rosters[0] == rosters[-1] == group
    assert rosters[1:-1] == [tuple(n for n in group if n != left) for left in group]
    rewards = dict(zip(group, data.draw(st.lists(st.floats(0, 1), min_size=size)), strict=False))
    sums = np.array([sum(rewards[n] for n in present) for present in rosters])
    assert estimates(sums, size) == pytest.approx([rewards[n] for n in group], abs=1e-9)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9), st.integers(1, 40))
@example([0.0, 0.25, 0.3, 1.0], 4)
def test_words_are_rewards_to_half_of_their_last_bit(rewards: list[float], bits: int) -> None:
    words = to_words(np.array(rewards), bits)
    assert from_words(words, bits) == pytest.approx(rewards, abs=0.5001 * 2.0**-bits)
    assert int(words.sum()) <= largest_sum(len(rewards), 1, bits)


@given(st.integers(3, 10**9))
def test_the_ends_of_batches_increase_to_the_horizon(horizon: int) -> None:
    ends = grid(horizon)
    assert len(ends) == batches(horizon) == max(1, math.ceil(math.log2(math.log2(horizon)) - 1e-12))
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(horizon, rel=1e-6)


@given(
    st.integers(100, 10**6), st.integers(2, 9), st.integers(2, 99), st.integers(1, 9),
    st.floats(0.01, 10.0),
)  # fmt: skip
def test_as_many_sweeps_fit_as_are_made(
    horizon: int, arms: int, users: int, group: int, rate: float
) -> None:
    assert 0 <= sweeps(horizon, arms, users, group, rate) * arms * schedule_length(group) <= horizon


@examples(Path(__file__).with_name("messages.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
