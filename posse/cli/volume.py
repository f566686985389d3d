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


def level(options: argparse.Namespace) -> int:
    """What a coordinator or agent on several machines logs."""
    return logging.WARNING if options.quiet else logging.INFO


def progress(options: argparse.Namespace) -> Console:
    """Where is said how far it is: standard error."""
    from rich.console import Console

    return Console(stderr=True, quiet=options.quiet, highlight=False, markup=False, emoji=False)


def closing(options: argparse.Namespace) -> Console:
    """Where what came of it is shown: standard output."""
    from rich.console import Console

    return Console(quiet=options.quiet, markup=False, emoji=False)
