"""What releases cost together, against Google's numerical accountant and against formulas."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from posse.protocol.accounting import (
    Losses,
    admits,
    composed,
    epsilon_at,
    gaussian_curve,
    together,
)
from posse_systems.dubey2020.messages import release_counts
from tests.support.accounting import numerical
from tests.support.conversations import examples

DELTA = math.exp(-10)


def ones(costs):
    return np.ones(len(costs), dtype=np.int64)


@pytest.mark.parametrize(("epsilon", "T"), [(0.1, 800), (0.01, 10_000), (0.5, 100), (1.0, 50)])
def test_the_schedule_costs_no_less_than_google_says_and_hardly_more(epsilon, T):
    costs = np.array(release_counts(epsilon, 1.1, T)) ** -0.55
    ours = composed(costs, ones(costs), DELTA)
    assert numerical(costs, DELTA, least=True) <= ours
    assert ours <= 1.01 * numerical(costs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("cost", [0.01, 0.3, 2.0])
def test_equal_releases_too(cost, delta):
    for n in (1, 10, 25):
        costs = np.full(n, cost)
        ours = composed(costs, ones(costs), delta)
        assert numerical(costs, delta, least=True) <= ours * (1 + 1e-9)
        assert ours == pytest.approx(composed(np.array([cost]), np.array([n]), delta))


@given(
    costs=st.lists(st.floats(1e-4, 3), min_size=1, max_size=30),
    more=st.floats(1e-4, 3),
    delta=st.floats(1e-12, 0.1),
)
@settings(max_examples=8, deadline=None)
def test_it_is_at_most_the_sum_and_grows_with_every_release(costs, more, delta):
    found = composed(np.array(costs), ones(costs), delta)
    assert 0 <= found <= sum(costs) * (1 + 1e-12)
    assert found <= composed(np.array([*costs, more]), ones([*costs, more]), delta) * (1 + 1e-9)
    assert found >= composed(np.array(costs), ones(costs), min(1.0, 2 * delta)) * (1 - 1e-9)


@given(cost=st.floats(0.01, 3), share=st.floats(0.01, 0.99))
@settings(max_examples=8, deadline=None)
def test_one_release_costs_what_the_closed_form_says(cost, share):
    """δ(ε) = 1 - e^{(ε - c) / 2} for Laplace noise (Balle, Barthe and Gaboardi 2020)."""
    delta = share * -math.expm1(-cost / 2)
    exact = cost + 2 * math.log1p(-delta)
    found = composed(np.array([cost]), ones([cost]), delta)
    assert exact * (1 - 1e-9) <= found <= min(cost, exact + 0.01)


def gaussian_delta(epsilon, mu):
    """Balle and Wang 2018, Theorem 8."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@given(st.floats(0.5, 10.0), st.floats(-10.0, -3.0).map(lambda log: 10**log))
def test_gaussian_noise_costs_what_it_costs_exactly(sigma, delta):
    found = Losses(gaussian=1 / sigma**2).epsilon(delta)
    assert gaussian_delta(found, 1 / sigma) <= delta * (1 + 1e-9)
    assert gaussian_delta(found * (1 - 1e-4), 1 / sigma) >= delta
    assert found < epsilon_at(delta, gaussian_curve(1.0, sigma))


@settings(max_examples=12)
@given(st.floats(0.05, 2.0), st.integers(2, 10))
def test_a_persons_rewards_cost_most_in_one_release(cost, m):
    apart = Losses(laplace=((cost, m),))
    for delta in (1e-2, 1e-6):
        assert apart.epsilon(delta) <= Losses(laplace=((m * cost, 1),)).epsilon(delta) + 1e-6


@settings(max_examples=4)
@given(st.integers(0, 300), st.floats(-0.9, -0.3))
@example(0, -0.55)
@example(299, -0.55)
def test_a_schedule_of_many_costs_is_rounded_up_and_hardly(count: int, power: float) -> None:
    costs = np.arange(1, count + 1, dtype=np.float64) ** power
    exact = Losses(laplace=tuple((float(cost), 1) for cost in costs)).epsilon(DELTA)
    assert exact <= composed(costs, ones(costs), DELTA) <= 1.006 * exact


KINDS = st.sampled_from(
    [
        Losses(laplace=((0.1, 1),)),
        Losses(pure=((0.2, 1),)),
        Losses(gaussian=0.01),
        Losses(laplace=((0.05, 4),), gaussian=0.02, delta=1e-8),
    ]
)


@given(st.lists(KINDS, min_size=1, max_size=120), st.floats(0.5, 8.0))
def test_what_runs_may_still_spend_is_never_more_than_they_cost(
    losses: list[Losses], budget: float
) -> None:
    total = together(losses)
    if admits(losses, 1e-6, budget, 1e-6):
        assert min(total.epsilon(1e-6), total.epsilon(total.delta or None)) <= budget * (1 + 1e-6)
    # where all noise is Gaussian nothing is lost, as its sum is a bound whoever chose it when
    if not total.laplace + total.pure:
        assert admits(losses, 1e-6, budget, 1e-6) == (total.epsilon(1e-6) <= budget * (1 + 1e-12))


def test_an_exact_total_admits_nothing_that_was_chosen_after_others_were_seen() -> None:
    """Of runs with Laplace noise more would fit if all had been fixed before the first was seen."""
    run = Losses(laplace=((0.1, 1),))

    def most(may: Callable[[list[Losses]], bool]) -> int:
        return max(n for n in range(1, 120) if may([run] * n))

    exact = most(lambda runs: together(runs).epsilon(1e-6) <= 4)
    admitted = most(lambda runs: admits(runs, 1e-6, 4.0, 1e-6))
    assert most(lambda runs: admits(runs, 0.0, 4.0, 1e-6)) == 40  # by the sum of ε, without a δ
    assert 40 < admitted < exact
    assert not admits([Losses(gaussian=0.01)], 0.0, 5.0, 1e-6)  # needs a δ


@examples(Path(__file__).with_name("accounting.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
