"""The lab's discrete Gaussian noise against its law."""

import numpy as np
import pytest
from scipy.stats import chisquare

from posse.agent.noise import SeededNoise


def assert_law(drawn, x, expected):
    """Chi-square over the numbers with at least 50 expected; false alarm 1e-4, seed fixed."""
    likely = expected >= 50
    seen = np.array([(drawn == k).sum() for k in x[likely]])
    rest = drawn.size - seen.sum(), drawn.size - expected[likely].sum()
    found = chisquare(np.append(seen, rest[0]), np.append(expected[likely], rest[1]))
    assert found.pvalue > 1e-4


@pytest.mark.parametrize("sigma", [0.7, 3.3, 40.0])
def test_discrete_gaussian_noise_has_its_law(sigma):
    values = np.full(40_000, 17, dtype=np.int64)
    drawn = SeededNoise(np.random.default_rng(1)).discrete_gaussian(values, sigma) - 17
    x = np.arange(-400, 401)
    law = np.exp(-(x**2) / (2 * sigma**2))
    assert_law(drawn, x, drawn.size * law / law.sum())


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_shares_of_discrete_laplace_noise_sum_to_it(shares):
    scale, noise = 3.5, SeededNoise(np.random.default_rng(1))
    drawn = np.full(40_000, 17, dtype=np.int64)
    for _ in range(shares):
        drawn = noise.polya(drawn, scale, shares)
    x = np.arange(-200, 201)
    law = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(x) / scale)
    assert_law(drawn - 17, x, drawn.size * law)
