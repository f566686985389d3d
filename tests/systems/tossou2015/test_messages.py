"""What players and medium compute alike: turns, privacy's factor, Jain's index."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse_systems.tossou2015.messages import first_arm, jain, privacy_factor, target_rank


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 10**6))
def test_agreed_players_never_target_the_same(players, more, slot):
    arms, offsets = players + more, range(1, players + 1)
    assert {target_rank(slot, o, players) for o in offsets} == set(range(1, players + 1))
    assert len({first_arm(slot, o, arms) for o in offsets}) == players
    sweep = {first_arm(t, 1, arms) for t in range(1, arms + 1)}
    assert sweep == set(range(arms))


def test_privacy_factor_by_hand():
    assert privacy_factor(1, "printed") == 0
    assert privacy_factor(1, "corrected") == pytest.approx(math.log(2) ** 1.5)
    for variant in ("printed", "corrected"):
        assert privacy_factor(8, variant) == pytest.approx(math.log(8) ** 1.5 / 8)


def test_jain():
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1)
    assert jain([3.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert jain([0.0, 0.0]) is None
