"""The field's discrete Gaussian noise, which cannot be seeded, against its law."""

import numpy as np
from scipy.stats import chi2

from posse.security.noise import FieldNoise


def test_opendps_numbers_have_the_law_of_the_discrete_gaussian():
    """Chi-square over the likely numbers, 20,000 draws anew in each run: false alarm 1e-9."""
    n, sigma = 20_000, 2.5
    drawn = FieldNoise().discrete_gaussian(np.full(n, -3, dtype=np.int64), sigma) + 3
    x = np.arange(-100, 101)
    expected = np.exp(-(x**2) / (2 * sigma**2))
    expected *= n / expected.sum()
    likely = expected >= 50
    seen = np.array([(drawn == k).sum() for k in x[likely]])
    found = (((seen - expected[likely]) ** 2) / expected[likely]).sum()
    rest = n - expected[likely].sum()
    found += (n - seen.sum() - rest) ** 2 / rest
    assert found < chi2.isf(1e-9, likely.sum())
    assert drawn.dtype == np.int64


def test_large_deviations_keep_whole_numbers():
    drawn = FieldNoise().discrete_gaussian(np.zeros(50, dtype=np.int64), 1e6)
    assert len(set(drawn.tolist())) > 45  # 50 of millions of numbers hardly meet
    assert np.abs(drawn).max() < 10**7  # ten deviations
