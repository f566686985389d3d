"""Tables as CSV files, which people open in spreadsheets."""

import csv
from collections.abc import Iterable, Sequence
from typing import IO, Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(file: IO[str], header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Header and rows. Text that a spreadsheet would take for a formula has ' before it."""
    writer = csv.writer(file)
    writer.writerow(map(_plain, header))
    for row in rows:
        writer.writerow(map(_plain, row))


def _plain(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
