"""Metrics for Prometheus: what the coordinator itself sees, nothing that agents keep."""

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

from posse.errors import InputError, PosseError
from posse.measure.status import CoordinatorStatus

_COARSE = 1_000
"""Frames that are counted together in the field."""


def place(address: str) -> tuple[str, int]:
    """Host and port of `[HOST]:PORT`; raises where metrics cannot be served at all."""
    if importlib.util.find_spec("prometheus_client") is None:
        raise PosseError('--metrics needs: pip install "posse[metrics]"')
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 0xFFFF:
        raise InputError(
            f"--metrics {address}: must be [HOST]:PORT, as in :9100, with a number up to 65535"
        )
    return host or "127.0.0.1", int(port)


def publish(status: Callable[[], CoordinatorStatus], address: str, *, field: bool) -> Any:
    """Serve a coordinator's status at `[HOST]:PORT`/metrics; returns the HTTP server.

    `status` is called in the server's threads. Metrics have no key: whoever reaches them reads
    them, so without HOST that is this machine alone, and of a run of the `field` nothing is said of
    single agents, nor when a message came.
    """
    host, port = place(address)
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(_StatusCollector(status, field))
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise PosseError(
            f"--metrics {address} cannot be bound: {error.strerror}; choose another"
        ) from None
    return server


class _StatusCollector:
    """Reads the status when it is scraped."""

    def __init__(self, status: Callable[[], CoordinatorStatus], field: bool) -> None:
        self._status = status
        self._field = field

    def collect(self) -> Iterator[Any]:
        """The metrics of this moment."""
        from prometheus_client import core  # noqa: PLC0415

        gauge, counter, status = core.GaugeMetricFamily, core.CounterMetricFamily, self._status()
        frames = status.frames // _COARSE * _COARSE if self._field else status.frames
        for family, name, says, value in (
            (gauge, "agents", "Agents of the run file", status.agents),
            (gauge, "agents_arrived", "Agents that joined", status.arrived),
            (gauge, "agents_waited_for", "Agents waited for", len(status.waiting_for)),
            (gauge, "run_going_on", "1 during a run", int(status.running)),
            (counter, "runs_completed", "Runs that are complete", status.runs_completed),
            (counter, "frames", "Frames taken from agents", frames),
        ):
            yield family(f"posse_{name}", says, value)
        refused = counter("posse_refused", "What was refused", labels=["reason"])
        for reason, count in status.refused.items():
            refused.add_metric([reason], count)
        yield refused
        if self._field:
            return
        says = "Seconds since an agent was heard"
        heard = gauge("posse_agent_heard_seconds", says, labels=["agent"])
        for rank, seconds in status.heard_seconds_ago.items():
            heard.add_metric([str(rank)], seconds)
        yield heard
