"""The table that closes a run on the command line."""

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from posse.results import words
from posse.results.result import Result


def show(result: Result, directory: Path, console: Console, kept: int = 0) -> None:
    """Print what was found, what it cost, what it gave away, and where it was written to.

    `kept`: how many of the runs were there from before.
    """
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in words.rows(result.runs, result.warnings):
        table.add_row(label, said)
    if kept:
        table.add_row(
            "from before", f"{kept} of {len(result.runs)} runs were kept, and not repeated"
        )
    table.add_row("written to", str(directory))
    console.print(table)
