"""What a page is told: exact, from both engines, and in the field no more than is documented."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse import api
from posse.engines import memory
from posse.engines.board import Board
from posse.operate.status import CoordinatorStatus, Snapshot
from posse.plan import Plan, prepare
from posse.protocol.mase import EliminationRow, VoteRow
from posse.results.record import RunRecord
from posse.watch import feed as feeds
from posse.watch.feed import Feed
from posse.watch.view import Watcher
from tests.support.field import CASES, MEANS, field, logs
from tests.support.runs import data_links

SYSTEMS = ["dp-mase", "ddp-mab", "hdp-mab", "private-ucb", "anonymous", "tdfs-ucb", "ucb1"]


def plan_of(system: str, engine: str = "memory") -> Plan:
    raw = {
        "system": system,
        "seed": 4,
        "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": list(MEANS)},
        "engine": {"kind": engine, "deadline": 20.0},
        **CASES[system],
    }
    return prepare(raw)


def watched(plan: Plan) -> tuple[Feed, RunRecord]:
    """A feed whose one run is over, and what it came to."""
    board = Board.of(plan)
    watcher = Watcher(plan)
    feed = Feed(plan, watcher, board)
    try:
        [(_, record)] = api.make_runs(plan, [0], observe=watcher.observe, board=board)
    finally:
        feed.close([("found", "arm 0")])
        board.close()
    assert isinstance(record, RunRecord)
    return feed, record


def told(feed: Feed) -> dict[str, Any]:
    """The last event of each name."""
    events = b"".join(feed.events()).decode().split("\n\n")[:-1]
    parts = [event.split("\n") for event in events]
    return {name.removeprefix("event: "): json.loads(data[6:]) for name, data in parts}


@pytest.mark.parametrize("engine", ["memory", "processes"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_at_the_end_of_a_run_all_is_what_its_record_says(system: str, engine: str) -> None:
    feed, record = watched(plan_of(system, engine))
    state = told(feed)["state"]
    sent, between = Counter[str](), Counter[tuple[int, int, str]]()
    for link in data_links(record):
        sent[link.kind] += link.messages
        between[link.source, link.target, link.kind] += link.messages
    assert state["flow"]["total"] == sent
    seen = Counter[tuple[int, int, str]]()
    for kind, (there, back) in state["flow"]["links"].items():
        for (one, other), to, fro in zip(feed.graph()["links"], there, back, strict=True):
            seen[one, other, kind] += to
            seen[other, one, kind] += fro
    assert +seen == between
    _, regret, epsilon = state["now"]
    assert regret == pytest.approx(record.regret, rel=1e-12)
    assert record.privacy is not None
    assert (epsilon or 0.0) == pytest.approx(max(record.privacy.spent_per_agent), rel=1e-12)
    votes = Counter(row.arm for _, row in VoteRow.of(record.log))
    assert state["votes"] == ([votes[arm] for arm in range(len(MEANS))] if votes else [])
    assert state["out"] == [row.arm for _, row in EliminationRow.of(record.log)]
    assert state["status"] == record.status
    assert state["grown"][-1][1:] == state["now"][1:]


def test_a_look_in_the_last_slot_gives_way_to_what_the_run_came_to() -> None:
    plan = plan_of("ucb1")
    watcher = Watcher(plan)
    feed = Feed(plan, watcher, None)
    feed.close([])  # from here on it looks when it is told to
    assert len(list(api.make_runs(plan, [0], observe=watcher.observe))) == 1
    end = watcher.view
    assert end is not None
    for regret in (1.0, 2.0):
        watcher.view = replace(end, regret=regret)
        feed._note()
    assert feed.state()["grown"] == [(0.0, 0.0, 0.0), (end.at, 2.0, end.epsilon)]


def test_the_events_of_a_small_run() -> None:
    """Worked out by hand but for what the seed decides, which the record has."""
    plan = prepare(
        {
            "system": "mase",
            "seed": 1,
            "agents": {"count": 2},
            "arms": {"kind": "bernoulli", "means": [0.9, 0.1]},
            "parameters": {"delta": 0.3},
            "engine": {"kind": "memory"},
        }
    )
    feed, record = watched(plan)
    events = told(feed)
    assert events["graph"] == {
        "system": "mase",
        "title": plan.system.title,
        "variant": "corrected",
        "mode": "lab",
        "engine": "memory",
        "unit": "rounds",
        "agents": 2,
        "arms": 2,
        "runs": 1,
        "claimed": None,
        "kinds": ["Eliminated", "Vote"],
        "links": [[0, -1], [1, -1]],
        "omitted": 0,
        "sinks": [],
        "byzantine": [],
    }
    assert events["end"] == {"said": [["found", "arm 0"]], "failed": ""}
    state = events["state"]
    del state["at"], state["grown"], state["control"]
    said = state["said"][2]
    assert said.endswith(" rounds")
    assert state.pop("now") == [record.rounds, pytest.approx(record.regret), 0.0]
    assert state == {
        "arrived": 2,
        "running": True,
        "done": 0,
        "waiting": None,
        "away": [],
        "heard": {},
        "last": {},
        "refused": {},
        "resent": 0,
        "restarts": [],
        "run": 0,
        "said": ["1 of 2 arms left", "2 votes", said],
        "share": 0.0,
        "finished": [0, 1],
        "lost": {},
        "votes": [0, 2],
        "out": [1],
        "status": "identified",
        "flow": {
            "total": {"Vote": 2, "Eliminated": 2},
            "links": {"Vote": [[1, 1], [0, 0]], "Eliminated": [[0, 0], [1, 1]]},
        },
    }


def test_in_the_field_a_page_is_told_what_the_document_lists(tmp_path: Path) -> None:
    """Votes, and what the coordinator sent and was sent; no regret, no ε, no agent's links."""
    pytest.importorskip("pydp", reason="python-dp is not installed (extra: field)")
    here = CoordinatorStatus(
        agents=4, arrived=4, running=True, heard_seconds_ago={2: 1.26}, heard={2: "Vote\x1b[2J"}
    )
    for system in ("dp-mase", "hdp-mab"):
        plan = field(system, logs(tmp_path, MEANS, seed=5))
        watcher = Watcher(plan)
        feed = Feed(plan, watcher, None)
        feed.snapshot = lambda: Snapshot(here, away=(3,))
        memory.run(plan, 0, watcher.observe)
        feed.close([])
        state = told(feed)["state"]
        assert state["now"][1:] == [None, None]
        assert state["grown"] == [[0, 0, 0]]
        assert state["heard"]["2"] == int(state["heard"]["2"])
        assert state["last"] == {"2": "Vote\\x1b[2J"}
        links = feed.graph()["links"]
        assert any(ends[1] >= 0 for ends in links) is (system == "hdp-mab")
        for there, back in state["flow"]["links"].values():
            assert {n for n, ends in enumerate(links) if ends[1] >= 0} <= {
                n for n, counts in enumerate(zip(there, back, strict=True)) if counts == (0, 0)
            }
        assert not {"Hop", "Data", "Adv"} & state["flow"]["total"].keys()


def test_each_run_of_a_series_begins_anew() -> None:
    plan = prepare(msgspec.to_builtins(plan_of("dp-mase").spec) | {"repeat": 2})
    board = Board.of(plan)
    watcher = Watcher(plan)
    feed = Feed(plan, watcher, board)
    made: Iterator[Any] = api.make_runs(plan, [0, 1], observe=watcher.observe, board=board)
    records = [record for _, record in made]
    feed.close([])
    state = told(feed)["state"]
    assert state["run"] == 1
    assert state["now"][1] == pytest.approx(records[1].regret)
    assert sum(state["votes"]) == len(VoteRow.of(records[1].log))


def test_of_many_links_some_are_told_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_LINKS", 4)
    raw = msgspec.to_builtins(plan_of("ddp-mab").spec) | {"topology": {"kind": "complete"}}
    feed, record = watched(prepare(raw))
    graph, state = told(feed)["graph"], told(feed)["state"]
    assert len(graph["links"]) == 3
    assert graph["omitted"] == 3
    assert sum(state["flow"]["total"].values()) == sum(one.messages for one in data_links(record))


def test_who_reads_during_a_run_hears_of_its_end_and_is_let_go() -> None:
    feed = Feed(plan_of("dp-mase"), Watcher(plan_of("dp-mase")), None)
    events = feed.events()
    assert next(events).startswith(b"event: graph\ndata: {")
    assert next(events).startswith(b"event: state\ndata: {")
    events.close()
    feed.close([], failed="agent 3 was lost\x07")
    assert told(feed)["end"] == {"said": [], "failed": "agent 3 was lost\\x07"}
