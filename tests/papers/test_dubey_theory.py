"""Dubey and Pentland 2020: releases and the robust mean, by hand."""

import pytest

from posse.papers import dubey_theory
from tests.support.papers import GENERATOR


def test_releases_of_both_readings():
    assert dubey_theory.releases("corrected", 0.1, 46) == [7, 16, 26, 36, 46]
    assert dubey_theory.releases("printed", 0.1, 14) == [4, 8, 11, 14]


def test_the_printed_robust_mean_takes_one_atom():
    printed = dubey_theory.trimmed("printed", GENERATOR(5), 0.3, 150)["value"]
    assert printed == pytest.approx(-0.3, abs=0.02)
    assert abs(dubey_theory.trimmed("corrected", GENERATOR(5), 0.3, 150)["value"]) < 0.02
