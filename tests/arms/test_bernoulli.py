"""Bernoulli arms: their law, one by one and in sums."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from posse.arms.bernoulli import Bernoulli
from tests.support.arms import ERROR_RATE, build, within


def test_bernoulli_rewards_have_their_law() -> None:
    means, n = [0.7, 0.05, 1.0, 0.0], 40_000
    arms = build({"kind": "bernoulli", "means": means})
    for k, mean in enumerate(means):
        rewards = arms.draw(k, n)
        assert set(np.unique(rewards)) <= {0.0, 1.0}
        assert within(rewards.mean(), mean, np.sqrt(mean * (1 - mean) / n))


def test_bernoulli_totals_are_binomial() -> None:
    times, n = 20, 5_000
    arms = build({"kind": "bernoulli", "means": [0.3, 0.6]})
    totals = np.array([arms.totals((0, 1), times) for _ in range(n)])
    for k, mean in enumerate((0.3, 0.6)):
        cells = np.arange(times + 1)
        expected = stats.binom.pmf(cells, times, mean) * n
        keep = expected >= 5
        observed = np.array([(totals[:, k] == c).sum() for c in cells])
        seen = np.append(observed[keep], observed[~keep].sum())
        wanted = np.append(expected[keep], expected[~keep].sum())
        assert stats.chisquare(seen, wanted).pvalue > ERROR_RATE
    assert within(np.corrcoef(totals.T)[0, 1], 0.0, 1 / np.sqrt(n))


@given(st.lists(st.integers(1, 10**9), max_size=4), st.integers(0, 99))
@example([1, 30, 10**9], 1)
def test_totals_drawn_one_by_one_are_those_drawn_together(orders: list[int], seed: int) -> None:
    means = np.linspace(0.05, 0.95, 12)
    one_by_one, together = (Bernoulli(means, np.random.default_rng(seed)) for _ in range(2))
    for times in orders:
        drawn = together.generator.binomial(times, means)
        assert one_by_one.totals(tuple(range(12)), times).tolist() == drawn.tolist()
