"""What all kinds of arms share: their names, their tables of means, rescaling."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.arms.base import PIECE, Arms, RandomMeans, pieces, rescale
from posse.errors import ArmsError
from posse.protocol.arrays import FloatArray
from tests.support.conversations import examples


@given(st.integers(2, 9), st.floats(0, 0.4), st.floats(0.5, 1), st.integers(0, 99))
@example(6, 0.2, 0.4, 1)
def test_random_means_are_one_instance_for_all_agents(
    count: int, low: float, high: float, seed: int
) -> None:
    def table(drawn: int, **more: Any) -> FloatArray:
        means = RandomMeans(count=count, low=low, high=high, **more)
        return means.table(5, np.random.default_rng(drawn))

    plain = table(seed)
    assert plain.shape == (5, count)
    assert (plain == plain[0]).all()
    assert ((plain >= low) & (plain < high)).all()
    assert not (plain == table(seed + 1)).all()
    assert (table(seed, seed=9) == table(seed + 1, seed=9)).all()


@given(st.floats(0.001, 0.1), st.integers(0, 99), st.integers(2, 9))
@example(0.1, 3, 4)
def test_spread_keeps_the_average_of_the_agents(spread: float, seed: int, agents: int) -> None:
    def table(**more: Any) -> FloatArray:
        means = RandomMeans(count=8, low=0.3, high=0.7, **more)
        return means.table(agents, np.random.default_rng(seed))

    plain, spread_out = table(), table(spread=spread)
    assert np.allclose(spread_out.mean(axis=0), plain[0])
    assert 0 < np.abs(spread_out - plain).max() <= 2 * spread
    with pytest.raises(ArmsError, match=f"instances of {agents} agents none"):
        RandomMeans(count=20, low=0.0, high=1.0, spread=5.0).table(agents, np.random.default_rng(3))


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
