"""`posse status`: who is up, what was heard, what is waited for."""

import argparse

from rich.console import Console
from rich.table import Table

from posse.cli import security
from posse.cli.options import add_join, add_json, print_json, seconds
from posse.cli.parser import Parser
from posse.engines.inquiry import ask
from posse.gates.shown import printable
from posse.security import keys


def add(parser: Parser) -> None:
    add_join(parser)
    add_json(parser)
    parser.option("--wait SECONDS", "longest wait for an answer", type=seconds, default=5.0)
    security.add(parser)


def run(options: argparse.Namespace) -> None:
    security.check("--join", options.join, options)
    if options.keys:
        keys.wait_for(options.keys, options.wait_for_keys)
    pair = keys.for_operator(options.keys) if options.keys else None
    status = ask(options.join, pair, options.wait)
    if options.json:
        print_json(status)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for rank in range(status.agents):
        heard = status.heard_seconds_ago.get(rank)
        last = printable(status.heard.get(rank) or "nothing")
        table.add_row(
            f"agent {rank}",
            "not here" if heard is None else f"said {last} {heard:.1f} s ago",
            f"waited for ({printable(status.waiting)})" if rank in status.waiting_for else "",
        )
    console = Console(markup=False, emoji=False)
    going = "a run is in progress" if status.running else "no run is in progress"
    console.print(
        f"{status.arrived} of {status.agents} agents are here, {going}, runs completed: "
        f"{status.runs_completed}"
    )
    console.print(table)
    if status.refused:
        console.print(
            "refused: " + ", ".join(f"{n} {printable(r)}" for r, n in status.refused.items())
        )
