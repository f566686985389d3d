"""`--http`: health, readiness and metrics, during a command and for a while after it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated
from wsgiref.types import WSGIApplication

from cyclopts import Parameter

from posse.cli import call, streams
from posse.cli.options import Duration, shared
from posse.log import LOG
from posse.operate import metrics
from posse.operate.web import Web, place


@shared
class Served:
    """Where health and metrics are served, and how long."""

    http: Annotated[str, Parameter(metavar="[HOST]:PORT")] = ""
    """serve /healthz, /readyz and /metrics (for Prometheus) at this address; without HOST, only for
    this machine"""
    linger: Duration = 30.0
    """how long to serve --http after the end, or until Ctrl-C or SIGTERM"""

    def check(self) -> None:
        """Raise before anything starts if the address is invalid."""
        if self.http:
            place("--http", self.http)
            metrics.application(lambda: iter(()))  # imported while there are files to open

    def serve(self, routes: Callable[[], Mapping[str, WSGIApplication]]) -> None:
        """Serve these until the command has lingered after its end, if asked."""
        if self.http:
            made = Web("--http", self.http, routes())
            call.current().until_end.enter_context(_lingering(made, self.linger))


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
