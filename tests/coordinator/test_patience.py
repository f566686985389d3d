"""How long a wait lasts, in seconds worked out by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.patience import Patience
from posse.spec.runfile import EngineSpec
from tests.support.conversations import examples

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


@examples(Path(__file__).with_name("patience.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
