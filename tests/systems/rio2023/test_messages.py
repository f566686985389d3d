"""Thresholds, ξ, epochs: the formulas of Rio et al. 2023."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.machine import Variant
from posse_systems.rio2023.messages import (
    MaseParameters,
    VoteRule,
    corrupted_failure,
    eliminable,
    epoch_length,
    epoch_radius,
    successive_elimination_radius,
    threshold,
    votes_to_remove,
)
from tests.support.conversations import examples


@given(st.integers(1, 30), st.floats(0.01, 0.9))
@example(3, 0.5)
@example(3, 0.1)
def test_an_exact_power_is_not_rounded_up(votes: int, failure: float) -> None:
    assert threshold(failure**votes, failure) == votes


def test_vote_rule_follows_the_variant_unless_told() -> None:
    def votes(rule: VoteRule | None, variant: Variant) -> int:
        return votes_to_remove(MaseParameters(delta=2**-5, beta=0.5, vote_rule=rule), 3, variant)

    assert votes(None, "corrected") == 5
    assert votes(None, "printed") == 6
    assert votes("more-than", "corrected") == 6
    assert votes("at-least", "printed") == 5


@given(
    arms=st.integers(2, 500),
    epoch=st.integers(1, 12),
    beta=st.floats(0.01, 0.99),
    epsilon=st.floats(0.01, 10),
)
def test_an_epoch_is_long_enough_for_its_gap(
    arms: int, epoch: int, beta: float, epsilon: float
) -> None:
    """2 (h + c) <= Δ_e / 2: an arm that is Δ_e behind cannot survive a quiet epoch."""
    pulls = epoch_length(arms, epoch, beta, epsilon)
    assert 2 * epoch_radius(arms, epoch, beta, epsilon, pulls) <= 2.0**-epoch / 2 + 1e-12


chances = st.floats(1e-6, 0.5)


@given(st.floats(1e-12, 0.9), st.floats(1e-6, 0.9))
@example(0.05, 0.9)
@example(0.001, 0.1)
def test_the_votes_needed_are_the_fewest_whose_errors_together_are_rare_enough(
    delta: float, failure: float
) -> None:
    votes = threshold(delta, failure)
    assert failure**votes <= delta * (1 + 1e-9)
    assert votes == 1 or failure ** (votes - 1) > delta * (1 - 1e-9)


@given(st.integers(2, 20), st.integers(1, 8), chances, st.floats(0.01, 10.0))
def test_an_epochs_radius_is_below_a_quarter_of_its_gap_so_that_it_can_tell(
    arms: int, epoch: int, beta: float, epsilon: float
) -> None:
    """R is chosen so that h and c are at most Δ_e / 8 each."""
    pulls = epoch_length(arms, epoch, beta, epsilon)
    assert epoch_radius(arms, epoch, beta, epsilon, pulls) <= 2.0**-epoch / 4
    assert epoch_length(arms, epoch + 1, beta, epsilon) > pulls
    assert epoch_length(arms + 1, epoch, beta, epsilon) >= pulls


@given(st.integers(2, 20), chances)
def test_the_radius_of_successive_elimination_shrinks_with_each_sample(
    arms: int, failure: float
) -> None:
    radius = successive_elimination_radius(np.arange(2, 500), arms, failure)
    assert (np.diff(radius) < 0).all()
    more = successive_elimination_radius(np.arange(2, 500), arms + 1, failure)
    assert (more > radius).all()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6), st.floats(0.001, 1.0))
def test_the_best_arm_is_never_eliminable_and_a_wider_interval_spares_more(
    means: list[float], width: float
) -> None:
    arms = tuple(range(len(means)))
    out = eliminable(arms, np.array(means), width)
    assert means.index(max(means)) not in out
    assert set(eliminable(arms, np.array(means), 2 * width)) <= set(out)


@given(st.floats(0.01, 0.99), st.floats(0.0, 0.9), st.integers(2, 30), st.floats(0.001, 0.5))
@example(0.9, 0.05, 10, 0.05)
@example(0.9, 0.1, 10, 0.05)
def test_what_withheld_votes_leave_to_a_test_is_less_the_more_are_withheld(
    eta: float, xi: float, arms: int, delta: float
) -> None:
    printed = corrupted_failure(eta, xi, arms, delta, "printed")
    assert printed == pytest.approx(1 - (1 - eta) / (1 - xi) ** (arms - 1))
    assert printed <= corrupted_failure(eta, 0.0, arms, delta, "printed")
    assert math.isclose(corrupted_failure(eta, 0.0, arms, delta, "printed"), eta)
    assert corrupted_failure(eta, xi, arms, delta, "corrected") == max(printed, delta)


@examples(Path(__file__).with_name("messages.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
