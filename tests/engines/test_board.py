"""What agents show of themselves: the run is the same, and showing takes a small share of time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from posse.engines import board as boards
from posse.engines import memory
from posse.engines.board import ACTIVATIONS, EPSILON, REGRET, SHOWN, Board, Showing
from posse.engines.processes import ProcessEngine
from tests.support.runs import assert_same_run, data_links, spec
from tests.watch.test_feed import plan_of


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process agents are shown whenever they can be."""
    monkeypatch.setattr(boards, "_EVERY", 0.0)
    monkeypatch.setattr(boards, "_SHARE", math.inf)


def test_a_watched_run_is_the_same_run() -> None:
    plan = spec("dp-mase", agents=6)
    board = Board.of(plan)
    with ProcessEngine(plan, board=board) as engine:
        records = [engine.run(plan, number) for number in (0, 1)]
    board.close()
    for number, record in enumerate(records):
        assert_same_run(memory.run(plan, number), record)
        assert_same_run(memory.run(plan, number, board=Board.of(plan)), record)
    assert set(board.rows[:, SHOWN]) <= {0.0, 1.0, 2.0}
    assert 0 <= board.rows[:, REGRET].sum() <= max(record.regret for record in records)


@pytest.mark.usefixtures("always")
def test_what_is_shown_last_is_what_an_agent_reports() -> None:
    plan = spec("dp-mase", agents=6)
    board = Board.of(plan)
    record = memory.run(plan, 1, board=board)
    assert board.rows[:, SHOWN].tolist() == [2.0] * 6
    assert board.rows[:, REGRET].tolist() == record.regret_per_agent
    assert board.rows[:, ACTIVATIONS].tolist() == record.activations_per_agent
    assert board.rows[:, EPSILON].tolist() == pytest.approx(record.privacy.spent_per_agent)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("system", ["ddp-mab", "private-ucb"])
def test_what_agents_send_each_other_is_counted_by_link_and_kind(system: str) -> None:
    plan = plan_of(system)
    board = Board.of(plan)
    record = memory.run(plan, 0, board=board)
    shown = {
        (one, other, kind): int(board.sent[place, one, other])
        for place, kind in enumerate(board.place.kinds)
        for one, other in np.argwhere(board.sent[place])
    }
    assert shown == {
        (link.source, link.target, link.kind): link.messages for link in data_links(record)
    }


@pytest.mark.usefixtures("always")
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
