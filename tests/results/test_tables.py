"""The tables of a directory: a header over every column, for every family."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.durable.directory import RunDirectory
from posse.engines import memory
from posse.plan import Plan
from posse.protocol.errors import LocalProtocolError
from posse.results.base import PLAIN
from posse.results.record import RunRecord
from posse.results.tables import tables, write
from posse.system import get_system, names
from posse_systems.rio2023.messages import VoteRow
from tests.support import field as support
from tests.support.lab import lab, record_of


def of_lab(path: Path, system: str) -> dict[str, list[list[str]]]:
    """The tables of two runs of the lab."""
    return written(path, lab(system), [record_of(system, number) for number in (0, 1)])


def written(path: Path, plan: Plan, records: list[RunRecord]) -> dict[str, list[list[str]]]:
    """Each table's rows, its header first."""
    directory = RunDirectory(path, plan).open()
    directory.fail("to see the tables", records)
    tables = {}
    for file in path.glob("*.csv"):
        with file.open(newline="") as opened:
            tables[file.stem] = list(csv.reader(opened))
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("system", names())
def test_every_table_of_the_log_is_written_and_every_column_has_a_name(
    system: str, tmp_path: Path
) -> None:
    tables = of_lab(tmp_path, system)
    noted = set(record_of(system).log)
    assert noted <= set(tables) - {"runs", "agents", "links", "regret"}
    for name, (header, *rows) in tables.items():
        assert len(set(header)) == len(header), name
        assert all(len(row) == len(header) for row in rows), name
        assert all(header), name


@pytest.mark.parametrize(
    ("system", "table", "header"),
    [
        ("ucb1", "agents", "run,agent,answer,activations,pulls,epsilon_spent"),
        ("mase", "votes", "run,now,agent,arm"),
        ("cdp-mab", "rounds", "run,now,round,arms_left,observations,asked"),
        ("tdfs-ucb", "rewards", "run,now,player_0,player_1,player_2,player_3"),
        ("anonymous", "group-size", "run,now,size,groups"),
    ],
)
def test_the_columns_are_what_the_rows_say(
    system: str, table: str, header: str, tmp_path: Path
) -> None:
    assert ",".join(of_lab(tmp_path, system)[table][0]) == header


def test_a_row_of_a_table_that_the_system_does_not_name_is_a_defect() -> None:
    assert get_system("mase").results.line(VoteRow(0, 1), 2.0) == [2.0, 0, 1]
    with pytest.raises(LocalProtocolError, match="does not name VoteRow among the tables"):
        PLAIN.line(VoteRow(0, 1), 2.0)


def test_what_is_not_known_in_the_field_is_empty(tmp_path: Path) -> None:
    spec = support.field("mase", support.logs(tmp_path, support.MEANS, 1))
    tables = written(tmp_path / "out", spec, [memory.run(spec, 0)])
    header, first, *_ = tables["agents"]
    row = dict(zip(header, first, strict=True))
    assert row["answer"] == "0"
    assert row["activations"] == row["pulls"] == row["epsilon_spent"] == ""
    header, first, *_ = tables["runs"]
    row = dict(zip(header, first, strict=True))
    assert row["pulls"] == row["regret"] == ""
    assert int(row["data_messages"]) > 0


@pytest.mark.parametrize(("system", "promised"), [("central", False), ("dp-mase", True)])
def test_what_was_spent_is_told_where_something_was_or_was_promised(
    system: str, promised: bool
) -> None:
    record = memory.run(lab(system), 0)
    assert record.privacy is not None
    for spent, known in (([0.0] * 4, promised), ([2.0, 0.0, 0.0, 0.0], True)):
        record.privacy.spent_per_agent = spent
        (agents,) = (table for table in tables([record], ()) if table.name == "agents")
        assert [row[-1] for row in agents.rows] == (spent if known else [None] * 4)


CELLS = st.none() | st.floats(-99, 99) | st.text("=+-@ a1';\t", max_size=5) | st.text(max_size=5)


@given(CELLS)
@example('=HYPERLINK("http://evil.example")')
@example("-cmd|' /C calc'!A0")
@example("\t=1")
@example("+1")
@example("@SUM(A1)")
@example(None)
@example(-1.5)
@example("arm 3")
def test_text_is_no_formula_and_numbers_are_numbers(cell: object) -> None:
    file = io.StringIO(newline="")
    write(file, ["name", cell], [[cell, 2]])
    (_, header), (first, two) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert (header, two) == (first, "2")
    if isinstance(cell, str):
        assert first.replace("'", "") == cell.replace("'", "")
        parts = re.split("[;\t]", first)  # as spreadsheets of many countries do
        assert not any(part.strip().startswith(("=", "+", "-", "@")) for part in parts)
    else:
        assert first == ("" if cell is None else str(cell))
