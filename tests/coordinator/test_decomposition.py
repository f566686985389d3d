"""Decompositions: whole assignments that meet a demand, and the flow that finds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.decomposition import (
    Decomposition,
    at_random,
    blocks,
    by_flow,
    greedy,
    random_arms,
    shares,
    unserved,
)
from coordinator.flow import whole_points


def random_alive(users: int, arms: int, seed: int, keep: float = 0.6) -> np.ndarray:
    """Alive sets at random, nobody without an arm."""
    generator = np.random.default_rng(seed)
    alive = generator.random((users, arms)) < keep
    alive[np.arange(users), generator.integers(arms, size=users)] = True
    return alive


def informative(found: Decomposition, shape: tuple[int, int], group_size: int) -> np.ndarray:
    """Informative assignments per pair, counted one by one."""
    counts = np.zeros(shape, dtype=int)
    for assignment in found.assignments:
        for user, arm in enumerate(assignment.arms):
            if list(assignment.arms).count(arm) >= group_size + 1:
                counts[user, arm] += assignment.copies
    return counts


instances = st.tuples(
    st.integers(4, 25), st.integers(2, 5), st.integers(0, 10_000), st.sampled_from([0.3, 0.6, 1.0])
)


# --- flow ----------------------------------------------------------------------------------------


@given(instances)
@settings(deadline=None)
def test_whole_points_mix_to_x_exactly(instance: tuple[int, int, int, float]) -> None:
    users, arms, seed, keep = instance
    x, unit = shares(random_alive(users, arms, seed, keep), tuple(range(arms)))
    points = whole_points(x, unit)
    mixed = np.zeros_like(x)
    low, high = x.sum(axis=0) // unit, -(-x.sum(axis=0) // unit)
    for weight, point in points:
        assert weight > 0
        mixed[np.arange(users), point] += weight
        columns = np.bincount(point, minlength=arms)
        assert (low <= columns).all()
        assert (columns <= high).all()
    assert (mixed == x).all()
    assert sum(weight for weight, _ in points) == unit
    assert len(points) <= users * arms + 1


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_an_uneven_mixture_is_taken_apart_too(seed: int) -> None:
    # any x with whole shares, not only equal ones
    generator = np.random.default_rng(seed)
    x = generator.multinomial(1000, [0.5, 0.3, 0.15, 0.05], size=12)
    points = whole_points(x, 1000)
    mixed = np.zeros_like(x)
    for weight, point in points:
        mixed[np.arange(12), point] += weight
    assert (mixed == x).all()
    assert len(points) <= 12 * 4 + 1


def test_four_users_on_two_arms_by_hand() -> None:
    points = whole_points(np.ones((4, 2), dtype=np.int64), 2)
    assert [weight for weight, _ in points] == [1, 1]
    (_, one), (_, other) = points
    assert sorted(one) == [0, 0, 1, 1]
    assert (one + other == 1).all()


def test_users_without_a_share_stay_out() -> None:
    x = np.array([[2, 0], [0, 0], [1, 1]])
    assert all(point[1] == -1 and point[0] == 0 for _, point in whole_points(x, 2))


def test_units_beyond_64_bits() -> None:
    unit = 3 * 10**25
    x = np.array([[unit // 3, 2 * unit // 3], [unit, 0], [0, unit]], dtype=object)
    points = whole_points(x, unit)
    assert sum(weight for weight, _ in points) == unit
    assert sum(weight for weight, point in points if point[0] == 0) == unit // 3


def test_rows_must_sum_to_the_unit() -> None:
    with pytest.raises(ValueError, match="must sum to the unit"):
        whole_points(np.array([[1, 0], [1, 1]]), 2)


# --- decompositions ------------------------------------------------------------------------------


@given(instances, st.integers(1, 40))
@settings(max_examples=60, deadline=None)
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


@pytest.mark.parametrize("demand", [11, 150])
def test_greedy_costs_k_times_the_demand(demand: int) -> None:
    alive = random_alive(20, 4, 3, keep=0.8)
    found = greedy(alive, demand, 2, np.random.default_rng(0))
    assert found.length == 4 * demand
    assert found.ratio == 4
    assert len(found.assignments) <= 4 * 64
    for j in range(4):
        together = [a for a in found.assignments if (a.arms[alive[:, j]] == j).all()]
        assert sum(a.copies for a in together) >= demand


def test_random_stops_when_every_pair_has_its_count() -> None:
    alive = np.ones((40, 3), dtype=bool)
    found = at_random(alive, 300, 5, np.random.default_rng(1))
    counts = informative(found, (40, 3), 5)
    assert counts.min() == 100
    assert 300 < found.length < 600


def test_random_draws_some_thousand_times_whatever_the_demand() -> None:
    alive = np.ones((40, 3), dtype=bool)
    found = at_random(alive, 30_000, 5, np.random.default_rng(1))
    assert 1_000 < len(found.assignments) < 2_048
    assert informative(found, (40, 3), 5).min() >= 10_000


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


@pytest.mark.parametrize(
    ("cluster", "sizes"), [(6, [1] * 5), (12, [2, 2, 1]), (30, [5]), (60, [5])]
)
def test_blocks_for_a_known_cluster_size(cluster: int, sizes: list[int]) -> None:
    alive = np.ones((60, 5), dtype=bool)
    assert [len(block) for block in blocks(alive, 5, cluster)] == sizes


def test_blocks_without_a_cluster_size_are_as_few_as_fit() -> None:
    assert blocks(np.ones((30, 5), dtype=bool), 5, None) == [(0, 1, 2, 3, 4)]
    assert blocks(np.ones((29, 5), dtype=bool), 5, None) == [(0, 1, 2, 3), (4,)]
    assert blocks(np.ones((6, 3), dtype=bool), 5, None) == [(0,), (1,), (2,)]


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


@pytest.mark.parametrize("keep", [1.0, 0.6])
def test_three_hundred_users_and_ten_arms(keep: float) -> None:
    alive = random_alive(300, 10, 7, keep)
    found = by_flow(alive, 2_000, 5, None, np.random.default_rng(0))
    assert len(found.assignments) <= 300 * 10 + 10  # each settles one more share, or one more arm
    assert found.length <= found.ratio * 2_000 + 300 * 10 + 1
    x, unit = shares(alive, tuple(range(10)))
    points = whole_points(x, unit)
    assert sum(2_000 * weight / unit for weight, _ in points) == pytest.approx(2_000, abs=1e-9)
