"""Rows of the log: named columns, and the cells they stand in."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.errors import LocalProtocolError
from posse.protocol.log import Row
from tests.support.conversations import examples


class Plain(Row, frozen=True):
    table: ClassVar[str] = "plain"
    agent: int
    value: float


class Open(Row, frozen=True):
    table: ClassVar[str] = "open"
    number: int
    arm: tuple[int, ...]


class OnlyOpen(Row, frozen=True):
    table: ClassVar[str] = "only-open"
    player: tuple[float, ...]


FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.builds(Plain, st.integers(0, 9), FINITE)
OPEN = st.builds(Open, st.integers(0, 9), st.lists(st.integers(0, 9), max_size=3).map(tuple))


@given(st.lists(st.tuples(FINITE, PLAIN | OPEN), max_size=9))
def test_rows_come_back_from_their_cells(noted: list[tuple[float, Row]]) -> None:
    log: dict[str, list[list[float]]] = {}
    for now, row in noted:
        log.setdefault(row.table, []).append(row.line(now))
    for kind in (Plain, Open):
        assert kind.select(log) == [(now, row) for now, row in noted if type(row) is kind]


NO_NUMBER = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, np.float64(math.nan), None, np.zeros(2)]),
    st.text(max_size=3),
    st.lists(FINITE, max_size=2),
    st.integers(min_value=1 << 63),
)


@given(NO_NUMBER)
@example("1")
@example(1 << 63)
def test_what_is_no_finite_number_is_not_noted(cell: Any) -> None:
    for row, now in ((Plain(1, cell), 1.0), (Open(1, (cell,)), 1.0), (Plain(1, 1.0), cell)):
        with pytest.raises(LocalProtocolError, match="cannot be noted: its time and all its cells"):
            row.line(now)


@examples(Path(__file__).with_name("log.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
