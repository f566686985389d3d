"""`posse watch`: follow a run as text or in the browser; and `--watch`, which serves it."""

import argparse
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from time import monotonic
from typing import Any

from rich.live import Live
from rich.text import Text

from posse.cli.options import console_of
from posse.cli.parser import Parser
from posse.engines.base import Observer
from posse.engines.board import Board
from posse.engines.coordinator.hub import Hub
from posse.errors import InputError, PosseError
from posse.hosts.coordinator import CoordinatorHost
from posse.log import remark
from posse.operate.web import Web, place
from posse.plan import Plan
from posse.watch import text
from posse.watch.feed import Feed
from posse.watch.page import routes
from posse.watch.view import Watcher

_EVERY = 5.0
"""Seconds between two states where output cannot be overwritten."""

_OF_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_IN_CLEAR = "anybody on the network path can read the page and its token; use ssh -L instead"


def add(parser: Parser) -> None:
    parser.option("url URL", "address that --watch printed")
    parser.option("--text", "show the run as text in this terminal (default: in the browser)")


def add_option(parser: Parser) -> None:
    """Add `--watch`: whether and where a run can be watched."""
    parser.option(
        "--watch [HOST]:PORT",
        "serve a live page of the run and print its address (default: only for this machine, on a "
        "free port)",
        nargs="?",
        const=":0",
        type=_place,
    )


def _place(address: str) -> str:
    """Parse an address; not a run file, which `--watch` in front of it would take for its own."""
    try:
        place("--watch", address)
    except InputError as error:
        raise argparse.ArgumentTypeError(
            f"{error}; to give no address, put --watch after FILE"
        ) from None
    return address


def run(options: argparse.Namespace) -> None:
    text.parted(options.url)
    if not options.text:
        if not webbrowser.open(options.url):
            raise PosseError(f"no browser was found; use posse watch --text {quote(options.url)}")
        return
    console = console_of(options)
    graph: dict[str, Any] = {}
    at = 0.0
    with Live(console=console, auto_refresh=False) as live:
        for name, data in text.events(options.url):
            if name == "graph":
                graph = data
            elif name == "state":
                shown = "\n".join(text.lines(graph, data))
                if console.is_terminal:
                    live.update(Text(shown, no_wrap=True, overflow="ellipsis"), refresh=True)
                elif monotonic() >= at or data.get("status"):
                    at = monotonic() + _EVERY
                    console.print(Text(shown), soft_wrap=True)
            elif data["failed"]:
                raise PosseError(f"the run failed: {data['failed']}")


@dataclass
class Watch:
    """What a command gives to its runs if they are watched; by default nothing.

    `given` makes an engine's options from an observer. `said`: the outcome for readers.
    """

    given: Callable[[Observer], dict[str, Any]] = lambda observe: {"observe": observe}
    said: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def watching(plan: Plan, address: str | None) -> Iterator[Watch]:
    """Serve the page at this address while the runs go on; nothing without an address."""
    if address is None:
        yield Watch()
        return
    board = None if plan.field else Board.of(plan)
    watcher = Watcher(plan)
    feed = Feed(plan, watcher, board)
    path, answers = routes(feed)
    web = Web("--watch", address, answers)
    remark(f"watch it at {web.url}{path}")
    if place("--watch", address)[0] not in _OF_THIS_MACHINE:
        remark(f"{address} is not encrypted: {_IN_CLEAR}")

    def given(observe: Observer) -> dict[str, Any]:
        def both(host: CoordinatorHost) -> None:
            observe(host)
            watcher.observe(host)

        def on_hub(hub: Hub) -> None:
            feed.snapshot = lambda: hub.snapshot

        return {"observe": both, "board": board, "on_hub": on_hub}

    watch, failed = Watch(given), ""
    try:
        yield watch
    except BaseException as error:
        failed = str(error) or "interrupted"
        raise
    finally:
        feed.close(watch.said, failed)
        web.close()
        if board is not None:
            board.close()
