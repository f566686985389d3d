"""Rows of the log: named columns, and the cells they stand in."""

import json
import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.protocol.errors import LocalProtocolError
from posse.protocol.log import Row


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


def test_cells_and_columns_of_an_open_row() -> None:
    rows = [Open(3, (1, 2)), Open(4, ())]
    log = {"open": [row.line(0.5) for row in rows]}
    assert log["open"] == [[0.5, 3, 1, 2], [0.5, 4]]
    assert Open.columns(log) == ["number", "arm_0", "arm_1"]
    assert OnlyOpen.columns({"only-open": [[0.5, 1.0, 2.0, 3.0]]}) == [
        "player_0",
        "player_1",
        "player_2",
    ]
    assert Open.columns({}) == ["number"]


def test_a_truth_and_numbers_of_numpys_are_numbers() -> None:
    noted: Any = Plain(True, np.float64(0.5))
    assert json.dumps(noted.line(np.int64(3))) == "[3, 1, 0.5]"
    assert json.dumps(Plain(-(2**53), 1e300).line(1.5)) == "[1.5, -9007199254740992, 1e+300]"


@pytest.mark.parametrize(
    "cell", [math.nan, math.inf, np.float64(math.nan), "1", None, [1], np.zeros(2), 1 << 63]
)
def test_what_is_no_finite_number_is_not_noted(cell: Any) -> None:
    for row, now in ((Plain(1, cell), 1.0), (Open(1, (cell,)), 1.0), (Plain(1, 1.0), cell)):
        with pytest.raises(LocalProtocolError, match="cannot be noted: its time and all its cells"):
            row.line(now)


def test_whole_numbers_that_crossed_the_wire_as_floats_are_whole_again() -> None:
    ((now, row),) = Plain.select({"plain": [[1.0, 2.0, 3.0]]})
    assert (now, row) == (1.0, Plain(2, 3.0))
    assert isinstance(row.agent, int)


@pytest.mark.parametrize("cells", [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0]])
def test_a_row_of_another_length_is_refused(cells: list[float]) -> None:
    with pytest.raises(ValueError, match="zip"):
        Plain.select({"plain": [cells]})
