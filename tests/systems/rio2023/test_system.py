"""When best-arm identification ends: by hand, by known values, by simulation."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.rio2023 import system as mase
from tests.support.conversations import examples


@given(st.floats(0.05, 0.9), st.integers(2, 100), st.floats(0.001, 0.4))
@example(0.2, 10, 0.05)
def test_samples_of_elimination_are_the_first_that_suffice(gap, arms, delta):
    def width(t):
        return 4 * math.sqrt(math.log(arms * t * t / delta) / t)

    t = mase.samples_of_elimination(gap, arms, delta)
    assert width(t) <= gap < width(t - 1)


@pytest.mark.parametrize(("votes", "rounds"), [(29, 114_098), (18, 113_535), (11, 112_908)])
def test_rounds_of_votes_against_known_values(votes, rounds):
    # T_η = 1700, N = 64, a = 1/2
    assert mase.rounds_of_votes(1700, 64, votes, 0.5) == pytest.approx(rounds, abs=1)


@examples(Path(__file__).with_name("system.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
