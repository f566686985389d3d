"""The state of a series under way: what is in it, how it is told, and that it goes at the end."""

import os
import time
from pathlib import Path

import msgspec
import pytest

from posse.engines import memory
from posse.hosts.status import LIVE, CoordinatorStatus
from posse.operate import live
from posse.operate.live import LiveFile, LiveState, RunState, read_live
from posse.plan import Plan
from posse_systems.rio2023.messages import VoteRow
from tests.support.field import CASES, MEANS, field, logs
from tests.support.noise import needs_noise
from tests.support.patience import PATIENCE
from tests.support.runs import spec

STATE = LiveState(
    title="dp-mase (corrected) · lab",
    runs=3,
    status=CoordinatorStatus(
        agents=20,
        arrived=19,
        running=True,
        waiting="to act",
        waiting_for=[2, 3],
        heard_seconds_ago={2: 0.1, 3: 2.5},
        frames=1234,
        refused={"replayed\x1b[1m": 2},
        away=[5],
        restarts={4: 1},
        resent=7,
    ),
    run=RunState(
        run=1,
        progress=["1 of 2 arms left", "5 votes"],
        share=0.0,
        finished=[0],
        dismissed={6: "silent\x07"},
        messages={"Vote": 5, "Eliminated": 2},
        links=[],
        regret=1234.5,
        log={},
    ),
)


def test_its_lines_say_progress_messages_and_trouble() -> None:
    assert STATE.lines() == [
        "dp-mase (corrected) · lab · Run 2 of 3 is under way",
        "19 of 20 agents here · 1 of 2 arms left · 5 votes",
        "regret 1,234",
        "messages: 1,234 from agents, 2 Eliminated, 5 Vote",
        "waiting for agent 3 to act",
        "connection lost: agent 5",
        "agent 6 is gone: silent\\x07",
        "started again: agent 4 (1)",
        "7 frames were sent again",
        "refused: 2 replayed\\x1b[1m",
    ]


def test_before_the_first_run_it_says_who_is_here() -> None:
    state = msgspec.structs.replace(STATE, run=None, status=CoordinatorStatus(agents=3, arrived=1))
    assert state.headline == "1 of 3 agents are here"


def written(plan: Plan, folder: Path, status: CoordinatorStatus | None = None) -> LiveState:
    """The file as it is after a run that was observed."""
    with LiveFile(folder, plan) as file:
        if status is not None:
            file.follow(Hub(status))
        memory.run(plan, 0, file.observe)
        until = time.monotonic() + PATIENCE
        while (found := read_live(folder)) is None or found[0].run != file._run:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert list(folder.iterdir()) == []
    return found[0]


class Hub:
    def __init__(self, status: CoordinatorStatus) -> None:
        self._status = status

    def status(self) -> CoordinatorStatus:
        return self._status


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at the run at each message, and writes at once."""
    monkeypatch.setattr(live, "_EVERY", 0.0)
    monkeypatch.setattr(live, "_SHARE", float("inf"))


def test_the_file_has_the_run_so_far_and_goes_with_its_command(tmp_path: Path) -> None:
    plan = spec("dp-mase", agents=6, engine={"kind": "memory"})
    record = memory.run(plan, 0)
    state = written(plan, tmp_path)
    assert state.status.arrived == 6
    assert state.run is not None
    assert state.run.run == 0
    assert state.run.log == record.log
    assert len(state.run.log[VoteRow.table]) > 0
    assert state.run.progress[0] == "1 of 10 arms left"
    assert set(state.run.messages) == {"Eliminated"}  # in the lab what the coordinator sent
    assert state.run.links == []


def test_neighbours_are_in_it_and_who_is_here_comes_from_the_hub(tmp_path: Path) -> None:
    plan = spec("private-ucb", agents=4, **CASES["private-ucb"])
    told = CoordinatorStatus(
        agents=4, arrived=4, running=True, waiting_for=[1], away=[3], restarts={2: 1}, resent=9
    )
    state = written(plan, tmp_path, told)
    assert state.run is not None
    assert state.run.links == [
        (a, b) for a, near in enumerate(plan.network(0).neighbours) for b in near if a < b
    ]
    assert state.status == told


def test_in_the_field_it_has_only_what_the_coordinator_sees(tmp_path: Path) -> None:
    needs_noise()
    here = CoordinatorStatus(agents=4, arrived=4, running=True, heard_seconds_ago={2: 1.26})
    for system in ("dp-mase", "hdp-mab"):
        data, folder = tmp_path / f"{system}-data", tmp_path / system
        data.mkdir()
        folder.mkdir()
        plan = field(system, logs(data, MEANS, seed=5))
        state = written(plan, folder, here)
        assert state.run is not None
        assert state.run.regret is None
        seconds = state.status.heard_seconds_ago[2]
        assert seconds == int(seconds)
        assert not {"Hop", "Data", "Adv"} & state.run.messages.keys()  # between agents
        assert bool(state.run.links) is (system == "hdp-mab")


def test_what_posse_did_not_write_is_no_state(tmp_path: Path) -> None:
    assert read_live(tmp_path) is None
    (tmp_path / LIVE).write_bytes(b"\xc1")
    assert read_live(tmp_path) is None
    (tmp_path / LIVE).write_bytes(msgspec.json.encode(STATE))
    os.utime(tmp_path / LIVE, (0, 0))
    found = read_live(tmp_path)
    assert found is not None
    assert found[0] == STATE
    assert found[1] > live.STALE
