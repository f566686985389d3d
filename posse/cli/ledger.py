"""`posse ledger`: the runs that used an agent's rewards, and their cost."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from posse import api
from posse.cli.options import Json, Probability, print_json
from posse.durable import programme
from posse.durable.ledger import Ledger
from posse.durable.lifetime import SUFFIX, read
from posse.gates.shown import printable
from posse.measure.numbers import counted
from posse.protocol.privacy import format_cost


def ledger(
    file: Path,
    /,
    *,
    plan: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    events: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    delta: Probability = 1e-6,
    how: Json = Json(),
) -> None:
    """Show the runs that used an agent's rewards, and their cost.

    Args:
        file: reward log, or the .ledger file beside it
        plan: declare the runs of this file in the log's ledger, before the first of them
        events: with --plan, write each run as a DpEvent of dp-accounting
        delta: with --plan, the δ at which the runs are added up
    """
    if plan is not None:
        _declare(file, plan, events, delta, json=how.json)
        return
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


def _declare(file: Path, plan: Path, events: Path | None, delta: float, *, json: bool) -> None:
    """Declare a programme, and say what it costs and promises."""
    declared = programme.read(plan)
    rows = []
    forecasts: dict[str, str] = {}
    for number, (task, lab) in enumerate(zip(declared.tasks, declared.labs, strict=True), start=1):
        if lab and lab not in forecasts:
            forecasts[lab] = _forecast(lab)
        total = declared.total(delta, number)
        rows.append([str(number), task, f"{total:.4g}", forecasts.get(lab, "")])
    log = file.resolve()
    if events is not None:
        programme.write_events(events, declared)
    by_log = declared.by_log(log.name)
    for name in by_log:
        others = {f"{n}{SUFFIX}": costs for n, costs in by_log.items() if n != name}
        path = log.with_name(name)
        Ledger(Path(f"{path}{SUFFIX}"), path).declare(by_log[name], others)
    if json:
        names = ("run", "task", "epsilon_so_far", "regret")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "task", "ε of all so far", "regret in the lab"):
        table.add_column(name)
    for row in rows:
        table.add_row(*map(printable, row))
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(table)
    over = ", ".join(f"{log.with_name(name)}" for name in by_log)
    console.print(
        f"declared {counted(len(rows), 'run')} over {over}: together at most "
        f"{format_cost(declared.total(delta), delta)} for one "
        f"{'person' if declared.persons else 'reward'}, by the distribution of their "
        "losses; a run that is not as declared is admitted as if each were chosen after the last"
    )


def _forecast(lab: str) -> str:
    """The regret of a run file of the lab."""
    regret = api.run(lab, engine="memory").summary().get("regret")
    return "" if regret is None else f"{regret['mean']:.4g}"
