"""A record and its document: the one can be had from the other, for every family."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from posse.engines import memory
from posse.results.record import RunRecord
from posse.system import get_system
from tests.support import field as support
from tests.support.conversations import examples
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


@examples(Path(__file__).with_name("record.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
