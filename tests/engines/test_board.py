"""What agents show of themselves: the run is the same, and showing takes a small share of time."""

import math
from types import SimpleNamespace

import pytest

from posse.engines import board as boards
from posse.engines import memory
from posse.engines.board import EPSILON, NOW, REGRET, SHOWN, Board, Showing
from posse.engines.processes import ProcessEngine
from tests.support.runs import assert_same_run, spec


def test_a_watched_run_is_the_same_run() -> None:
    plan = spec("dp-mase", agents=6)
    board = Board.of(plan)
    with ProcessEngine(plan, board=board) as engine:
        records = [engine.run(plan, number) for number in (0, 1)]
    board.close()
    for number, record in enumerate(records):
        assert_same_run(memory.run(plan, number), record)
        assert_same_run(memory.run(plan, number, board=Board.of(plan)), record)
    assert board.rows[:, SHOWN].tolist() == [2.0] * 6
    assert board.rows[:, REGRET].sum() == pytest.approx(records[1].regret)
    assert board.rows[:, EPSILON].tolist() == pytest.approx(records[1].privacy.spent_per_agent)
    assert (board.rows[:, NOW] > 0).all()


def test_what_the_last_run_sent_is_not_counted_in_the_next() -> None:
    plan = spec(
        "ddp-mab", agents=3, parameters={"epsilon": 1.0, "horizon": 2000}, topology={"kind": "ring"}
    )
    board, fresh = Board.of(plan), Board.of(plan)
    for number in (0, 1):
        memory.run(plan, number, serial=number, board=board)
    memory.run(plan, 1, serial=1, board=fresh)
    assert (board.sent == fresh.sent).all()
    assert board.sent.any()


def test_two_maps_are_one_memory() -> None:
    board = Board.of(spec("dp-mase", agents=5))
    other = Board(board.place)
    board.rows[2, REGRET], board.sent[0, 1, 2] = 4.5, 7
    assert (other.rows[2, REGRET], other.sent[0, 1, 2]) == (4.5, 7)
    board.close()


def test_unknown_means_leave_regret_unknown() -> None:
    board = Board.of(spec("ucb1", agents=2, parameters={"horizon": 10}))
    assert board.rows[:, SHOWN].tolist() == [0, 0]
    assert not math.isnan(board.rows.sum())


@pytest.mark.parametrize("plain", [0.0, 1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("composing", [0.0, 1e-3, 2e-2])
def test_agents_that_share_a_core_take_a_hundredth_of_it_to_be_shown(
    plain: float, composing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half for what is cheap, half for composing releases, but for the first time."""
    clock, used, crowd, shown = [100.0], [0.0], 32, [0, 0]
    board = Board.of(spec("dp-mase", agents=5))

    def show(host: object, *, composed: bool) -> None:
        shown[composed] += 1
        used[0] += plain + composing * composed

    clocks = SimpleNamespace(monotonic=lambda: clock[0], thread_time=lambda: used[0])
    monkeypatch.setattr(boards, "time", clocks)
    monkeypatch.setattr(board, "show", show)
    showing = Showing(board, crowd)
    showing.look([None])
    assert shown == [0, 1]
    first, seconds = used[0], 400
    for _ in range(20 * seconds):
        clock[0] += 0.05
        showing.look([None])
    assert crowd * (used[0] - first) <= 0.011 * seconds
    assert sum(shown) >= min(seconds / 2, 0.004 * seconds / (crowd * plain or 1e-9)) / 2
    before = sum(shown)
    for _ in range(3):
        showing.look([None], last=True)
    assert sum(shown) == before + 3
