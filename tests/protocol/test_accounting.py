"""What releases cost together, against Google's numerical accountant and against formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from posse.protocol.accounting import composed, epsilon_at, gaussian_curve, laplace_curve
from posse.protocol.cooperative import privacy_bound, release_counts
from tests.support.accounting import numerical

DELTA = math.exp(-10)


def ones(costs):
    return np.ones(len(costs), dtype=np.int64)


@pytest.mark.parametrize(("epsilon", "T"), [(0.1, 800), (0.01, 10_000), (0.5, 100), (1.0, 50)])
def test_the_schedule_costs_no_less_than_google_says_and_hardly_more(epsilon, T):
    costs = np.array(release_counts(epsilon, 1.1, T)) ** -0.55
    ours = composed(costs, ones(costs), DELTA)
    assert numerical(costs, DELTA, least=True) <= ours
    assert ours <= 1.1 * numerical(costs, DELTA)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("cost", [0.01, 0.3, 2.0])
def test_equal_releases_too(cost, delta):
    for n in (1, 10, 25):
        costs = np.full(n, cost)
        ours = composed(costs, ones(costs), delta)
        assert numerical(costs, delta, least=True) <= ours * (1 + 1e-9)
        assert ours == pytest.approx(composed(np.array([cost]), np.array([n]), delta))


def test_the_claim_at_a_tenth():
    """ε = .1, T = 10,000: Lemma 3.6 says 6.72, advanced composition 3.42, this 2.65."""
    costs = np.array(release_counts(0.1, 1.1, 10_000)) ** -0.55
    drift = math.fsum(costs * np.tanh(costs / 2))
    advanced = drift + math.sqrt(20 * math.fsum(costs**2))  # Kairouz, Oh and Viswanath 2015
    assert privacy_bound(0.1, 1.1, 10_000, DELTA) == pytest.approx(6.718, abs=1e-3)
    assert advanced == pytest.approx(3.425, abs=1e-3)
    assert composed(costs, ones(costs), DELTA) == pytest.approx(2.654, abs=1e-3)


@given(
    costs=st.lists(st.floats(1e-4, 3), min_size=1, max_size=30),
    more=st.floats(1e-4, 3),
    delta=st.floats(1e-12, 0.1),
)
@settings(max_examples=60)
def test_it_is_at_most_the_sum_and_grows_with_every_release(costs, more, delta):
    found = composed(np.array(costs), ones(costs), delta)
    assert 0 <= found <= sum(costs) * (1 + 1e-12)
    assert found <= composed(np.array([*costs, more]), ones([*costs, more]), delta) * (1 + 1e-9)
    assert found >= composed(np.array(costs), ones(costs), min(1.0, 2 * delta)) * (1 - 1e-9)


@given(cost=st.floats(0.01, 3), alpha=st.floats(1.01, 50))
@settings(max_examples=40)
def test_the_curve_of_laplace_noise_is_renyis_divergence(cost, alpha):
    """D_α between Laplace laws of scale 1 that lie `cost` apart, integrated over a fine grid."""
    y = np.linspace(-60, 60 + cost, 200_001)
    p, q = -np.abs(y), -np.abs(y - cost)  # log-densities but for log 2
    both = np.exp(alpha * p + (1 - alpha) * q) / 2
    integral = float(both.sum() * (y[1] - y[0]))
    curve = laplace_curve(np.array([cost]), np.array([1]))
    assert curve(alpha) == pytest.approx(math.log(integral) / (alpha - 1), rel=1e-3, abs=1e-6)


def test_gaussian_noise_costs_no_less_than_exactly():
    """Balle and Wang 2018, Theorem 8: δ(ε) of the Gaussian mechanism in closed form."""
    for sigma in (0.5, 2.0, 10.0):
        for delta in (1e-3, 1e-6, 1e-10):
            epsilon = epsilon_at(delta, gaussian_curve(1.0, sigma))
            exact = norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
                -0.5 / sigma - epsilon * sigma
            )
            assert exact <= delta
            wider = epsilon_at(20 * delta, gaussian_curve(1.0, sigma))
            assert wider < epsilon


def test_nothing_released_costs_nothing():
    assert composed(np.zeros(0), ones([]), DELTA) == 0.0


def test_many_costs_are_rounded_up_and_hardly():
    costs = np.arange(1, 30_001, dtype=np.float64) ** -0.55
    costs = np.asarray(costs, dtype=np.float64)
    found = composed(costs, ones(costs), DELTA)
    exact = epsilon_at(DELTA, laplace_curve(costs, ones(costs)))
    assert exact <= found <= 1.003 * exact
