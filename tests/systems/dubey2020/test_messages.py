"""Releases and what they cost: the interval series, ζ, the composition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse_systems.dubey2020.messages import (
    Contamination,
    hops,
    most_liars,
    privacy_bound,
    release_counts,
    zeta,
)


@pytest.mark.parametrize(
    ("asked", "diameter", "gamma"),
    [("diameter", 3, 3), ("diameter/2", 3, 2), ("diameter/2", 4, 2), (1, 5, 1), (0, 5, 0)],
)
def test_half_a_diameter_is_rounded_up(asked, diameter, gamma) -> None:
    assert hops(asked, diameter) == gamma


def test_a_share_of_k_in_m_is_k_liars() -> None:
    """1 / 49 * 49 is less than 1."""
    pairs = [(liars, agents) for agents in range(2, 201) for liars in range(agents)]
    assert all(most_liars(liars / agents, agents) == liars for liars, agents in pairs)
    assert (most_liars(0.19, 10), most_liars(0.2, 10), most_liars(0.0, 10)) == (1, 2, 0)


@pytest.mark.parametrize(
    ("agents", "liars"), [("all", [0, 1, 2]), (2, [1, 2]), ((2, 0, 0), [0, 2]), ((), [])]
)
def test_who_lies(agents, liars) -> None:
    lies = Contamination(rate=0.1, agents=agents)
    assert lies.liars(3, lambda number: [2, 1][:number]) == liars
    assert len(lies.liars(3)) == len(liars)
    assert Contamination(rate=0.0, agents=agents).liars(3) == []


@pytest.mark.parametrize(
    ("epsilon", "first"),
    [
        (1.0, (1, 2, 3)),
        (0.5, (2, 4, 6)),
        (0.1, (7, 16, 26, 36, 46)),
        (0.05, (12, 29, 47, 66)),
    ],
)
def test_the_interval_series(epsilon, first) -> None:
    assert release_counts(epsilon, 1.1, 100)[: len(first)] == first


@settings(max_examples=50)
@given(st.floats(0.02, 1.0), st.floats(1.01, 1.5), st.integers(1, 400))
def test_the_series_keeps_lemma_3_6(epsilon, v, last) -> None:
    found = release_counts(epsilon, v, last)
    slow, previous = [], 0
    for x in range(1, last + 1):
        interval = math.fsum(i ** (-v / 2) for i in range(previous + 1, x + 1))
        if interval >= x ** (-v / 2) / epsilon - 1e-12:
            slow.append(x)
            previous = x
    assert list(found) == slow
    costs = np.array([n ** (-v / 2) for n in found])
    assert costs.sum() <= epsilon * last ** (1 - v / 2) / (1 - v / 2) + 1e-9
    assert np.square(costs).sum() <= epsilon * zeta(v) + 1e-9


def test_zeta_and_the_bound() -> None:
    assert zeta(2.0) == pytest.approx(math.pi**2 / 6, rel=1e-9)
    assert zeta(1.1) == pytest.approx(10.5844484649508, rel=1e-9)
    # ε = .1, v = 1.1, δ' = e^-10: 2 ε ζ + sqrt(2 ε ζ 10) = 2.117 + 4.601
    assert privacy_bound(0.1, 1.1, 10**6, math.exp(-10)) == pytest.approx(6.718, abs=2e-3)
    assert privacy_bound(0.1, 1.1, 100, math.exp(-10)) == pytest.approx(0.1 * 100**0.45 / 0.45)
