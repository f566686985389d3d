"""Fractional assignments taken apart into whole ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from posse_systems.esfandiari2022.decomposition import shares
from posse_systems.esfandiari2022.flow import whole_points
from tests.support.conversations import examples
from tests.support.decomposition import instances, random_alive


@given(instances)
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
@settings(max_examples=25)
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


@examples(Path(__file__).with_name("flow.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
