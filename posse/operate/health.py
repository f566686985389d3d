"""The HTTP answers of a coordinator and of an agent: health, readiness and metrics.

`/healthz` fails (503) if a restart would help, `/readyz` while something is waited for. Both give
the reason in a sentence.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from posse.hosts.status import LIVE, AgentStatus, CoordinatorStatus
from posse.operate import metrics
from posse.operate.web import answer, given

STUCK = 30.0
"""Seconds without a turn of the run's loop after which the process counts as unhealthy."""

Routes = dict[str, WSGIApplication]
_Status = TypeVar("_Status", CoordinatorStatus, AgentStatus)
_Check = Callable[[_Status], tuple[bool, str]]
"""Whether a process is as it should be, and a sentence about it as long as it has not ended."""


def of_coordinator(status: Callable[[], CoordinatorStatus], folder: Path, *, field: bool) -> Routes:
    """A coordinator's routes; `status` is called in other threads, `folder` is its series'.

    In the `field` they say nothing about single agents.
    """
    routes = _routes(status, _turns, _all_here, partial(metrics.of_coordinator, field=field))
    return routes if field else routes | {f"/{LIVE}": partial(given, folder)}


def of_agent(status: Callable[[], AgentStatus]) -> Routes:
    """An agent's routes; `status` is called in other threads."""
    return _routes(status, _serves, _connected, metrics.of_agent)


def _routes(
    status: Callable[[], _Status],
    well: _Check[_Status],
    ready: _Check[_Status],
    families: Callable[[_Status], Iterator[Any]],
) -> Routes:
    return {
        "/healthz": _health(status, well),
        "/readyz": _health(status, ready),
        "/metrics": metrics.application(lambda: families(status())),
    }


def _health(status: Callable[[], _Status], check: _Check[_Status]) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        now = status()
        good, sentence = check(now)
        if now.ended is not None:
            sentence = f"it has ended, with exit code {now.ended}"
        return answer(start, f"{sentence}\n", 200 if good else 503)

    return application


def _turns(status: CoordinatorStatus) -> tuple[bool, str]:
    stuck = status.running and status.turned_seconds_ago > STUCK
    sentence = (
        f"its loop stands still for {status.turned_seconds_ago:.0f} s" if stuck else "it is up"
    )
    return not stuck, sentence


def _all_here(status: CoordinatorStatus) -> tuple[bool, str]:
    ready = status.arrived == status.agents and status.ended is None
    return ready, f"{status.arrived} of {status.agents} agents are here"


def _serves(status: AgentStatus) -> tuple[bool, str]:
    return not status.ill, status.ill or "it is up"


def _connected(status: AgentStatus) -> tuple[bool, str]:
    sentence = "it has its coordinator" if status.connected else "it waits for its coordinator"
    return status.connected and status.ended is None, sentence
