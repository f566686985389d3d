"""Regret: totals against pull by pull, and curves that stay small."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.measure.regret import _MOST_POINTS, ArmCosts, Regret, merge

MEANS = np.array([0.2, 0.9, 0.5])

ORDERS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True).map(tuple),
        st.integers(1, 50),
    ),
    max_size=30,
)


@given(ORDERS)
def test_the_total_is_the_sum_over_pulls(orders: list[tuple[tuple[int, ...], int]]) -> None:
    regret = Regret(ArmCosts(MEANS))
    slow, activations = 0.0, 0
    for number, (arms, times) in enumerate(orders, 1):
        regret.pulled(arms, times, times, float(number))
        activations += times
        for _ in range(times):
            for k in arms:
                slow += 0.9 - MEANS[k]
    assert regret.total == pytest.approx(slow)
    curve = regret.curve()
    assert curve[0].tolist() == [0.0, 0.0, 0.0]
    assert curve[-1].tolist() == [len(orders), activations, regret.total]
    assert (np.diff(curve, axis=0) >= 0).all()


def test_a_long_curve_stays_short_and_near_the_truth() -> None:
    regret = Regret(ArmCosts(MEANS))
    truth = [(0.0, 0.0)]
    pulls = np.random.default_rng(1).integers(0, 3, 40_000)
    for now, arm in enumerate(pulls, 1):
        regret.pulled((int(arm),), 1, 1, float(now))
        truth.append((float(now), regret.total))
    curve, exact = regret.curve(), np.array(truth)
    assert len(curve) <= _MOST_POINTS + 1
    assert curve[-1].tolist() == [40_000, 40_000, regret.total]
    drawn = np.interp(exact[:, 0], curve[:, 0], curve[:, 2])
    # between breakpoints the curve may be off by what those few pulls can cost
    widest = np.diff(curve[:, 0]).max()
    assert np.abs(drawn - exact[:, 1]).max() <= 0.7 * widest
    assert widest < 40_000 / 100


def test_merge_adds_agents_on_one_axis() -> None:
    one = np.array([[0.0, 0, 0], [10.0, 10, 5.0]])
    two = np.array([[0.0, 0, 0], [5.0, 20, 0.0], [10.0, 20, 4.0]])
    by_time = merge([one, two], by_time=True, points=2)
    assert by_time == [[0.0, 0.0], [5.0, 2.5], [10.0, 9.0]]
    by_rounds = merge([one, two], by_time=False, points=2)
    assert by_rounds == [[0.0, 0.0], [25.0, 2.5], [30.0, 9.0]]


steps = st.lists(
    st.tuples(st.floats(0.1, 9), st.integers(1, 9), st.floats(0, 5)), min_size=1, max_size=5
)


@given(st.lists(steps, min_size=1, max_size=4), st.integers(1, 20), st.booleans())
def test_merged_curves_are_what_all_agents_have_by_then(
    agents: list[list[tuple[float, int, float]]], points: int, by_time: bool
) -> None:
    """Who stopped early keeps its regret and its activations."""
    curves = [np.vstack(([0, 0, 0], np.cumsum(rows, axis=0))) for rows in agents]
    merged = np.array(merge(curves, by_time, points))
    assert merged.shape == (points + 1, 2)
    end = [curve[-1] for curve in curves]
    last = max(at for at, _, _ in end) if by_time else sum(count for _, count, _ in end)
    assert merged[-1] == pytest.approx([last, sum(cost for _, _, cost in end)])
    assert (np.diff(merged, axis=0) >= -1e-9).all()
    for at, cost in merged if by_time else ():
        known = sum(float(np.interp(at, curve[:, 0], curve[:, 2])) for curve in curves)
        assert cost == pytest.approx(known)
