"""How much a command says: `--quiet` and `--verbose`, which every verb has."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def add(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """The two options, of which one may be given; a verb leaves them as they are before it."""
    either = parser.add_mutually_exclusive_group()
    for short, long, meaning in (
        ("-q", "--quiet", "no progress and no closing table"),
        ("-v", "--verbose", "each run as it ends, tracebacks of defects"),
    ):
        either.add_argument(short, long, action="store_true", default=default, help=meaning)


def add_log(parser: argparse.ArgumentParser) -> None:
    """How a process on several machines writes its log, on standard error."""
    parser.add_argument(
        "--log",
        choices=("text", "json"),
        default="text",
        help="lines for people (default), or one JSON object a line",
    )


def begin_log(options: argparse.Namespace, who: str, *, insecure: bool) -> None:
    """From here on the log is written."""
    from posse import log

    log.begin(who, insecure, logging.WARNING if options.quiet else logging.INFO, options.log)


def closing(options: argparse.Namespace) -> Console:
    """Where what came of it is shown: standard output."""
    from rich.console import Console

    return Console(quiet=options.quiet, markup=False, emoji=False)
