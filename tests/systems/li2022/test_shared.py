"""The shared noise's deviation, against Google's accountant and its exact loss."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from posse_systems.li2022.shared import LEAST_SHARE, SharedLaplace, SharedNoise, SharedSchedule


def noise(agents=8, epsilon=0.5, delta=1e-6, honest=0.5, precision=16):
    return SharedNoise(agents, epsilon, delta, honest, precision)


@settings(max_examples=4)
@given(st.floats(0.1, 4.0), st.floats(-9.0, -3.0).map(lambda log: 10**log))
def test_the_honest_shares_alone_cost_epsilon_and_hardly_less(epsilon, delta):
    shared = noise(epsilon=epsilon, delta=delta)
    alone = shared.share * math.sqrt(shared.honest_agents)
    assert alone == pytest.approx(shared.deviation)
    exact = pld.from_gaussian_mechanism(alone, sensitivity=shared.sensitivity)
    found = exact.get_epsilon_for_delta(delta)
    assert 0.8 * epsilon < found <= epsilon


def pmf(sigma, width):
    """N_Z(0, σ²) on -width, …, width."""
    x = np.arange(-width, width + 1)
    p = np.exp(-(x**2) / (2 * sigma**2))
    return p / p.sum()


@pytest.mark.parametrize("agents", [1, 2, 5])
def test_the_exact_loss_of_a_sum_of_discrete_gaussians_is_within_delta(agents):
    """δ(ε) of the convolution of n shares, against the sum moved by Δ, with no approximation."""
    epsilon, delta = 1.0, 1e-4
    shared = noise(agents, epsilon, delta, honest=1.0, precision=4)
    assert shared.share >= LEAST_SHARE
    total = np.ones(1)
    for _ in range(agents):
        total = np.convolve(total, pmf(shared.share, 600))
    moved = np.zeros(len(total) + shared.sensitivity)
    moved[shared.sensitivity :] = total
    still = np.zeros(len(moved))
    still[: len(total)] = total
    found = float(np.maximum(still - math.exp(epsilon) * moved, 0).sum())
    assert 0.02 * delta < found <= delta


@given(st.integers(1, 40), st.floats(0.01, 1.0))
@example(5, 0.5)
def test_how_many_must_be_honest(agents, honest):
    shared = noise(agents, honest=honest)
    enough = math.ceil(honest * agents)
    assert shared.honest_agents == enough
    assert shared.total == pytest.approx(shared.deviation / 2**16 * math.sqrt(agents / enough))


@given(st.floats(0.0, 1.0))
def test_one_reward_moves_a_sum_by_at_most_the_sensitivity(x):
    shared = noise(precision=3)
    for rest in np.linspace(0, 10, 321):
        one, other = shared.to_integers(np.array([rest, rest + x]))
        assert abs(int(other) - int(one)) <= shared.sensitivity


@given(st.lists(st.integers(0, 10**6).map(lambda n: n / 64), max_size=5), st.integers(-99, 99))
@example([0.0, 12.5, 3000.25], -5)
def test_words_and_back(sums, noise_):
    shared = noise()
    words = (shared.to_integers(np.array(sums)) + noise_ * 2**16).view(np.uint64)
    np.testing.assert_allclose(shared.from_words(words), np.array(sums) + noise_)


def test_the_radius_covers_the_noise_and_the_schedule_makes_it_a_quarter():
    """After r rounds the noise of ȳ has deviation σ sqrt(r) / (M S); 2 e^-P_r lies outside."""
    shared = noise()
    schedule = SharedSchedule(
        deviation=shared.total, arms=4, senders=8, horizon=10_000, epsilon=0.5
    )
    observed = 0
    for r in range(1, 6):
        observed = schedule.observations(r, 4, observed)
        log_active, log_all = schedule.logs(r, 4)
        statistical = math.sqrt(log_active / (2 * 8 * observed))
        private = schedule.radius(r, 4, observed) - statistical
        deviation = shared.total * math.sqrt(r) / (8 * observed)
        assert private == pytest.approx(deviation * math.sqrt(2 * log_all))
        assert private <= schedule.aim(r) / 4 * (1 + 1e-12)


def test_fits():
    assert noise(precision=16).fits(10**9)
    assert not noise(precision=32).fits(10**9)


def laplace(agents=8, epsilon=0.5, honest=0.5, precision=16):
    return SharedLaplace(agents, epsilon, 0.0, honest, precision)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("precision", [0, 16])
def test_laplace_shares_cost_epsilon_without_a_delta(epsilon, precision):
    shared = laplace(epsilon=epsilon, precision=precision)
    assert shared.losses.epsilon(0.0) == shared.losses.epsilon(None) == epsilon
    exact = pld.from_discrete_laplace_mechanism(1 / shared.scale, shared.sensitivity)
    assert exact.get_epsilon_for_delta(0.0) <= epsilon + 1e-4  # its grid
    for delta in (1e-3, 0.1 * epsilon):
        assert exact.get_epsilon_for_delta(delta) <= shared.losses.epsilon(delta) + 1e-4


@pytest.mark.parametrize("agents", [1, 2, 5])
def test_the_exact_loss_of_a_sum_of_polya_shares_is_epsilon(agents):
    """Of the convolution of n shares, with no approximation; and of one share alone."""
    shared = laplace(agents, 1.0, honest=1.0, precision=3)
    stop, k = -math.expm1(-1 / shared.scale), np.arange(4000)

    def most(shape):
        one = nbinom.pmf(k, shape, stop)
        p = np.array([one[: len(one) - x] @ one[x:] for x in range(300)])
        x = np.arange(-200, 200)
        return float(np.log(p[np.abs(x)] / p[np.abs(x + shared.sensitivity)]).max())

    assert most(1.0) == pytest.approx(shared.sensitivity / shared.scale, rel=1e-9)
    assert most(1.0) <= shared.epsilon
    assert most(1 / agents) == pytest.approx(shared.losses_alone.epsilon(0.0), rel=1e-9)


def test_the_variance_of_laplace_shares_is_exact():
    """2 q / (1 - q)² = 1 / (2 sinh²(1 / 2b)), of which `deviation` says less than a word more."""
    for precision in (0, 3, 16):
        shared = laplace(precision=precision)
        exact = 1 / (math.sqrt(2) * math.sinh(1 / (2 * shared.scale)))
        assert exact <= shared.deviation < exact + 1
        assert shared.total == pytest.approx(shared.deviation * math.sqrt(2) / 2**precision)


def test_the_radius_covers_laplace_noise():
    """The noise of r rounds of all agents leaves the radius at most twice in e^P_r."""
    shared = laplace(agents=8, honest=1.0, precision=2)
    schedule = SharedSchedule(
        deviation=shared.total, tail=shared.tail, arms=4, senders=8, horizon=10_000, epsilon=0.5
    )
    r, log_all = 3, 4.0
    k = np.arange(6000)
    one = nbinom.pmf(k, r, -math.expm1(-1 / shared.scale))
    width = schedule.private(r, log_all) * 8 * 2**2
    beyond = sum(float(one[: len(one) - x] @ one[x:]) for x in range(math.ceil(width), 1500))
    assert 1e-3 * math.exp(-log_all) < beyond <= math.exp(-log_all)
