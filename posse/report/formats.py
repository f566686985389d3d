"""A page's tables and figures in files for a paper: LaTeX, CSV or SVG."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from posse.gates import files
from posse.gates.shown import tex
from posse.report.page import Page, Table
from posse.results import tables

Format = Literal["tex", "csv", "svg"]


def write(page: Page, kind: Format, folder: Path) -> list[Path]:
    """Write NAME.tex or NAME.csv for each table, or NAME.svg and its NAME.csv for each figure.

    Returns the files. A table is named by its section, and by its number if there are several.
    """
    files.make_folder(folder)
    if kind == "svg":
        charts = [chart for section in page.sections for chart in section.charts]
        for chart in charts:
            chart.write(folder)
        return [folder / f"{chart.name}.{end}" for chart in charts for end in ("svg", "csv")]
    written = []
    for name, table in _named(page):
        written.append(path := folder / f"{name}.{kind}")
        if kind == "tex":
            files.write(path, tabular(table))
        else:
            with files.replacing(path) as file:
                rows = [[cell.text for cell in row] for row in table.rows]
                tables.write(file, table.header, rows)
    return written


def _named(page: Page) -> Iterator[tuple[str, Table]]:
    for section in page.sections:
        for number, table in enumerate(section.tables):
            yield section.id + (f"-{number + 1}" if len(section.tables) > 1 else ""), table


def tabular(table: Table) -> str:
    """The table as LaTeX for the package booktabs, numbers to the right."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [[*table.header], *([cell.text for cell in row] for row in table.rows)]
    head, *body = (" & ".join(map(tex, line)) + r" \\" for line in lines)
    inside = "\n".join([r"\toprule", head, r"\midrule", *body, r"\bottomrule"])
    return f"\\begin{{tabular}}{{{columns}}}\n{inside}\n\\end{{tabular}}\n"
