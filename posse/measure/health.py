"""The HTTP answers of a coordinator and of an agent: health, readiness and metrics.

`/healthz` fails (503) if a restart would help, `/readyz` while something is waited for. Both give
the reason in a sentence.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from posse.measure import metrics
from posse.measure.status import AgentStatus, CoordinatorStatus
from posse.web import answer

STUCK = 30.0
"""Seconds without a turn of the run's loop after which the process counts as unhealthy."""

Routes = dict[str, WSGIApplication]
_Finding = tuple[bool, str]


def of_coordinator(status: Callable[[], CoordinatorStatus], *, field: bool) -> Routes:
    """A coordinator's routes; `status` is called in other threads.

    In the `field` they say nothing about single agents.
    """
    return _routes(
        lambda: _turns(status()),
        lambda: _all_here(status()),
        lambda: metrics.of_coordinator(status(), field=field),
    )


def of_agent(status: Callable[[], AgentStatus]) -> Routes:
    """An agent's routes; `status` is called in other threads."""
    return _routes(
        lambda: (True, _over(status().ended) or "it is up"),
        lambda: _connected(status()),
        lambda: metrics.of_agent(status()),
    )


def _routes(
    well: Callable[[], _Finding],
    ready: Callable[[], _Finding],
    families: Callable[[], Iterator[Any]],
) -> Routes:
    counted = metrics.application(families) if metrics.are_here() else _not_counted
    return {"/healthz": _found(well), "/readyz": _found(ready), "/metrics": counted}


def _found(find: Callable[[], _Finding]) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        good, why = find()
        return answer(start, f"{why}\n", 200 if good else 503)

    return application


def _not_counted(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    return answer(start, f"{metrics.NEEDED}\n", 501)


def _over(code: int | None) -> str:
    return "" if code is None else f"it has ended, with exit code {code}"


def _turns(status: CoordinatorStatus) -> _Finding:
    stuck = status.running and status.turned_seconds_ago > STUCK
    said = f"its loop stands still for {status.turned_seconds_ago:.0f} s" if stuck else "it is up"
    return not stuck, _over(status.ended) or said


def _all_here(status: CoordinatorStatus) -> _Finding:
    here = f"{status.arrived} of {status.agents} agents are here"
    ready = status.arrived == status.agents and status.ended is None
    return ready, _over(status.ended) or here


def _connected(status: AgentStatus) -> _Finding:
    ready = status.connected and status.ended is None
    said = "it has its coordinator" if status.connected else "it waits for its coordinator"
    return ready, _over(status.ended) or said
