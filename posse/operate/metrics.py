"""Metrics for Prometheus: what a process itself sees of the run, and nothing about rewards."""

from collections.abc import Callable, Iterator
from typing import Any, cast
from wsgiref.types import WSGIApplication

from posse.hosts.status import AgentStatus, CoordinatorStatus
from posse.live.service import LiveStatus
from posse.operate.web import answer

_COARSE = 1_000
"""In the field the count of frames is rounded down to a multiple of this."""

_NEEDED = 'metrics need: pip install "posse-bandits[metrics]"\n'


def application(families: Callable[[], Iterator[Any]]) -> WSGIApplication:
    """Serves these families and the process's own: processor, memory, open files.

    Without prometheus_client it answers what to install.
    """
    try:
        from prometheus_client import (  # noqa: PLC0415
            CollectorRegistry,
            ProcessCollector,
            make_wsgi_app,
        )
    except ImportError:
        return lambda environ, start: answer(start, _NEEDED, 501)

    class Families:
        def collect(self) -> Iterator[Any]:
            return families()

    registry = CollectorRegistry()
    registry.register(cast(Any, Families()))
    ProcessCollector(registry=registry)
    return cast(WSGIApplication, make_wsgi_app(registry))


def of_coordinator(status: CoordinatorStatus, *, field: bool) -> Iterator[Any]:
    """A coordinator's metrics; in the `field` none of single agents or of message times."""
    from prometheus_client import core  # noqa: PLC0415

    gauge, counter = core.GaugeMetricFamily, core.CounterMetricFamily
    frames = status.frames // _COARSE * _COARSE if field else status.frames
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
    yield from _ended(status.ended)
    if field:
        return
    heard = gauge("posse_agent_heard_seconds", "Seconds since an agent was heard", labels=["agent"])
    for rank, seconds in status.heard_seconds_ago.items():
        heard.add_metric([str(rank)], seconds)
    yield heard


def of_agent(status: AgentStatus) -> Iterator[Any]:
    """An agent's metrics, for operators that ask for them."""
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

    for name, says, value in (
        ("connected", "1 while it has its coordinator", status.connected),
        ("run_going_on", "1 during a run", status.running),
        ("links_down", "Neighbours whose connection is lost", status.links_down),
    ):
        yield GaugeMetricFamily(f"posse_agent_{name}", says, int(value))
    if status.live is not None:
        yield from of_live(status.live)
    yield from _ended(status.ended)


def of_live(status: LiveStatus) -> Iterator[Any]:
    """The metrics of live arms; nothing about rewards' values or arms."""
    from prometheus_client.core import (  # noqa: PLC0415
        CounterMetricFamily,
        GaugeMetricFamily,
    )

    for name, says, value in (
        ("open_decisions", "Decisions whose reward is awaited", status.open),
        ("waiting_decisions", "Decisions that the run's order still wants asked", status.waiting),
        ("oldest_seconds", "Seconds that the oldest decision is open", status.oldest),
        ("run_over", "1 while no run is under way", int(status.over)),
    ):
        yield GaugeMetricFamily(f"posse_live_{name}", says, value)
    happened = CounterMetricFamily(
        "posse_live_events", "Decisions and rewards, by what became of them", labels=["what"]
    )
    for what, count in status.counts.items():
        happened.add_metric([what], count)
    yield happened
    latency = GaugeMetricFamily(
        "posse_live_median_seconds", "Median time of the last requests", labels=["what"]
    )
    for what, seconds in status.latency.items():
        latency.add_metric([what], seconds)
    yield latency


def _ended(code: int | None) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

    if code is not None:
        yield GaugeMetricFamily("posse_exit_code", "How it ended: 0 with an answer", code)
