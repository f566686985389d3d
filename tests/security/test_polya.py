"""Shares of discrete Laplace noise, against the laws of a share and of the sum."""

import math
import random

import numpy as np
import pytest
from scipy.stats import nbinom

from posse.security.noise import FieldNoise
from posse.security.polya import draw_share
from tests.support.laws import discrete_laplace, p_value

SCALE, SUMS = 2.5, 1_500
WIDTH = 200


def law(shares_added: int, shares: int, scale: float = SCALE) -> np.ndarray:
    """The law of a sum of that many shares on -WIDTH, …, WIDTH, by convolution."""
    k = np.arange(40 * WIDTH)
    one = nbinom.pmf(k, shares_added / shares, -math.expm1(-1 / scale))
    lags = [float(one[: len(one) - x] @ one[x:]) for x in range(WIDTH + 1)]
    return np.array([*lags[:0:-1], *lags])


def fits(drawn: np.ndarray, expected: np.ndarray) -> float:
    return p_value(drawn, np.arange(-WIDTH, WIDTH + 1), expected, least=10)


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_shares_sum_to_a_discrete_laplace_number(shares):
    """False alarm 1e-4, seed fixed."""
    below = random.Random(shares).randrange
    drawn = np.array([
        sum(draw_share(below, SCALE, shares) for _ in range(shares)) for _ in range(SUMS)
    ])  # fmt: skip
    expected = discrete_laplace(np.arange(-WIDTH, WIDTH + 1), SCALE)
    np.testing.assert_allclose(expected, law(shares, shares), atol=1e-12)
    assert fits(drawn, expected) > 1e-4


@pytest.mark.parametrize(("scale", "shares"), [(0.4, 2), (SCALE, 5), (20.0, 3)])
def test_one_share_has_its_law(scale, shares):
    """False alarm 1e-4, seed fixed; scales below, about and above one word."""
    below = random.Random(7).randrange
    drawn = np.array([draw_share(below, scale, shares) for _ in range(SUMS)])
    assert fits(drawn, law(1, shares, scale)) > 1e-4


def test_the_test_tells_half_of_the_noise_and_a_share_too_small():
    below = random.Random(3).randrange
    half = np.array([draw_share(below, SCALE / 2, 2) for _ in range(SUMS)])
    small = np.array([draw_share(below, SCALE, 3) for _ in range(SUMS)])
    assert fits(half, law(1, 2)) < 1e-9
    assert fits(small, law(1, 2)) < 1e-9


def test_the_fields_shares_have_their_law_and_keep_whole_numbers():
    """Drawn anew in each run from the operating system: false alarm 1e-9."""
    values = np.full(SUMS, -3, dtype=np.int64)
    drawn = FieldNoise().polya(values, SCALE, 2)
    assert drawn.dtype == np.int64
    assert fits(drawn + 3, law(1, 2)) > 1e-9
