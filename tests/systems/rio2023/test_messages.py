"""Thresholds, ξ, epochs: the formulas of Rio et al. 2023."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.assembly import no_report
from posse.protocol import control
from posse.protocol.bounds import MOST_ARMS
from posse.protocol.machine import Variant
from posse.protocol.privacy import Release
from posse.protocol.wire import MAX_DATA
from posse_systems.rio2023.messages import (
    MaseParameters,
    Sample,
    VoteRule,
    corrupted_failure,
    eliminable,
    epoch_length,
    epoch_radius,
    successive_elimination_radius,
    threshold,
    votes_to_remove,
)


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


def test_eta_xi_stops_at_delta_in_corrected_only() -> None:
    limit = 1 - 0.1 ** (1 / 9)
    assert corrupted_failure(0.9, limit + 1e-6, 10, 0.05, "printed") < 0
    assert corrupted_failure(0.9, limit + 1e-6, 10, 0.05, "corrected") == 0.05
    # of 10,001 arms .9^10000 is 0 as a float
    assert corrupted_failure(0.9, 0.1, 10_001, 0.05, "corrected") == 0.05
    assert corrupted_failure(0.9, 0.1, 10_001, 0.05, "printed") < -1e300


def test_epoch_length_by_hand() -> None:
    # k = 10, e = 1, beta = .5: 32 ln(160) / .25 = 649.6; 8 ln(80) / (.1 * .5) = 701.1
    assert epoch_length(10, 1, 0.5, 100.0) == math.ceil(128 * math.log(160)) == 650
    assert epoch_length(10, 1, 0.5, 0.1) == math.ceil(160 * math.log(80)) == 702


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


def test_of_as_many_arms_as_a_run_may_have_all_fit_one_message() -> None:
    """Their rewards, the report about them, and 16 bytes for each as in a masked sum."""
    sample = Sample(tuple(range(MOST_ARMS)), bytes(8 * MOST_ARMS))
    rows = [Release("laplace", 1.0, 1.0, 1.0 / n, "b") for n in range(1, 5_001)]
    report = msgspec.structs.replace(no_report(MOST_ARMS), releases=rows)
    assert len(msgspec.msgpack.encode(sample)) < MAX_DATA
    parts = [*control.in_parts(report)]
    assert max(len(msgspec.msgpack.encode(part)) for part in parts) < MAX_DATA
    given = [part for part in parts if isinstance(part, control.ReportRows)]
    assert isinstance(parts[-1], control.Report)
    assert control.whole(given, parts[-1]) == report
    assert 16 * MOST_ARMS + 1_024 < MAX_DATA


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
