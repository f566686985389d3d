"""What would hurt an agent of this machine is said in a sentence each, before it joins."""

import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posse.engines.start import room
from posse.gates import files, locks
from posse.operate import doctor
from posse.plan import Plan, prepare
from posse.security import noise
from posse.testing.small import SMALL

AWAY = "tcp://192.0.2.1:7000"
"""An address that nobody has (RFC 5737)."""


def plan() -> Plan:
    return prepare({"system": "private-ucb", **SMALL["private-ucb"]})


def test_nothing_is_said_of_a_machine_that_has_all() -> None:
    assert list(doctor.of_machine(plan())) == []


def test_too_few_processes_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_tasks", lambda: 3)
    (sentence,) = doctor.of_machine(plan())
    assert "need 8 threads and processes, and 3 are allowed here; raise that" in sentence


def test_the_fields_noise_is_missed_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(noise, "is_here", lambda: False)
    arms = {"kind": "csv", "path": "rewards-{rank}.csv", "count": 3}
    field = {**SMALL["private-ucb"], "arms": arms, "mode": "field", "base": str(tmp_path)}
    field["privacy"] = {"budget": 1000.0}
    assert noise.NEEDED in list(doctor.of_machine(prepare({"system": "private-ucb", **field})))


def test_a_good_disk_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_SLOW_DISK", 60.0)
    assert list(doctor.of_disk(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def _full(*given: object, **named: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("room", "name", "does", "said"),
    [
        (doctor, "_written", partial(next, iter([0.9, 0.2, 0.5])),
         "takes 200 ms until it is safe"),
        (locks, "take", lambda descriptor: None, "a file system without locks"),
        (files, "write", _full, "cannot be written: No space left on device"),
    ],
    ids=["slow", "without locks", "full"],
)  # fmt: skip
def test_what_is_wrong_with_a_disk_is_said(
    room: Any, name: str, does: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_SLOW_DISK", 0.05 if name == "_written" else 60.0)
    monkeypatch.setattr(room, name, does)
    (sentence,) = doctor.of_disk(tmp_path)
    assert said in sentence


def test_a_name_that_means_nothing_is_said() -> None:
    (sentence,) = doctor.of_coordinator("tcp://nowhere.invalid:7000", None, 1.0)
    assert "nowhere.invalid does not resolve" in sentence


HERE, ANY = "tcp://127.0.0.1:7000", "tcp://127.0.0.1:*"


@pytest.mark.parametrize(
    ("coordinator", "inbox", "told", "said"),
    [
        (HERE, ANY, "", []),
        (AWAY, ANY, "", ["which is themselves on any other machine"]),
        (HERE, "tcp://203.0.113.5:7101", "", ["this machine has no such address"]),
        (HERE, ANY, "CLOSED", ["would be told CLOSED, and nothing answers there"]),
    ],
)
def test_an_inbox_answers_neighbours_or_it_is_said(
    coordinator: str, inbox: str, told: str, said: list[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        found = list(doctor.of_inbox(coordinator, inbox, told and closed))
    assert len(found) == len(said)
    assert all(text.replace("CLOSED", closed) in found[0] for text in said)
