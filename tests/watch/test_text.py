"""The same as text."""

import pytest

from posse.errors import InputError, PosseError
from posse.watch import text
from tests.watch.test_feed import plan_of, told, watched
from tests.watch.test_page import served

GRAPH = {
    "system": "dp-mase",
    "variant": "corrected",
    "mode": "lab",
    "agents": 20,
    "runs": 3,
    "claimed": 0.5,
    "links": [[0, -1], [1, -1]],
}
STATE = {
    "arrived": 19,
    "running": True,
    "waiting": ["to act", [2, 3]],
    "heard": {"2": 0.1, "3": 2.5},
    "away": [5],
    "refused": {"replayed\x1b[1m": 2},
    "resent": 7,
    "restarts": [[4, 1]],
    "run": 1,
    "said": ["1 of 2 arms left", "5 votes"],
    "lost": {"6": "silent"},
    "votes": [1, 4],
    "out": [1],
    "control": 1234,
    "now": [10.0, 1234.5, 0.25],
    "flow": {
        "total": {"Vote": 5, "Eliminated": 2},
        "links": {"Vote": [[1, 4], [0, 0]], "Eliminated": [[0, 0], [1, 1]]},
    },
}


def test_all_that_the_page_says_is_said() -> None:
    assert text.lines(GRAPH, STATE) == [
        "dp-mase (corrected) · lab · run 2 of 3: goes on",
        "19 of 20 agents here · 1 of 2 arms left · 5 votes",
        "regret 1,234 · ε spent 0.25",
        "messages: 2 Eliminated, 5 Vote, 1,234 control",
        "  agent 1 – coordinator: 4 Vote, 1 Eliminated",
        "  agent 0 – coordinator: 1 Vote, 1 Eliminated",
        f"  arm 0   {'█' * 6:<24} 1",
        f"  arm 1   {'█' * 24} 4  out",
        "waiting for agent 3 to act",
        "connection lost: agent 5",
        "agent 6 is gone: silent",
        "started again: agent 4 (1)",
        "7 frames were sent again",
        "refused: 2 replayed\\x1b[1m",
    ]


def test_nothing_is_spent_where_nothing_is_promised() -> None:
    nothing = STATE | {"now": [10.0, 1234.5, 0.0]}
    assert text.lines(GRAPH | {"claimed": None}, nothing)[2] == "regret 1,234"
    assert text.lines(GRAPH, nothing)[2] == "regret 1,234 · ε spent 0"
    # what a system of one's own disclosed is said, whatever it claims
    assert text.lines(GRAPH | {"claimed": None}, STATE)[2] == "regret 1,234 · ε spent 0.25"


def test_in_the_field_neither_regret_nor_what_was_spent_is_said() -> None:
    said = text.lines(GRAPH | {"mode": "field"}, STATE)
    assert not [line for line in said if "regret" in line or "spent" in line]


def test_a_page_that_is_served_is_read_to_its_end() -> None:
    feed, _ = watched(plan_of("dp-mase"))
    state, graph = told(feed)["state"], told(feed)["graph"]
    assert "identified" in text.lines(graph, state)[0]
    with served() as (feed, url):
        events = text.events(url)
        assert [next(events)[0], next(events)[0]] == ["graph", "state"]
        feed.close([("found", "arm 0")])
        last = list(events)[-1]
    assert last == ("end", {"said": [["found", "arm 0"]], "failed": ""})


def test_what_is_no_page_is_said_in_a_sentence() -> None:
    with pytest.raises(InputError, match="the whole address"):
        next(text.events("http://127.0.0.1:1/"))
    with pytest.raises(PosseError, match="^nobody answers at 127.0.0.1:1: Connection refused$"):
        next(text.events("http://127.0.0.1:1/?token=x"))
    with served() as (_, url), pytest.raises(PosseError, match="answers 403"):
        next(text.events(url + "x"))
