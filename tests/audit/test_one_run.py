"""Audits by guessing many canaries: the bound is the paper's, and half of the noise is found."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom

from posse.audit.one_run import chance, estimate, found_at_least, needed, power
from posse.plan import prepare
from tests.audit.plants import PLANTS, plan_of
from tests.support.runfile import describe_run

GUESSES = st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@given(GUESSES, st.floats(0, 5), st.just(0.0) | st.floats(1e-6, 0.1))
@example((50, 40), 1.0, 0.0)
@example((50, 40), 1.0, 1e-3)
@example((50, 0), 1.0, 0.0)
def test_right_guesses_are_no_more_than_a_binomial_number(
    counts: tuple[int, int], epsilon: float, delta: float
) -> None:
    (guesses, right), q = counts, 1 / (1 + np.exp(-epsilon))
    # the second term is of a δ, as in the paper's Appendix D
    sums = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))
    most = max(sums / np.arange(1, right + 1), default=0.0)
    wanted = min(1.0, binom.sf(right - 1, guesses, q) + 2 * 100 * delta * most)
    assert chance(100, guesses, right, epsilon, delta) == pytest.approx(wanted, abs=1e-12)


@given(st.integers(1, 1_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
@example((1_000, 800))
@example((1_000, 500))
def test_the_bound_is_the_largest_epsilon_that_is_too_small(counts: tuple[int, int]) -> None:
    guesses, right = counts
    found = found_at_least(2_000, guesses, right, error=1e-4)
    if found:
        assert chance(2_000, guesses, right, found) == pytest.approx(1e-4, rel=1e-2)
        assert found < np.log(right / max(guesses - right, 1e-9))
    else:
        assert chance(2_000, guesses, right, 0.0) > 1e-4 or right == 0
    assert found_at_least(2_000, guesses, right, 1e-3, 1e-4) <= found


def test_power_is_that_of_guesses_at_twice_the_epsilon():
    many = needed(1.0)
    assert many == 512
    assert power(many, 1.0, 0.0, 1e-4) > 0.99 > power(many // 2, 1.0, 0.0, 1e-4)
    assert needed(20.0) is None


def test_a_run_on_equal_arms_is_cut_and_counted_because_it_would_never_end():
    pytest.importorskip("pydp")
    plan = prepare(
        describe_run("dp-mase", 8, [0.7, 0.4], parameters={"epsilon": 1.0}, engine="memory")
    )
    found = estimate(plan, plan.claim.sees, 1.0, 0.0, 8_000)
    assert found is not None
    assert 0 < found.lower_bound <= 1
    assert found.canaries > 500
    cut = re.search(r"([0-9,]+) of ([0-9,]+) runs were cut", found.says)
    assert cut is not None
    assert int(cut[1]) == int(cut[2]) - 12  # all but one on the run file's rewards, and its search


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "plant", "refuted"),
    [
        ("single-mab", "honest", False),
        ("cdp-mab", "honest", False),
        ("cdp-mab", "noise-halved", True),
        ("doubling", "noise-halved", True),
    ],
)
def test_half_of_the_noise_is_found_by_guessing(mechanism, plant, refuted, monkeypatch):
    pytest.importorskip("pydp")
    plan = plan_of(mechanism)
    epsilon = plan.claim.epsilon
    assert epsilon is not None
    if plant != "honest":
        PLANTS[plant](monkeypatch, mechanism)
    found = estimate(plan, plan.claim.sees, epsilon, 0.0, 20_000)
    assert found is not None
    assert found.power > 0.98
    assert (found.lower_bound > epsilon) == refuted
    # 2,060 canaries: an honest bound lies within 3.7 deviations below ε, and by chance further
    assert found.lower_bound > (epsilon if refuted else 0)
