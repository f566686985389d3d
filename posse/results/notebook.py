"""Shows a result in a notebook: its tables, the closing table, and the curve of the regret."""

import importlib.util
import io
import reprlib
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from posse.results.record import RunRecord
from posse.results.tables import tables

_POINTS = 200

_TYPES = {
    **dict.fromkeys(("t", "regret", "rewards", "elapsed_seconds", "epsilon_spent"), "Float64"),
    **dict.fromkeys(("status", "kind"), "string"),
    "right": "boolean",
}
"""Of columns in pandas, also where nothing is known; all others are Int64."""


class Columns(dict[str, list[Any]]):
    """A table as a dict of its columns, which a prompt shows by its first rows only."""

    def __repr__(self) -> str:
        """Its size, and the first value of each column."""
        count = len(next(iter(self.values()), ()))
        names = [f"  {name}: {reprlib.repr(column)}" for name, column in self.items()]
        head = f"{count} rows in {len(self)} columns (with pandas installed, a DataFrame)"
        return "\n".join([head, *names])


def frame(records: list[RunRecord], name: str) -> Any:
    """The table `name` ("runs", "agents", "links", "regret") of these runs.

    A `pandas.DataFrame`; without pandas `Columns`, which `polars.DataFrame` accepts.
    """
    table = next(table for table in tables(records, ()) if table.name == name)
    rows = list(table.rows)
    columns = Columns((column, [row[n] for row in rows]) for n, column in enumerate(table.header))
    if importlib.util.find_spec("pandas") is None:
        return columns
    import pandas as pd  # noqa: PLC0415

    # these have a missing value of their own, so that one does not turn counts into floats
    return pd.DataFrame(
        {
            name: pd.array(column, dtype=_TYPES.get(name, "Int64"))
            for name, column in columns.items()
        }
    )


def as_frame(rows: Sequence[dict[str, Any]]) -> Any:
    """A table of these rows, of which some may lack a column; types as `frame` has them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = Columns((name, [row.get(name) for row in rows]) for name in names)
    if importlib.util.find_spec("pandas") is None:
        return columns
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(columns).convert_dtypes()


def html(head: str, rows: Sequence[tuple[str, str]], runs: Sequence[RunRecord]) -> str:
    """An HTML table of `rows` below `head`, with the regret curve if matplotlib is installed."""
    cells = "".join(
        f"<tr><th style='text-align:left;white-space:nowrap'>{escape(label)}</th>"
        f"<td style='text-align:left'>{escape(sentence)}</td></tr>"
        for label, sentence in rows
    )
    caption = f"<caption style='text-align:left'>{escape(head)}</caption>"
    return f"<table>{caption}{cells}</table>{_curve(runs)}"


def _curve(runs: Sequence[RunRecord]) -> str:
    """Regret over time, a thin line per run and their mean; "" if it is unknown."""
    curves = [np.array(run.regret_curve, dtype=float).T for run in runs if run.regret_curve]
    if not curves or importlib.util.find_spec("matplotlib") is None:
        return ""
    from matplotlib.figure import Figure  # noqa: PLC0415  (takes half a second)

    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    axes = figure.add_subplot(xlabel="time", ylabel="cumulated regret")
    times = np.linspace(0, max(curve[0, -1] for curve in curves), _POINTS)
    drawn = [np.interp(times, curve[0], curve[1]) for curve in curves]
    for values in drawn[:10]:
        axes.plot(times, values, color="0.7", linewidth=0.7)
    axes.plot(times, np.mean(drawn, axis=0), color="tab:blue")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return out.getvalue()[out.getvalue().index("<svg") :]
