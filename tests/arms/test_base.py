"""What all kinds of arms share: their names, their tables of means, rescaling."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.arms.base import PIECE, Arms, RandomMeans, pieces, rescale
from posse.errors import ArmsError
from posse.protocol.arrays import FloatArray
from tests.support.conversations import examples


def test_random_means_are_one_instance_for_all_agents() -> None:
    means = RandomMeans(count=6, low=0.2, high=0.4)
    table = means.table(5, np.random.default_rng(1))
    assert table.shape == (5, 6)
    assert (table == table[0]).all()
    assert ((table >= 0.2) & (table < 0.4)).all()
    assert not (table == means.table(5, np.random.default_rng(2))).all()
    fixed = RandomMeans(count=6, seed=9)
    assert (
        fixed.table(5, np.random.default_rng(1)) == fixed.table(5, np.random.default_rng(2))
    ).all()


def test_spread_keeps_the_average_of_the_agents() -> None:
    plain = RandomMeans(count=8, low=0.3, high=0.7).table(4, np.random.default_rng(3))
    table = RandomMeans(count=8, low=0.3, high=0.7, spread=0.1).table(4, np.random.default_rng(3))
    assert np.allclose(table.mean(axis=0), plain[0])
    assert 0 < np.abs(table - plain).max() <= 0.2
    with pytest.raises(ArmsError, match="instances of 4 agents none"):
        RandomMeans(count=20, low=0.0, high=1.0, spread=5.0).table(4, np.random.default_rng(3))


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_rescale_maps_onto_the_unit_interval(values: list[float], low: float, width: float) -> None:
    rewards = np.array(values)
    scaled = rescale(rewards, (low, low + width))
    assert ((scaled >= 0) & (scaled <= 1)).all()
    order = np.argsort(rewards, kind="stable")
    assert (np.diff(scaled[order]) >= 0).all()
    assert (rescale(rewards, None) == rewards).all()


def test_a_sum_of_any_size_is_drawn_in_pieces() -> None:
    longest = 0

    class Halves(Arms):
        left = 3 * PIECE

        def draw(self, arm: int, count: int) -> FloatArray:
            nonlocal longest
            longest = max(longest, count)
            count = min(count, self.left)
            self.left -= count
            return np.full(count, 0.5)

    arms = Halves()
    assert arms.totals((0,), 2 * PIECE + 6) == [PIECE + 3.0]
    assert arms.totals((0,), 2 * PIECE) == [PIECE / 2 - 3]
    assert longest == PIECE
    assert list(pieces(0)) == [0]


@examples(Path(__file__).with_name("base.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
