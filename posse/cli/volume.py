"""How much a command prints: `--quiet` and `--verbose`, which every command has."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def add(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """Add the two exclusive options; a command keeps what is given before its name."""
    either = parser.add_mutually_exclusive_group()
    for short, long, meaning in (
        ("-q", "--quiet", "print no progress and no closing table"),
        ("-v", "--verbose", "print each run as it ends, and tracebacks of defects"),
    ):
        either.add_argument(short, long, action="store_true", default=default, help=meaning)


def add_log(parser: argparse.ArgumentParser) -> None:
    """Add the format of the log of a process, on standard error."""
    parser.add_argument(
        "--log",
        choices=("text", "json"),
        default="text",
        help="format of the log: text, or one JSON object per line (default: text)",
    )


def begin_log(options: argparse.Namespace, who: str, *, insecure: bool) -> None:
    """Begin to write the log."""
    from posse import log

    log.begin(who, insecure, logging.WARNING if options.quiet else logging.INFO, options.log)


def closing(options: argparse.Namespace) -> Console:
    """The console for the outcome: standard output."""
    from rich.console import Console

    return Console(quiet=options.quiet, markup=False, emoji=False)
