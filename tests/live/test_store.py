"""What was answered and confirmed is on disk, and a killed agent's desk goes on from it."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from posse.errors import PosseError
from posse.live.desk import DeskSettings, RewardRefusal, RunSoFar
from posse.live.service import Service
from posse.live.store import DecisionStore

SETTINGS = DeskSettings(names=("a", "b"), timeout=60.0, most_of_person=1)

KILLED = """
import sys, os, signal
from pathlib import Path
from posse.live.desk import DeskSettings
from posse.live.service import Service
service = Service(DeskSettings(names=("a", "b"), timeout=60.0), Path(sys.argv[1]))
service.begin(b"run")
service.order(object(), (0, 1), (1000, 1000), explore=False)
while True:
    decision = service.ask()
    print("asked", decision.id, decision.arm, flush=True)
    if decision.arm:
        service.tell(decision.id, 0.5)
        print("told", decision.id, decision.arm, flush=True)
"""


def test_a_kill_loses_nothing_that_was_answered_or_confirmed(tmp_path) -> None:
    path = tmp_path / "x.decisions"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    lines = [process.stdout.readline().split() for _ in range(60)]
    os.kill(process.pid, signal.SIGKILL)
    lines += [line.split() for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()
    asked = {id_: int(arm) for word, id_, arm in lines if word == "asked"}
    told = {id_ for word, id_, _ in lines if word == "told"}
    service = Service(SETTINGS, path)
    service.begin(b"run")
    try:
        have = service._desk.have(1)
        assert len(told) <= have <= len(told) + 1  # one may be on disk without its word
        for id_, arm in asked.items():
            if arm == 0:  # each is still open, and is taken
                assert service.tell(id_, 1.0) is True
            elif id_ in told:
                assert service.tell(id_, 0.5) is False
        assert service._desk.have(0) == list(asked.values()).count(0)
        assert service.have((0, 1), (service._desk.have(0), have))
    finally:
        service.close()


def test_the_run_goes_on_by_its_token_and_another_begins_anew(tmp_path) -> None:
    path = tmp_path / "x.decisions"
    service = Service(SETTINGS, path)
    service.begin(b"one")
    service.order(object(), (0,), (4,), explore=False)
    told, late, early = (service.ask(name) for name in ("ann", "bob", "cid"))
    service.tell(told.id, 0.25)
    service.close()
    again = Service(SETTINGS, path)
    assert again.tell(early.id, 0.75) is True  # before the agent has its run again
    again.begin(b"one")
    again.order(object(), (0,), (4,), explore=False)
    assert again.read(0, 0, 9) == [0.25, 0.75]
    assert again.have((0,), (2,))
    assert not again.have((0,), (3,))
    assert again.ask("bob") == late
    assert again.ask("ann").idle == "person"
    assert again.store.rewards_of(1) == [(0, 0.25), (0, 0.75)]
    again.finish(1)
    again.begin(b"two")
    with pytest.raises(RewardRefusal, match="too late"):
        again.tell(late.id, 1.0)
    assert again.ask().idle == "waits"
    assert again._desk.have(0) == 0
    again.close()
    last = Service(SETTINGS, path)
    assert (last.ask().arm, last.ask().idle) == (1, "waits")  # the run under way has said nothing
    last.close()


def test_a_file_that_is_not_its_owners_alone_or_is_damaged_is_refused(tmp_path) -> None:
    path = tmp_path / "x.decisions"
    store = DecisionStore(path)
    assert store.begin(b"one", 2, 0.0) == RunSoFar(run=1)
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO decisions VALUES (1, 1, 0, 5, 0, x'', 1, 3, 1.0)")
    db.close()
    store = DecisionStore(path)
    with pytest.raises(PosseError, match="a reward of arm 0 is missing"):
        store.begin(b"one", 2, 0.0)
    store.close()
    path.chmod(0o644)
    with pytest.raises(PosseError, match="owner alone"):
        DecisionStore(path)


def test_a_full_disk_is_said_and_nothing_is_confirmed(tmp_path) -> None:
    service = Service(SETTINGS, tmp_path / "x.decisions")
    service.begin(b"one")
    service.order(object(), (0,), (3,), explore=False)
    first = service.ask("ann")
    service.store._db.execute("PRAGMA query_only = ON")
    with pytest.raises(PosseError, match="cannot be written"):
        service.tell(first.id, 1.0)
    with pytest.raises(PosseError, match="cannot be written"):
        service.have((0,), (1,))
    service.close()
