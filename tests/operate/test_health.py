"""Whether a coordinator or an agent is well, and ready."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.hosts.status import AgentStatus, CoordinatorStatus
from posse.operate import health
from posse.operate.health import Routes


def asked(routes: Routes, path: str) -> tuple[int, str]:
    statuses: list[int] = []

    def start(status: str, headers: Any, error: Any = None) -> Any:
        statuses.append(int(status.split(maxsplit=1)[0]))

    body = b"".join(routes[path]({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, start))
    return statuses[0], body.decode()


def of(**status: Any) -> Routes:
    told = CoordinatorStatus(**{"agents": 3} | status)
    return health.of_coordinator(lambda: told, Path(), field=False)


def agent(*, connected: bool, ended: int | None = None) -> Routes:
    told = AgentStatus(connected=connected, running=False, links_down=0, ended=ended)
    return health.of_agent(lambda: told)


@pytest.mark.parametrize(
    ("routes", "path", "answer"),
    [
        (of(arrived=2), "/healthz", (200, "it is up\n")),
        (of(arrived=2), "/readyz", (503, "2 of 3 agents are here\n")),
        (of(arrived=3), "/readyz", (200, "3 of 3 agents are here\n")),
        (of(arrived=3, ended=3), "/healthz", (200, "it has ended, with exit code 3\n")),
        (of(arrived=3, ended=3), "/readyz", (503, "it has ended, with exit code 3\n")),
        (agent(connected=False), "/healthz", (200, "it is up\n")),
        (agent(connected=False), "/readyz", (503, "it waits for its coordinator\n")),
        (agent(connected=True), "/readyz", (200, "it has its coordinator\n")),
        (agent(connected=True, ended=0), "/readyz", (503, "it has ended, with exit code 0\n")),
    ],
)
def test_who_is_up_and_who_is_ready(routes: Routes, path: str, answer: tuple[int, str]) -> None:
    assert asked(routes, path) == answer


@given(st.booleans(), st.integers(0, 100).filter(lambda seconds: seconds != 30))
def test_a_coordinator_whose_run_stands_still_is_not_well(running: bool, seconds: int) -> None:
    """Between runs, while results are written, its loop does not turn."""
    well = 503 if running and seconds > 30 else 200
    stands = of(arrived=3, running=running, turned_seconds_ago=float(seconds))
    code, said = asked(stands, "/healthz")
    assert code == well
    assert (f"its loop stands still for {seconds} s" in said) is (well == 503)


def test_without_its_library_metrics_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert asked(of(), "/metrics") == (
        501,
        'metrics need: pip install "posse-bandits[metrics]"\n',
    )
