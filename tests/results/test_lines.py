"""What the closing table says of each family, in its own words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posse.results import words
from posse.results.record import Detail, RunRecord
from posse.system import names
from tests.support.conversations import examples
from tests.support.lab import record_of


def run(detail: Detail, **told: Any) -> RunRecord:
    ended: dict[str, Any] = {
        "run": 0,
        "seed": 0,
        "status": "horizon",
        "elapsed_seconds": 1.0,
    } | told
    return RunRecord(detail=detail, **ended)


def lines(record: RunRecord) -> dict[str, str]:
    return dict(record.detail.lines(record))


@pytest.mark.parametrize("system", names())
def test_every_label_stands_once(system: str) -> None:
    labels = [label for label, _ in words.rows([record_of(system)])]
    assert len(labels) == len(set(labels))


@examples(Path(__file__).with_name("lines.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
