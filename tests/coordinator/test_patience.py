"""How long a wait lasts, in seconds worked out by hand."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.patience import Patience
from posse.spec.runfile import EngineSpec

DEADLINE, ABSENCE = 60.0, 30.0
ENGINE = EngineSpec(deadline=DEADLINE, absence=ABSENCE, joining=DEADLINE)


def waiting(now: float = 100.0, here: int = 4) -> Patience:
    patience = Patience(ENGINE)
    patience.begin(now, here)
    return patience


PAIRS = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(PAIRS, max_size=8), st.sets(st.integers(0, 4)))
@example([(0, 1), (2, 1), (0, 2)], {1})
def test_links_of_an_agent_that_is_gone_are_down_no_longer(
    lost: list[tuple[int, int]], gone: set[int]
) -> None:
    patience = waiting()
    for by, about in lost:
        patience.outages.lost(by, about)
    for rank in gone:
        patience.forget(rank, 100.0)
    down = {frozenset(pair) for pair in lost if not gone & {*pair}}
    assert set(patience.outages.beside([])) == down


def test_who_is_away_is_waited_for_and_explains_the_silence() -> None:
    patience = waiting()
    patience.carry(100.0, [])
    patience.left(2, 110.0)
    patience.left(3, 120.0)
    assert patience.somebody_is_away
    assert patience.timer == 110.0 + ABSENCE
    assert patience.overdue(139.9) == []
    assert patience.overdue(140.0) == [2]
    patience.forget(2, 140.0)
    assert patience.timer == 120.0 + ABSENCE
    patience.returned(3, 130.0)
    assert not patience.somebody_is_away
    # 20 of the seconds since 100 were silent because agents were away
    assert patience.timer == 160.0 + 20.0


def test_the_roll_is_called_before_a_silence_ends_and_then_every_second() -> None:
    patience = waiting()
    assert patience.roll_at == 150.0  # ten seconds before
    patience.call_roll(151.0)
    assert patience.roll_at == 152.0
    patience.call_roll(152.0)  # who answered the first call need not answer the second
    assert patience.roll_at == 153.0
    assert not patience.answered(150.0)
    assert patience.answered(151.0)
    patience.moved(152.0)
    assert patience.roll_at == 202.0
    hasty = EngineSpec(deadline=8.0, absence=ABSENCE, joining=8.0)
    assert Patience(hasty).roll_at == math.inf
    short = Patience(hasty)
    short.begin(100.0, 0)
    assert short.roll_at == 104.0  # half the deadline is less


def test_a_link_that_comes_back_in_time_leaves_as_much_time_as_there_was_before() -> None:
    patience = waiting()
    patience.outages.lost(1, 2)
    patience.parted(150.0)
    assert patience.end == 160.0  # one agent's word alone moves nothing
    patience.outages.lost(2, 1)
    patience.parted(150.0)
    patience.mended(155.0)  # it is still down
    assert patience.end == 180.0
    patience.outages.back(1, 2)
    patience.mended(179.0)
    assert patience.end == 189.0  # 29 of the seconds since 100 are explained


def test_links_that_come_and_go_explain_a_silence_for_as_long_as_one_that_stays_away() -> None:
    patience = waiting()
    for number in range(200):
        now = 159.5 + number
        patience.outages.lost(1, 2)
        patience.outages.lost(2, 1)
        patience.parted(now)
        patience.outages.back(1, 2)
        patience.mended(now + 0.5)
    assert patience.end == 160.0 + ABSENCE
    patience.moved(185.0)
    assert patience.end == 185.0 + DEADLINE


def test_what_the_coordinator_itself_slept_through_counts_for_nobody() -> None:
    patience = waiting()
    patience.stood_still(400.0, 290.0)
    assert patience.end == 450.0  # of 60 s ten were over
    patience.carry(400.0, [])
    patience.left(2, 401.0)
    patience.stood_still(500.0, 90.0)
    assert patience.overdue(520.9) == []
    assert patience.overdue(521.0) == [2]
    patience.returned(2, 510.0)
    assert patience.end == 450.0 + 90.0 + 19.0
    patience.moved(600.0)
    patience.stood_still(667.5, 8.0)
    assert patience.end == 675.5  # a moment as long as it stood still


seconds = st.floats(0.125, 12.0, width=16)


@given(st.lists(st.tuples(seconds, st.integers(0, 5), st.integers(2, 6)), max_size=12))
def test_only_more_than_ever_were_ready_or_here_move_it(
    counts: list[tuple[float, int, int]],
) -> None:
    patience = waiting(here=4)
    now, end, most = 100.0, patience.end, [0, 4]
    for passed, ready, here in counts:
        now += passed
        if ready > most[0] or here > most[1]:
            end = now + 60.0
        most = [max(most[0], ready), max(most[1], here)]
        patience.counted(now, ready, here)
        assert patience.end == end


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=9))
def test_all_absences_of_an_agent_together_are_bounded(gaps: list[tuple[float, float]]) -> None:
    """However often it comes back; in the next run it has all of them again."""
    patience = waiting()
    patience.carry(100.0, [])
    now, left = 100.0, ABSENCE
    for present, away in gaps:
        now += present
        patience.left(2, now)
        assert patience.timer == pytest.approx(now + left)
        if away >= left:
            assert patience.overdue(now + left - 0.01) == []
            assert patience.overdue(now + left + 0.01) == [2]
            break
        now, left = now + away, left - away
        patience.returned(2, now)
        assert not patience.somebody_is_away
    patience.carry(now + 100.0, [])
    patience.left(3, now + 110.0)
    assert patience.timer == now + 110.0 + ABSENCE
