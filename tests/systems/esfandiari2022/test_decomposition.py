"""Decompositions: whole assignments that meet a demand."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse_systems.esfandiari2022.decomposition import (
    Decomposition,
    at_random,
    blocks,
    by_flow,
    greedy,
    random_arms,
    shares,
    unserved,
)
from tests.support.decomposition import instances, random_alive


def informative(found: Decomposition, shape: tuple[int, int], group_size: int) -> np.ndarray:
    """Informative assignments per pair, counted one by one."""
    counts = np.zeros(shape, dtype=int)
    for assignment in found.assignments:
        for user, arm in enumerate(assignment.arms):
            if list(assignment.arms).count(arm) >= group_size + 1:
                counts[user, arm] += assignment.copies
    return counts


@given(instances, st.integers(1, 40))
@settings(max_examples=60)
def test_every_decomposition_meets_the_demand(
    instance: tuple[int, int, int, float], demand: int
) -> None:
    users, arms, seed, keep = instance
    alive = random_alive(users, arms, seed, keep)
    generator = np.random.default_rng(seed)
    need = np.where(alive, demand / alive.sum(axis=1, keepdims=True), 0.0)
    lacking = unserved(alive, 2)
    need[:, list(lacking)] = 0
    for found in (
        greedy(alive, demand, 2, generator),
        by_flow(alive, demand, 2, None, generator),
    ):
        assert found.unserved == lacking
        assert (informative(found, alive.shape, 2) >= need - 1e-9).all()
        assert found.length <= found.ratio * demand + users * arms + 1
        for assignment in found.assignments:
            assert alive[np.arange(users), assignment.arms].all()


@settings(max_examples=10)
@given(st.integers(11, 150))
def test_greedy_costs_k_times_the_demand(demand: int) -> None:
    alive = random_alive(20, 4, 3, keep=0.8)
    found = greedy(alive, demand, 2, np.random.default_rng(0))
    assert found.length == 4 * demand
    assert found.ratio == 4
    assert len(found.assignments) <= 4 * 8
    for j in range(4):
        together = [a for a in found.assignments if (a.arms[alive[:, j]] == j).all()]
        assert sum(a.copies for a in together) >= demand


def test_random_lasts_as_long_as_turns_drawn_one_by_one_until_every_pair_has_its_count() -> None:
    alive = random_alive(30, 3, 4, 0.8)
    need = np.where(alive, np.ceil(300 / alive.sum(axis=1, keepdims=True)), 0)
    generator, lengths = np.random.default_rng(1), []
    choices = [np.flatnonzero(row).tolist() for row in alive]
    for seed in range(40):
        left, turns = need.copy(), 0
        while (left > 0).any():
            lots = generator.random(30).tolist()
            arms = [mine[int(len(mine) * u)] for mine, u in zip(choices, lots, strict=True)]
            turns += 1
            for user, arm in enumerate(arms):
                left[user, arm] -= arms.count(arm) > 5
        found = at_random(alive, 300, 5, np.random.default_rng(seed))
        lengths.append((turns, found.length))
        assert len(found.assignments) < 40 + 5
        assert (informative(found, (30, 3), 5) >= need).all()
    slow, ours = np.array(lengths).T
    # 4 standard deviations of a difference of means: a false alarm in 16,000, the seeds are fixed
    deviation = np.sqrt((slow.var() + ours.var()) / 40)
    assert abs(slow.mean() - ours.mean()) < 4 * deviation < 0.05 * slow.mean()


def test_random_plays_all_arms_of_a_user_before_it_plays_one_again() -> None:
    alive = random_alive(12, 4, 3)
    arms = np.array(
        [a.arms for a in at_random(alive, 500, 2, np.random.default_rng(1)).assignments]
    )
    for user, mine in enumerate(alive):
        size = mine.sum()
        for start in range(0, len(arms) - size, size):
            assert sorted(arms[start : start + size, user]) == np.flatnonzero(mine).tolist()


def test_random_gives_up_at_twice_the_demand() -> None:
    # five users on two arms rarely are four on one
    alive = np.ones((5, 2), dtype=bool)
    assert at_random(alive, 50, 3, np.random.default_rng(1)).length == 100
    assert at_random(alive, 1_500, 3, np.random.default_rng(1)).length == 3_000


def test_random_arms_are_uniform_over_the_alive_ones() -> None:
    # chi-square with 3 degrees of freedom; false alarm 1e-4 at 21.1, the seed is fixed
    alive = np.array([[True, False, True, True, False, True]])
    drawn = random_arms(alive, 40_000, np.random.default_rng(5))[:, 0]
    counts = np.bincount(drawn, minlength=6)
    assert counts[[1, 4]].sum() == 0
    expected = 10_000
    assert ((counts[[0, 2, 3, 5]] - expected) ** 2 / expected).sum() < 21.1


@given(st.integers(6, 70), st.integers(1, 6), st.none() | st.integers(6, 70))
@example(60, 5, 12)
@example(60, 5, 30)
@example(29, 5, None)
@example(6, 3, None)
def test_blocks_are_as_few_as_fit(users: int, arms: int, cluster: int | None) -> None:
    """Each arm of a block needs C + 1 = 6 of the users that want it, all or as many as is said."""
    together = min(arms, min(users, cluster or users) // 6)
    found = blocks(np.ones((users, arms), dtype=bool), 5, cluster)
    firsts = range(0, arms, together)
    assert found == [tuple(range(first, min(first + together, arms))) for first in firsts]


def test_a_broken_cluster_assumption_falls_back_to_what_fits() -> None:
    # arm 2 has 3 users left although 12 were promised
    alive = np.ones((12, 3), dtype=bool)
    alive[3:, 2] = False
    assert unserved(alive, 2) == ()
    groups = blocks(alive, 2, 12)
    assert sorted(j for block in groups for j in block) == [0, 1, 2]
    for block in groups:
        x, unit = shares(alive, block)
        assert (x.sum(axis=0)[list(block)] >= 3 * unit).all()


def test_arms_that_too_few_want_are_named_and_left_out() -> None:
    alive = np.ones((12, 3), dtype=bool)
    alive[2:, 1] = False
    found = by_flow(alive, 10, 2, None, np.random.default_rng(0))
    assert found.unserved == (1,)
    assert informative(found, (12, 3), 2)[:, [0, 2]].min() >= 10 / 3
