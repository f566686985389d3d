"""Cooperative agents: releases, noise and decisions, by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma

from posse.protocol.machine import Disclose
from posse.protocol.noise import SeededNoise
from posse.protocol.privacy import total_cost
from posse_systems.dubey2020.agent import (
    DoublingMeans,
    PrivateMeans,
    SharedMeans,
)
from posse_systems.dubey2020.messages import (
    doubling_counts,
    means_record,
    noise_scale,
    release_counts,
)
from tests.support.noise import KnownNoise


def private(variant, noise, epsilon=0.5, arms=2, v=1.1):
    return PrivateMeans(
        arms,
        np.random.default_rng(0),
        epsilon=epsilon,
        v=v,
        variant=variant,
        noise=noise,
        releases=release_counts(epsilon, v, 1000),
    )


def test_a_release_by_hand() -> None:
    noise = KnownNoise(0.25)
    learner = private("corrected", noise)
    assert learner.learn(0, 1.0) == []  # W_1 = 2
    assert np.isnan(learner.message["means"]).all()
    (disclosed,) = learner.learn(0, 0.0)
    assert isinstance(disclosed, Disclose)
    release = disclosed.release
    assert [scale for *_, scale in noise.asked] == [pytest.approx(2**-0.45)]
    assert release.sensitivity == 0.5
    assert release.scale == pytest.approx(2**-0.45)
    assert release.epsilon == pytest.approx(2**-0.55)
    assert release.epsilon == pytest.approx(release.sensitivity / release.scale)
    assert learner.message["means"][0, 0] == 0.75
    assert learner.message["counts"].tolist() == [[2, 0]]
    assert learner.learn(0, 1.0) == []
    assert learner.message["counts"].tolist() == [[2, 0]]  # the count at the release


def test_printed_gives_one_reward_away_for_certain_and_corrected_does_not() -> None:
    """ε = 1, K = 2, first rewards (1, .5) or (0, .5): the third pull tells which, as printed."""

    def third(variant, first, seed):
        learner = private(variant, SeededNoise(np.random.default_rng(seed)), epsilon=1.0)
        order = [learner.choose(1), learner.choose(2)]
        for arm, reward in zip(order, (first, 0.5), strict=True):
            learner.learn(arm, reward)
        return order.index(learner.choose(3))

    assert {third("printed", 1.0, s) for s in range(200)} == {0}
    assert {third("printed", 0.0, s) for s in range(200)} == {1}
    often = [np.mean([third("corrected", x, s) for s in range(2000)]) for x in (1.0, 0.0)]
    # a first release costs W_1^-.55 = 1: no likelihood may change by more than e
    assert 0.02 < often[0] < often[1] < 0.98
    assert often[1] / often[0] < math.e * 1.15
    assert (1 - often[0]) / (1 - often[1]) < math.e * 1.15


def test_the_noise_has_the_law_of_the_ledger() -> None:
    scale = noise_scale(7, 1.1)
    draws = []
    for seed in range(4000):
        learner = private("corrected", SeededNoise(np.random.default_rng(seed)), epsilon=0.1)
        for _ in range(7):
            learner.learn(0, 1.0)
        draws.append(learner.message["means"][0, 0] - 1.0)
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in a thousand
    ordered = np.sort(draws)
    law = np.where(ordered < 0, np.exp(ordered / scale) / 2, 1 - np.exp(-ordered / scale) / 2)
    assert np.abs(law - np.arange(1, 4001) / 4000).max() < 1.95 / math.sqrt(4000)


def test_the_index_by_hand_leaves_out_what_has_no_mean() -> None:
    learner = SharedMeans(2, np.random.default_rng(0))
    learner.learn(0, 1.0)
    learner.learn(1, 0.0)
    heard = np.zeros(2, dtype=means_record(2))
    heard["origin"], heard["created"] = [1, 2], [1, 1]
    heard["means"] = [[0.5, np.nan], [np.nan, 1.0]]
    heard["counts"] = [[4, 9], [9, 8]]  # the 9s have no mean: left out with their arms
    learner.hear(heard)
    t = 20
    N = [1 + 4, 1 + 8]
    mu = [(1 + 4 * 0.5) / 5, (0 + 8 * 1.0) / 9]
    index = [m + math.sqrt(2 * math.log(t) / n) for m, n in zip(mu, N, strict=True)]
    assert learner.choose(t) == int(np.argmax(index))
    assert learner.counts.sum(axis=0).tolist() == [4, 8]


@given(st.sampled_from([("corrected", 0), ("printed", 1)]), st.integers(2, 9))
@example(("corrected", 0), 3)
def test_arms_in_turn_at_first(form, arms) -> None:
    variant, first = form
    learner = private(variant, KnownNoise(), epsilon=0.5, arms=arms)
    chosen = [learner.choose(t) for t in range(1, 2 * arms + 1)]
    assert chosen == [(first + i) % arms for i in range(2 * arms)]


def doubling() -> DoublingMeans:
    noise = SeededNoise(np.random.default_rng(3))
    ties, releases = np.random.default_rng(0), doubling_counts(70)
    return DoublingMeans(2, ties, epsilon=0.5, noise=noise, releases=releases)


def test_doubling_releases_are_disjoint_and_cost_epsilon_in_all() -> None:
    draws = np.random.default_rng(3)
    learner = doubling()
    rewards = np.random.default_rng(4).random(70)
    ledger, at = [], []
    for n, reward in enumerate(rewards, start=1):
        effects = learner.learn(0, float(reward))
        if not effects:
            continue
        at.append(n)
        ledger.append(effects[0].release)
        size = max(1, n // 2)
        mean = rewards[n - size : n].mean() + draws.laplace(0, 1 / (0.5 * size))
        (said,) = learner.message
        assert said["means"][0] == pytest.approx(mean)
        assert said["counts"][0] == size
        count, _, total, _ = learner.own()
        assert total / count == pytest.approx(mean)
        assert ledger[-1].block == f"arm 0, rewards {n - size + 1} to {n}"
    assert at == [1, 2, 4, 8, 16, 32, 64]
    assert total_cost(ledger) == 0.5


def test_the_doubling_index_has_a_term_for_the_noise_of_all_means_it_is_made_of() -> None:
    learner = doubling()
    learner.learn(0, 1.0)
    learner.add_origins(np.arange(3))
    learner.counts[1] = [4, 8]  # what two others released
    learner.counts[2] = [2, 0]
    N = np.array([7.0, 8.0])
    noise = 3.1 * math.log(9) * np.sqrt([3, 1]) / (0.5 * N)
    expected = np.sqrt(2 * math.log(9) / N) + noise
    np.testing.assert_allclose(learner.bonus(math.log(9), N), expected)


@settings(max_examples=20)
@given(st.integers(1, 50), st.floats(0.5, 10.0))
def test_the_noise_in_m_means_rarely_exceeds_its_term(m, log) -> None:
    """A sum of m Laplace(1) is the difference of two Gamma(m); its tail, integrated."""
    x = math.sqrt(m) * log
    tail, _ = quad(lambda g: gamma.pdf(g, m) * gamma.sf(g + x, m), 0, np.inf)
    assert 0 < tail < math.exp(-log)
