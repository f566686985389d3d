"""Esfandiari et al. 2022: decompositions, by hand."""

import pytest

from posse.papers import esfandiari_theory


def test_variance_of_an_estimate_by_hand():
    # six members, means .1, .26, .42, .58, .74, .9
    others = 0.1924 + 0.2436 + 0.2436 + 0.1924 + 0.09
    assert esfandiari_theory._variance(6) == pytest.approx(0.09 + 2 * others)
