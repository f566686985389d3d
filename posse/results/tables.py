"""The tables of a series of runs, written to its folder as CSV files."""

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import msgspec

from posse.gates import shown
from posse.protocol.control import LinkCount
from posse.protocol.log import Row
from posse.results.measures import MEASURES
from posse.results.record import RunRecord


@dataclass(frozen=True)
class CsvTable:
    """A named table; each row has one value per column of `header`."""

    name: str
    header: Sequence[str]
    rows: Iterable[Sequence[Any]]


def tables(records: list[RunRecord], log: Iterable[type[Row]]) -> Iterator[CsvTable]:
    """Runs, agents, links, regret, and the tables of the coordinator's `log` that have rows."""
    yield CsvTable(
        "runs",
        ("run", "seed", "status", "best_arm", *(measure.name for measure in MEASURES)),
        (
            (run.run, run.seed, run.status, run.best_arm, *(m.read(run) for m in MEASURES))
            for run in records
        ),
    )
    yield CsvTable(
        "agents",
        ("run", "agent", "answer", "activations", "pulls", "epsilon_spent"),
        (row for run in records for row in _agents(run)),
    )
    yield CsvTable(
        "links",
        ("run", *LinkCount.__struct_fields__),
        ((run.run, *msgspec.structs.astuple(link)) for run in records for link in run.links),
    )
    yield CsvTable(
        "regret",
        ("run", "t", "regret"),
        ((run.run, *point) for run in records for point in run.regret_curve or ()),
    )
    for kind in log:
        rows = {kind.table: [row for run in records for row in run.log.get(kind.table, ())]}
        if rows[kind.table]:
            yield CsvTable(
                kind.table,
                ("run", "now", *kind.columns(rows)),
                ((run.run, *row) for run in records for row in run.log.get(kind.table, ())),
            )


def _agents(run: RunRecord) -> Iterator[tuple[Any, ...]]:
    """A row per agent; unknown cells are None, and so is ε if none was promised or spent."""
    unknown = [None] * len(run.answers)
    spent = run.privacy.spent_per_agent if run.privacy is not None else None
    if run.privacy is not None and not run.privacy.claim.guarantees and not any(spent or ()):
        spent = None
    columns = (
        run.answers,
        run.activations_per_agent or unknown,
        run.pulls_per_agent or unknown,
        spent or unknown,
    )
    for agent, values in enumerate(zip(*columns, strict=True)):
        yield run.run, agent, *values


def write(file: IO[str], header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Write header and rows. See `posse.gates.shown.cell`."""
    writer = csv.writer(file)
    writer.writerow(map(_plain, header))
    for row in rows:
        writer.writerow(map(_plain, row))


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return ""
    return shown.cell(cell) if isinstance(cell, str) else cell
