"""Rows of the log: named columns, and the cells they stand in."""

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.log import Row


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


PLAIN = st.builds(Plain, st.integers(0, 9), st.floats(allow_nan=False))
OPEN = st.builds(Open, st.integers(0, 9), st.lists(st.integers(0, 9), max_size=3).map(tuple))


@given(st.lists(st.tuples(st.floats(allow_nan=False), PLAIN | OPEN), max_size=9))
def test_rows_come_back_from_their_cells(noted: list[tuple[float, Row]]) -> None:
    log: dict[str, list[list[float]]] = {}
    for now, row in noted:
        log.setdefault(row.table, []).append([now, *row.cells()])
    for kind in (Plain, Open):
        assert kind.of(log) == [(now, row) for now, row in noted if type(row) is kind]


def test_cells_and_columns_of_an_open_row() -> None:
    rows = [Open(3, (1, 2)), Open(4, ())]
    log = {"open": [[0.5, *row.cells()] for row in rows]}
    assert log["open"] == [[0.5, 3, 1, 2], [0.5, 4]]
    assert Open.columns(log) == ["number", "arm_0", "arm_1"]
    assert OnlyOpen.columns({"only-open": [[0.5, 1.0, 2.0, 3.0]]}) == [
        "player_0",
        "player_1",
        "player_2",
    ]
    assert Open.columns({}) == ["number"]


def test_whole_numbers_that_crossed_the_wire_as_floats_are_whole_again() -> None:
    ((now, row),) = Plain.of({"plain": [[1.0, 2.0, 3.0]]})
    assert (now, row) == (1.0, Plain(2, 3.0))
    assert isinstance(row.agent, int)


@pytest.mark.parametrize("cells", [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0]])
def test_a_row_of_another_length_is_refused(cells: list[float]) -> None:
    with pytest.raises(ValueError, match="zip"):
        Plain.of({"plain": [cells]})
