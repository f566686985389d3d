"""Who is what in a run under way, and when its graph is drawn."""

from dataclasses import replace

import msgspec

from posse.operate.live import STALE
from posse.reading import folder as folders
from posse.report import run_page, under_way
from tests.operate.test_live import STATE
from tests.report.test_report import make


def test_each_agent_has_one_role_the_worst() -> None:
    assert under_way.roles(STATE) == {
        "gone": {6},
        "disconnected": {5},
        "finished": {0},
        "waited for": {3},
    }
    status = msgspec.structs.replace(STATE.status, away=[3, 5, 6])
    worse = msgspec.structs.replace(STATE, status=status)
    assert "waited for" not in under_way.roles(worse)


def test_a_graph_is_drawn_where_agents_have_neighbours(tmp_path) -> None:
    series = under_way_with(folders.read(make(tmp_path / "run")), STATE)
    assert [chart.name for chart in under_way.section(series).charts] == []
    run = msgspec.structs.replace(STATE.run, links=[(0, 1), (1, 2)])
    series = under_way_with(series, msgspec.structs.replace(STATE, run=run))
    [chart] = under_way.section(series).charts
    assert chart.caption == (
        "Gone: agent 6. Disconnected: agent 5. Finished: agent 0. Waited for: agent 3."
    )
    assert chart.rows == [(0, 1), (1, 2)]


def test_which_run_is_under_way_is_said_once(tmp_path) -> None:
    series = under_way_with(folders.read(make(tmp_path / "run")), STATE)
    shown = run_page.run_page(replace(series, runs=[])).html().partition("<body")[2]
    assert shown.count("Run 2 of 3 is under way") == 1
    assert ("Run", "2 of 3") in under_way.section(series).terms  # the title says what was found


def test_old_news_are_said_to_be_old(tmp_path) -> None:
    series = under_way_with(folders.read(make(tmp_path / "run")), STATE)
    assert run_page.run_page(series).alerts == []
    late = under_way_with(series, STATE, age=STALE + 2)
    assert run_page.run_page(late).alerts == [
        "This series says nothing any more: its last news are 12 s old."
    ]


def under_way_with(series: folders.Series, state, age: float = 0.0) -> folders.Series:
    """The series, under way."""
    return replace(series, live=state, live_age=age, failure="it goes on")
