"""Gaussian arms: their law, and what clipping makes of it."""

import numpy as np
from scipy import stats

from posse.plan import prepare
from posse.system.bounds import means_table
from tests.support.arms import ERROR_RATE, build, within
from tests.support.runfile import describe_run


def test_gaussian_rewards_have_their_law() -> None:
    arms = build({"kind": "gaussian", "means": [11.0, 10.4], "sd": 0.5})
    rewards = arms.draw(1, 5_000)
    assert stats.kstest(rewards, stats.norm(10.4, 0.5).cdf).pvalue > ERROR_RATE
    totals = np.array([arms.totals((0, 1), 16) for _ in range(5_000)])
    assert stats.kstest(totals[:, 0], stats.norm(176.0, 2.0).cdf).pvalue > ERROR_RATE


def test_gaussian_means_are_spread_outside_the_unit_interval_too() -> None:
    """Centred over two agents, whose average is the drawn mean."""
    means = {"random": "uniform", "count": 3, "low": 5.0, "high": 9.0, "spread": 0.5}
    arms = {"kind": "gaussian", "clip": [5.0, 9.0], "means": means}
    one = prepare(describe_run("cdp-mab", 2, arms, parameters={"horizon": 500, "epsilon": 1.0}))
    table = means_table(one.spec, 0)
    assert 4.5 < table.min() < table.max() < 9.5
    assert 0 < np.ptp(table, axis=0).max() <= 1.0


def test_clipped_gaussian_rewards_lie_in_the_unit_interval() -> None:
    raw = {"kind": "gaussian", "means": [1.0, 2.0], "sd": 1.0, "clip": [0.0, 2.0]}
    arms = build(raw)
    rewards, n = arms.draw(1, 20_000), 20_000
    assert (rewards >= 0).all()
    assert (rewards <= 1).all()
    # half of the draws lie above the upper bound, which is the arm's mean
    assert within((rewards == 1.0).mean(), 0.5, 0.5 / np.sqrt(n))
    # clipped draw by draw, not the sum: E clip(X, 0, 2) / 2, X ~ N(2, 1), by quadrature
    x = np.linspace(-6, 10, 160_001)
    density = stats.norm.pdf(x, 2, 1) * (x[1] - x[0])
    first, second = ((np.clip(x, 0, 2) / 2) ** p @ density for p in (1, 2))
    total = arms.totals((1,), n)[0] / n
    assert within(total, first, np.sqrt((second - first**2) / n))
