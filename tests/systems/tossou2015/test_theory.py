"""Theorem 6 of Tossou and Dimitrakakis and its lemmas, by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.tossou2015.system import (
    fair_sharing_regret,
    plays_with_bound,
    plays_without_bound,
)

E = np.array([math.e])


GAP, EPSILON, PLAYERS, LOG = (
    st.floats(0.05, 0.9),
    st.floats(0.05, 1),
    st.integers(1, 9),
    st.floats(1, 9),
)


@given(GAP, EPSILON, PLAYERS, LOG)
@example(0.5, 0.1, 2, 1.0)
def test_lemma_4_by_hand(gap, epsilon, players, log):
    # λ_0 -> 1 as printed
    plays = plays_with_bound(epsilon=epsilon, players=players, as_printed=True)
    most = max((8 * log / (gap * epsilon)) ** 2.25, 8 * log / gap**2)
    wanted = 1 + most / players + 2 * math.pi**2 / (3 * players**2)
    assert plays(gap, np.array([math.exp(log)])) == pytest.approx([wanted])


@given(GAP, EPSILON, PLAYERS, LOG)
@example(0.5, 2.0, 3, 2.0)
def test_lemma_7_by_hand(gap, epsilon, players, log):
    plays = plays_without_bound(epsilon=epsilon, players=players)
    most = max(18 * (7 + 4 * math.sqrt(3)) / epsilon**2 * log**4, 8 * log / gap**2)
    wanted = 1 + most / players + 4 * (1 + log) / players**2
    assert plays(gap, np.array([math.exp(log)])) == pytest.approx([wanted])


@given(st.lists(st.integers(0, 10).map(lambda n: n / 10), min_size=2, max_size=6), st.data())
@example([0.5, 0.9, 0.1, 0.5], None)
def test_theorem_6_by_hand(means, data):
    """Player p misses, of each of the p best arms, what ten pulls of each worse arm cost it."""
    players = data.draw(st.integers(1, len(means))) if data else 2
    best = sorted(means, reverse=True)[:players]
    missed = [10 * sum(mean < one for mean in means) for one in best]
    wanted = sum(sum(missed[: p + 1]) * one for p, one in enumerate(best))
    found = fair_sharing_regret(
        np.array(means), E, players=players, plays=lambda gap, t: np.full(t.shape, 10.0)
    )
    assert found == pytest.approx([players * wanted])


def test_lemma_4_with_what_its_proof_leaves_for_the_noise():
    """The best λ_0 of a hundred, by trying each."""
    plays = plays_with_bound(epsilon=1.0, players=1, as_printed=False)
    tried = [
        max((8 * 3 / (0.4 * (1 - share))) ** 2.25, 8 * 3 / (share * 0.4) ** 2)
        for share in np.linspace(0.01, 0.99, 99)
    ]
    assert plays(0.4, np.array([math.e**3])) == pytest.approx([1 + min(tried) + 2 * math.pi**2 / 3])


@pytest.mark.parametrize(
    ("plays", "bound"),
    [
        (plays_with_bound(epsilon=1.0, players=1, as_printed=True), 8.7e5),
        (plays_without_bound(epsilon=1.0, players=1), 2.2e7),
    ],
)
def test_of_the_papers_own_arms_it_says_nothing_for_a_long_time(plays, bound):
    """Ten arms, M = 1, ε = 1, T = 10^5, where nobody can lose more than T μ* = 5.5e4."""
    means = np.array([0.1] * 8 + [0.2, 0.55])
    found = fair_sharing_regret(means, np.array([1e5]), players=1, plays=plays)
    assert found[0] == pytest.approx(bound, rel=0.03)
