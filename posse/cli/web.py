"""`--http`: is it well, is it ready, its metrics; while a command runs and for a while after."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from wsgiref.types import WSGIApplication

from posse.cli import streams
from posse.cli.options import seconds
from posse.log import LOG
from posse.web import Web, place


def add(parser: argparse.ArgumentParser) -> None:
    """Where it is answered, and for how long."""
    parser.add_argument(
        "--http",
        metavar="[HOST]:PORT",
        help="answer /healthz, /readyz and /metrics (for Prometheus) there; without HOST to this "
        "machine alone",
    )
    parser.add_argument(
        "--linger",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long that goes on after the end, or until Ctrl-C or SIGTERM (default: 30)",
    )


def check(options: argparse.Namespace) -> None:
    """Raise before anything starts if there is no such address."""
    if options.http:
        place("--http", options.http)


def serve(options: argparse.Namespace, routes: Mapping[str, WSGIApplication]) -> None:
    """Answer until the command has lingered after its end."""
    options.until_end.enter_context(_lingering(Web("--http", options.http, routes), options.linger))


@contextmanager
def _lingering(made: Web, linger: float) -> Iterator[None]:
    LOG.info("--http is answered at %s", made.url)
    try:
        yield
        if linger:
            LOG.info("it is over; %s is answered for %g s more, or until Ctrl-C", made.url, linger)
            streams.pause(linger)
    finally:
        made.close()
