"""The tables of a result for a notebook: pandas if it is installed, plain columns otherwise."""

import importlib.util
from typing import Any

from posse.results.record import RunRecord
from posse.results.tables import tables


def frame(records: list[RunRecord], name: str) -> Any:
    """The table `name` ("runs", "agents", "links", "regret") of these runs.

    A `pandas.DataFrame`, or without pandas a dict from column to list, which `polars.DataFrame`
    takes as it is.
    """
    table = next(table for table in tables(records, ()) if table.name == name)
    rows = list(table.rows)
    columns = {column: [row[n] for row in rows] for n, column in enumerate(table.header)}
    if importlib.util.find_spec("pandas") is None:
        return columns
    import pandas as pd  # noqa: PLC0415

    # a number that one run lacks must not make the column of the others floats
    return pd.DataFrame(columns).convert_dtypes()
