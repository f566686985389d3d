"""What players and medium compute alike: turns, privacy's factor, Jain's index."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse_systems.tossou2015.messages import (
    deviation_factor,
    first_arm,
    jain,
    privacy_factor,
    target_rank,
)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 10**6))
def test_agreed_players_never_target_the_same(players, more, slot):
    arms, offsets = players + more, range(1, players + 1)
    assert {target_rank(slot, o, players) for o in offsets} == set(range(1, players + 1))
    assert len({first_arm(slot, o, arms) for o in offsets}) == players
    sweep = {first_arm(t, 1, arms) for t in range(1, arms + 1)}
    assert sweep == set(range(arms))


REWARDS = st.just(0.0) | st.floats(0.001, 1e3)


@given(st.lists(REWARDS, min_size=1, max_size=9), st.floats(0.01, 100.0))
@example([3.0, 0.0, 0.0], 1.0)
@example([0.0, 0.0], 1.0)
def test_jains_index_is_between_1_over_m_and_1_and_knows_no_unit(
    rewards: list[float], unit: float
) -> None:
    index = jain(rewards)
    if not any(rewards):
        assert index is None
        return
    assert index == pytest.approx(sum(rewards) ** 2 / sum(x * x for x in rewards) / len(rewards))
    assert 1 / len(rewards) - 1e-12 <= index <= 1 + 1e-12
    assert jain([unit * x for x in rewards]) == pytest.approx(index)
    assert jain([max(rewards)] * len(rewards)) == pytest.approx(1.0)


@given(st.integers(2, 10**6), st.floats(0.01, 10.0), st.floats(0.0, 100.0))
def test_the_privacy_term_is_as_printed_from_two_pulls_on_and_shrinks(
    pulls: int, epsilon: float, deviation: float
) -> None:
    for variant in ("corrected", "printed"):
        assert privacy_factor(pulls, variant) == pytest.approx(math.log(pulls) ** 1.5 / pulls)
    assert privacy_factor(1, "printed") == 0
    assert privacy_factor(1, "corrected") == pytest.approx(math.log(2) ** 1.5)
    assert pulls < 5 or privacy_factor(pulls + 1, "printed") < privacy_factor(pulls, "printed")
    term = 4 / epsilon * deviation_factor(deviation, epsilon, pulls)
    assert term == pytest.approx(math.sqrt(2) * deviation / pulls)
