"""docs/results.md has every table that a run leaves, and every column."""

import re
from collections.abc import Iterable

from posse.protocol.log import Row
from posse.results.tables import tables
from posse.system import get_system, names
from posse_systems.esfandiari2022.messages import RewardRow
from tests.support.blocks import ROOT

PAGE = (ROOT / "docs" / "results.md").read_text()


def documented() -> dict[str, set[str]]:
    """By table the names in its rows of the page; one without a table belongs to that above."""
    found: dict[str, set[str]] = {}
    of: list[str] = []
    for line in PAGE.splitlines():
        if not line.startswith("|") or line.startswith(("|file", "|-")):
            continue
        first, *others = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1])
        of = first or of
        for name in of:
            found.setdefault(name, set()).update(word for cell in others for word in cell)
    return found


def of_families() -> Iterable[type[Row]]:
    """Earnings of users are in `detail`."""
    kinds = {kind: None for name in names() for kind in get_system(name).results.log}
    return (kind for kind in kinds if kind is not RewardRow)


def test_every_table_of_every_system_is_there_with_every_column() -> None:
    there = documented()
    for table in tables([], ()):
        assert set(table.header) - {"run"} <= there[table.name], table.name
    for kind in of_families():
        columns = kind.columns({kind.table: [[0.0] * (len(kind.__struct_fields__) + 2)]})
        assert set(columns) <= there[kind.table], kind.table
