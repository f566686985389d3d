"""Theorem 6 of Tossou and Dimitrakakis and its lemmas, by hand."""

import math

import numpy as np
import pytest

from posse_systems.tossou2015.system import (
    fair_sharing_regret,
    plays_with_bound,
    plays_without_bound,
)

E = np.array([math.e])


def test_lemma_4_by_hand():
    # log t = 1, Δ = .5, ε = .1, M = 2: (8 / .05)^2.25 against 8 / .25, λ_0 -> 1 as printed
    plays = plays_with_bound(epsilon=0.1, players=2, as_printed=True)
    wanted = 1 + max(160**2.25, 32.0) / 2 + 2 * math.pi**2 / 12
    assert plays(0.5, E) == pytest.approx([wanted])


def test_lemma_4_with_what_its_proof_leaves_for_the_noise():
    """The best λ_0 of a hundred, by trying each."""
    plays = plays_with_bound(epsilon=1.0, players=1, as_printed=False)
    tried = [
        max((8 * 3 / (0.4 * (1 - share))) ** 2.25, 8 * 3 / (share * 0.4) ** 2)
        for share in np.linspace(0.01, 0.99, 99)
    ]
    assert plays(0.4, np.array([math.e**3])) == pytest.approx([1 + min(tried) + 2 * math.pi**2 / 3])


def test_lemma_7_by_hand():
    plays = plays_without_bound(epsilon=2.0, players=3)
    noise = 18 * (7 + 4 * math.sqrt(3)) / 4 * 16
    assert plays(0.5, np.array([math.e**2])) == pytest.approx([1 + noise / 3 + 4 * 3 / 9])


def test_theorem_6_by_hand():
    # M = 2, means .9, .5, .5, .1: player 1 misses .9 for three arms, player 2 that and .5 for one
    seen = []

    def plays(gap, t):
        seen.append(round(gap, 3))
        return np.full(t.shape, 10.0)

    found = fair_sharing_regret(np.array([0.5, 0.9, 0.1, 0.5]), E, players=2, plays=plays)
    # p = 1: 30 (.9); p = 2: (30 + 10) (.5)
    assert found == pytest.approx([2 * (30 * 0.9 + 40 * 0.5)])
    assert seen == [0.4, 0.4, 0.8, 0.4]


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
