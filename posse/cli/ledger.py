"""`posse ledger`: the runs that used an agent's rewards, and their cost."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from posse.cli.options import Json, print_json
from posse.durable.lifetime import read
from posse.gates.shown import printable


def ledger(file: Path, /, *, how: Json = Json()) -> None:
    """Show the runs that used an agent's rewards, and their cost.

    Args:
        file: reward log, or the .ledger file beside it
    """
    book = read(file)
    if how.json:
        print_json(book)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "began (UTC)", "agent", "rewards", "ε of each", "ended", "task"):
        table.add_column(name)
    for run in book.runs:
        claimed = "none" if run.epsilon is None else f"{run.epsilon:.4g}"
        table.add_row(
            str(run.run),
            printable(run.began),
            f"{run.agent} of {run.agents}" if run.agent >= 0 else f"all {run.agents}",
            str(run.rewards),
            claimed + (f", δ = {run.delta:.2g}" if run.delta else ""),
            printable(run.ended or "not recorded"),
            printable(run.task),
        )
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(table)
    console.print(f"{book.ledger}: {book.says}")
