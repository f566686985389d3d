"""A record and its document: the one can be had from the other, for every family."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.engines import memory
from posse.results.record import Delay, Detail, Quantiles, RunRecord
from posse.results.traffic import Traffic
from posse.system import get_system
from posse_systems.tossou2015.system import PlayersDetail
from tests.support import field as support
from tests.support.lab import record_of

LAB = ["mase", "independent", "private-ucb", "tdfs-ucb", "anonymous", "parallel-ucb", "hdp-mab"]
FIELD = ["mase", "private-ucb", "tdfs-ucb"]


def through_json(record: RunRecord, system: str) -> RunRecord:
    document = json.loads(json.dumps(record.document()))
    return RunRecord.read(document, get_system(system).results.detail)


def assert_alike(read: RunRecord, record: RunRecord) -> None:
    """Equal in all that the document has."""
    assert read == msgspec.structs.replace(record, links=[], ledgers=[])
    assert read.document() == record.document()


@pytest.mark.parametrize("system", LAB)
def test_a_lab_record_is_read_back_from_its_document(system: str) -> None:
    record = record_of(system)
    assert_alike(through_json(record, system), record)


@pytest.mark.parametrize("system", FIELD)
def test_a_field_record_is_read_back_from_its_document(system: str, tmp_path: Path) -> None:
    record = memory.run(support.field(system, support.logs(tmp_path, support.MEANS, 1)), 0)
    assert_alike(through_json(record, system), record)


def test_the_family_of_the_detail_is_kept() -> None:
    record = record_of("tdfs-ucb")
    assert isinstance(through_json(record, "tdfs-ucb").detail, PlayersDetail)
    assert type(RunRecord.read(record.document()).detail) is Detail


def test_a_delay_is_written_flat() -> None:
    delay = Delay(messages=3, p50=0.1, taken={"exchange": Quantiles(2, 1.0, 2.0, 3.0, 4.0)})
    record = RunRecord(run=0, seed=0, delay=delay)
    assert record.document()["delay"] == {
        "messages": 3,
        "p50": 0.1,
        "exchange_seconds": {"count": 2, "p50": 1.0, "p90": 2.0, "p99": 3.0, "p100": 4.0},
    }
    assert RunRecord.read(record.document()).delay == delay


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    noted: Any = np.int64(2)
    record = RunRecord(run=0, seed=0, regret=np.float64(1.5), log={"t": [[noted]]})
    assert json.dumps(record.document()["regret"]) == "1.5"
    assert record.document()["log"] == {"t": [[2]]}


def test_what_a_formula_does_not_fit_is_left_out() -> None:
    plain = msgspec.to_builtins(Traffic())
    assert "closed_form" not in plain
    assert plain["cost"] == 0
    assert plain["links"] == {"agent-coordinator": 0, "coordinator-agent": 0, "agent-agent": 0}


@pytest.mark.parametrize(
    "broken",
    [{}, {"run": 0}, {"run": "x", "seed": 0}, {"run": 0, "seed": 0, "communication": {"data": 1}}],
)
def test_what_is_no_record_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        RunRecord.read(broken)


@pytest.mark.parametrize(
    ("status", "arm", "answers", "answered"),
    [
        ("identified", 0, [], True),
        ("no_consensus", None, [None], True),
        ("horizon", None, [None, None], True),
        ("missing", None, [None, None], False),
        ("exhausted", None, [], False),
        ("exhausted", None, [None, 2], True),
        ("exhausted", 1, [], True),
    ],
)
def test_a_run_that_could_not_go_on_is_answered_only_if_something_was_found(
    status: str, arm: int | None, answers: list[int | None], answered: bool
) -> None:
    record = RunRecord(run=0, seed=1, status=status, best_arm=arm, answers=answers)
    assert record.answered == answered
