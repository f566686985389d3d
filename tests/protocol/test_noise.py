"""The lab's discrete noise against its law; false alarm 1e-4, seed fixed."""

import numpy as np
import pytest

from posse.protocol.noise import SeededNoise
from tests.support.laws import discrete_gaussian, discrete_laplace, p_value


@pytest.mark.parametrize("sigma", [0.7, 3.3, 40.0])
def test_discrete_gaussian_noise_has_its_law(sigma):
    values = np.full(40_000, 17, dtype=np.int64)
    drawn = SeededNoise(np.random.default_rng(1)).discrete_gaussian(values, sigma) - 17
    x = np.arange(-400, 401)
    assert p_value(drawn, x, discrete_gaussian(x, sigma)) > 1e-4


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_shares_of_discrete_laplace_noise_sum_to_it(shares):
    noise = SeededNoise(np.random.default_rng(1))
    drawn = np.full(40_000, 17, dtype=np.int64)
    for _ in range(shares):
        drawn = noise.polya(drawn, 3.5, shares)
    x = np.arange(-200, 201)
    assert p_value(drawn - 17, x, discrete_laplace(x, 3.5)) > 1e-4
