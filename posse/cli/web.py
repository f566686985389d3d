"""`--http`: health, readiness and metrics, during a command and for a while after it."""

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from wsgiref.types import WSGIApplication

from posse.cli import streams
from posse.cli.options import seconds
from posse.cli.parser import Parser
from posse.log import LOG
from posse.operate.web import Web, place


def add(parser: Parser) -> None:
    parser.option(
        "--http [HOST]:PORT",
        "serve /healthz, /readyz and /metrics (for Prometheus) at this address; without HOST, only "
        "for this machine",
    )
    parser.option(
        "--linger SECONDS",
        "how long to serve --http after the end, or until Ctrl-C or SIGTERM",
        type=seconds,
        default=30.0,
    )


def check(options: argparse.Namespace) -> None:
    """Raise before anything starts if the address is invalid."""
    if options.http:
        place("--http", options.http)


def serve(options: argparse.Namespace, routes: Mapping[str, WSGIApplication]) -> None:
    """Serve until the command has lingered after its end."""
    options.until_end.enter_context(_lingering(Web("--http", options.http, routes), options.linger))


@contextmanager
def _lingering(made: Web, linger: float) -> Iterator[None]:
    LOG.info("--http is served at %s", made.url)
    try:
        yield
        if linger:
            LOG.info(
                "the command is done; %s is served for %g s more, or until Ctrl-C", made.url, linger
            )
            streams.pause(linger)
    finally:
        made.close()
