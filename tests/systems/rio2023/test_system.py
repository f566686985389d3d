"""When best-arm identification ends: by hand, by known values, by simulation."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.rio2023 import system as mase
from posse_systems.rio2023.messages import epoch_length


@given(st.floats(0.05, 0.9), st.integers(2, 100), st.floats(0.001, 0.4))
@example(0.2, 10, 0.05)
def test_samples_of_elimination_are_the_first_that_suffice(gap, arms, delta):
    def width(t):
        return 4 * math.sqrt(math.log(arms * t * t / delta) / t)

    t = mase.samples_of_elimination(gap, arms, delta)
    assert width(t) <= gap < width(t - 1)


def test_samples_of_epochs_by_hand():
    # gap .2: Δ_e = .5, .25, .125, so three epochs
    wanted = sum(epoch_length(10, e, 0.5, 0.1) for e in (1, 2, 3))
    assert mase.samples_of_epochs(0.2, 10, 0.5, 0.1) == wanted
    # a gap of exactly 2^-e needs the next epoch: the test is strict
    assert mase.samples_of_epochs(0.5, 10, 0.5, 0.1) == sum(
        epoch_length(10, e, 0.5, 0.1) for e in (1, 2)
    )


def test_an_arm_of_a_gap_above_one_leaves_in_the_first_epoch():
    # R(1, K), as of a gap of 1: Δ_1 = 1/2 is below either
    assert mase.samples_of_epochs(1.0, 3, 0.5, 1.0) == epoch_length(3, 1, 0.5, 1.0)
    assert mase.samples_of_epochs(10.0, 3, 0.5, 1.0) == epoch_length(3, 1, 0.5, 1.0)


@pytest.mark.parametrize(("votes", "rounds"), [(29, 114_098), (18, 113_535), (11, 112_908)])
def test_rounds_of_votes_against_known_values(votes, rounds):
    # T_η = 1700, N = 64, a = 1/2
    assert mase.rounds_of_votes(1700, 64, votes, 0.5) == pytest.approx(rounds, abs=1)


def test_rounds_of_votes_against_a_simulation():
    generator = np.random.default_rng(5)
    samples, agents, votes, confidence = 40, 64, 3, 0.9
    rounds = mase.rounds_of_votes(samples, agents, votes, confidence)
    active = generator.multinomial(int(rounds), [1 / agents] * agents, size=10_000)
    done = (active[:, :votes] >= samples).all(axis=1).mean()
    # the standard error is .003; at a fixed number of rounds the counts vary by 1/N less
    assert done == pytest.approx(confidence, abs=0.02)
