"""Runs of the lab over a real log are in its ledger, and the field does not use their rows."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posse.arms.csv import CsvArms
from posse.durable import lab, ledger
from posse.durable.lifetime import read
from posse.engines import memory
from posse.errors import PosseError
from posse.plan import prepare
from tests.support.arms import context
from tests.support.ledger import Run, log, task

__all__ = ["log"]


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "_ENTERED", {})
    monkeypatch.setattr(lab, "_FAILED", set())


def ran(log: Path, *pulls: int, replace: bool = False) -> None:
    spec = CsvArms(path=str(log), count=2, replace=replace)
    ledger = lab.LabLedger(*spec.ledger("/", 3))
    ledger.begin(task(), spec.build(context()))
    ledger.uses(np.array(pulls))
    ledger.end(None)


def test_a_run_in_memory_is_entered_and_refuses_nothing(tmp_path: Path) -> None:
    for rank in range(2):
        rows = [f"{n % 2},{float(n % 2)}" for n in range(400)]
        (tmp_path / f"log-{rank}.csv").write_text("\n".join(["arm,reward", *rows, ""]))
    run: dict[str, Any] = {
        "system": "ucb1",
        "base": str(tmp_path),
        "agents": {"count": 2},
        "arms": {"kind": "csv", "path": "log-{rank}.csv", "count": 2},
        "parameters": {"horizon": 50},
    }
    plan = prepare(run)
    first = memory.run(plan, 0)
    assert memory.run(plan, 0).pulls_per_arm == first.pulls_per_arm
    books = [read(tmp_path / f"log-{rank}.csv") for rank in range(2)]
    assert [[(one.task, one.epsilon, one.agent) for one in book.runs] for book in books] == [
        [("lab: ucb1, horizon = 50", None, 0)],
        [("lab: ucb1, horizon = 50", None, 1)],
    ]
    assert [book.runs[0].rewards for book in books] == first.pulls_per_agent


def test_the_field_goes_on_behind_the_rows_of_the_lab(log: Path) -> None:
    ran(log, 2, 1)
    ran(log, 1, 3)  # the same task in the same process: the most rows of both
    book = read(log)
    assert (len(book.runs), book.rows, book.unprotected) == (1, 5, 5)
    run = Run(log, task())
    assert run.uses(9, 9) == [[0.02, 0.03, 0.04, 0.05], [0.13]]


def test_rows_drawn_with_replacement_in_the_lab_are_unknown(log: Path) -> None:
    ran(log, 2, 1, replace=True)
    assert read(log).rows is None
    with pytest.raises(PosseError, match="were drawn with replacement in an earlier run"):
        Run(log, task())


def test_what_cannot_be_entered_is_said_once_and_stops_no_run(
    log: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.LabLedger, "_tries", 2)
    monkeypatch.setattr(ledger, "_PAUSE", 0.0)
    field = Run(log, task())
    with caplog.at_level(logging.WARNING):
        ran(log, 2, 1)
        ran(log, 2, 1)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("this run of the lab is not entered in a ledger: ")
    assert "is in use by another agent" in said
    field.ends()
    assert "would take these rewards for unused" in str(lab.LabLedger(log)._unwritable("full"))
    ran(log, 2, 1)
    assert [one.rewards for one in read(log).runs] == [0, 3]
