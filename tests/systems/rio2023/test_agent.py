"""Voters, against successive elimination one reward at a time, and by hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from posse.protocol.machine import (
    COORDINATOR,
    MOST_PULLS,
    Abort,
    Explore,
    Finish,
    Observed,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
    Variant,
)
from posse_systems.rio2023.agent import DpMaseVoter, MaseVoter
from posse_systems.rio2023.messages import (
    Eliminated,
    Vote,
    epoch_length,
    successive_elimination_radius,
)
from tests.support.conversations import examples
from tests.support.mase import Told, of, slow_elimination


@settings(max_examples=12)
@given(st.integers(0))
def test_local_test_equals_the_slow_form(seed: int) -> None:
    rewards = (
        np.random.default_rng(seed).random((3, 400)) < np.array([[0.9], [0.5], [0.1]])
    ).astype(float)
    voter = MaseVoter(3, 0.5, Told())
    assert voter.handle(Started(), 0.0) == [Explore((0, 1, 2))]
    when, losers = slow_elimination(rewards, 0.5)
    assume(losers)
    silent = voter.lookahead(rewards)
    assert silent == when - 1
    assert voter.handle(Observed((0, 1, 2), rewards[:, :silent]), 1.0) == []
    effects = voter.handle(Observed((0, 1, 2), rewards[:, silent : silent + 1]), 2.0)
    assert of(Send, effects) == [Send(COORDINATOR, Vote(tuple(losers)))]
    assert of(Explore, effects) == [Explore(tuple(k for k in range(3) if k not in losers))]


@given(st.integers(0, 400))
@example(191)
@example(192)
def test_lookahead_finds_the_first_activation_that_fires(index: int) -> None:
    """Two means that differ by twice the radius of this many samples, and by nothing but that."""
    voter = MaseVoter(2, 0.5, Told())
    voter.handle(Started(), 0.0)
    radius = successive_elimination_radius(np.array([index + 1]), 2, voter.failure)
    rewards = np.array([[2.000001 * float(radius[0])] * 400, [0.0] * 400])
    assert voter.lookahead(rewards) == index
    assert voter.lookahead(rewards[:, :100]) == min(index, 100)
    if index > 0:
        voter.handle(Observed((0, 1), rewards[:, :1]), 1.0)
        assert voter.lookahead(rewards[:, 1:]) == index - 1


@given(st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=5))
@example([{1}, {1}, {0, 2, 3}])
def test_a_voter_follows_the_coordinator_at_once(eliminated: list[set[int]]) -> None:
    voter, left = MaseVoter(4, 0.5, Told()), [0, 1, 2, 3]
    voter.handle(Started(), 0.0)
    for arms in eliminated:
        effects = voter.handle(Received(COORDINATOR, Eliminated((*sorted(arms),))), 1.0)
        before, left = left, [arm for arm in left if arm not in arms]
        if len(left) <= 1:
            assert effects == [Finish("done", left[0] if left else None)]
            return
        assert effects == [Explore((*left,))] * (left != before)


def dp_voter(variant: Variant = "corrected") -> DpMaseVoter:
    return DpMaseVoter(4, 0.5, 1.0, variant, Told())


@pytest.mark.parametrize(("variant", "arms_for_length"), [("corrected", 2), ("printed", 4)])
def test_dp_synchronises_only_at_an_epochs_end(variant: Variant, arms_for_length: int) -> None:
    """Printed computes R before the arms that G lost are dropped, corrected after."""
    voter = dp_voter(variant)
    voter.handle(Started(), 0.0)
    assert voter.handle(Received(COORDINATOR, Eliminated((1, 2))), 0.5) == []
    pulls = epoch_length(4, 1, 0.5, 1.0)
    effects = voter.handle(Pulled((0, 1, 2, 3), pulls, np.full(4, 0.5 * pulls)), 1.0)
    assert of(Pull, effects) == [Pull((0, 3), epoch_length(arms_for_length, 2, 0.5, 1.0))]


@given(st.sets(st.integers(0, 3), min_size=1))
@example({1, 2, 3})
@example({0, 1, 2, 3})
def test_dp_a_set_left_with_one_or_no_arm_by_synchronisation_is_done(dead: set[int]) -> None:
    voter = dp_voter()
    voter.handle(Started(), 0.0)
    voter.handle(Received(COORDINATOR, Eliminated((*sorted(dead),))), 0.5)
    effects = voter.handle(Pulled((0, 1, 2, 3), 1, np.full(4, 0.5)), 1.0)
    left = [arm for arm in range(4) if arm not in dead]
    if len(left) > 1:
        assert [order.arms for order in of(Pull, effects)] == [(*left,)]
    else:
        assert of(Finish, effects) == [Finish("done", left[0] if left else None)]


def test_dp_arms_that_cannot_be_told_apart_end_before_what_a_report_can_count() -> None:
    voter, pulled = dp_voter(), 0
    effects = voter.handle(Started(), 0.0)
    while ordered := of(Pull, effects):
        times = ordered[0].times
        pulled += 4 * times
        effects = voter.handle(Pulled((0, 1, 2, 3), times, np.full(4, 0.5 * times)), 1.0)
    assert pulled <= MOST_PULLS < pulled + 4 * epoch_length(4, voter.epoch, 0.5, 1.0)
    (abort,) = of(Abort, effects)
    assert "cannot be told apart" in abort.reason


@given(st.floats(5e-324, 1e-20))
def test_dp_an_epsilon_that_no_pulls_make_up_for_ends_in_the_same_way(epsilon: float) -> None:
    (abort,) = DpMaseVoter(2, 0.5, epsilon, "corrected", Told()).handle(Started(), 0.0)
    assert "epoch 1 " in abort.reason


@examples(Path(__file__).with_name("agent.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
