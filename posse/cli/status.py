"""`posse status`: who is up, what was heard, what is waited for."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from posse.cli.options import Duration, Json, print_json
from posse.cli.security import KeyOptions
from posse.engines.inquiry import ask
from posse.gates.shown import printable
from posse.security import keys as key_files


def status(
    *,
    join: Annotated[str, Parameter(metavar="ADDRESS")],
    wait: Duration = 5.0,
    how: Json = Json(),
    keys: KeyOptions = KeyOptions(),
) -> None:
    """Ask a coordinator which agents are up and which it waits for.

    Args:
        join: address of the coordinator: tcp://HOST:PORT, or ipc://PATH on this machine
        wait: longest wait for an answer
    """
    keys.check("--join", join)
    keys.wait()
    state = ask(join, key_files.for_operator(keys.keys) if keys.keys else None, wait)
    if how.json:
        print_json(state)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for rank in range(state.agents):
        heard = state.heard_seconds_ago.get(rank)
        last = printable(state.heard.get(rank) or "nothing")
        table.add_row(
            f"agent {rank}",
            "not here" if heard is None else f"said {last} {heard:.1f} s ago",
            f"waited for ({printable(state.waiting)})" if rank in state.waiting_for else "",
        )
    console = Console(markup=False, emoji=False)
    going = "a run is in progress" if state.running else "no run is in progress"
    console.print(
        f"{state.arrived} of {state.agents} agents are here, {going}, runs completed: "
        f"{state.runs_completed}"
    )
    console.print(table)
    if state.refused:
        console.print(
            "refused: " + ", ".join(f"{n} {printable(r)}" for r, n in state.refused.items())
        )
