"""Whether a coordinator or an agent is well, and ready."""

import sys
from typing import Any

import pytest

from posse.operate import health
from posse.operate.health import Routes
from posse.operate.status import AgentStatus, CoordinatorStatus


def asked(routes: Routes, path: str) -> tuple[int, str]:
    statuses: list[int] = []

    def start(status: str, headers: Any, error: Any = None) -> Any:
        statuses.append(int(status.split(maxsplit=1)[0]))

    body = b"".join(routes[path]({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, start))
    return statuses[0], body.decode()


def of(**status: Any) -> Routes:
    told = CoordinatorStatus(**{"agents": 3} | status)
    return health.of_coordinator(lambda: told, field=False)


def test_a_coordinator_is_ready_when_all_agents_are_here() -> None:
    waiting = of(arrived=2)
    assert asked(waiting, "/healthz") == (200, "it is up\n")
    assert asked(waiting, "/readyz") == (503, "2 of 3 agents are here\n")
    assert asked(of(arrived=3), "/readyz") == (200, "3 of 3 agents are here\n")


@pytest.mark.parametrize(
    ("running", "seconds", "well"), [(True, 31, 503), (True, 29, 200), (False, 31, 200)]
)
def test_a_coordinator_whose_run_stands_still_is_not_well(
    running: bool, seconds: int, well: int
) -> None:
    """Between runs, while results are written, its loop does not turn."""
    stands = of(arrived=3, running=running, turned_seconds_ago=float(seconds))
    code, said = asked(stands, "/healthz")
    assert code == well
    assert (f"its loop stands still for {seconds} s" in said) is (well == 503)


def test_one_that_has_ended_says_how() -> None:
    ended = of(arrived=3, ended=3)
    assert asked(ended, "/healthz") == (200, "it has ended, with exit code 3\n")
    assert asked(ended, "/readyz")[0] == 503
    agent = health.of_agent(
        lambda: AgentStatus(connected=True, running=False, links_down=0, ended=0)
    )
    assert asked(agent, "/readyz") == (503, "it has ended, with exit code 0\n")


def test_an_agent_is_ready_while_it_has_its_coordinator() -> None:
    status = AgentStatus(connected=False, running=False, links_down=0)
    routes = health.of_agent(lambda: status)
    assert (asked(routes, "/healthz")[0], asked(routes, "/readyz")[0]) == (200, 503)
    status.connected = True
    assert (asked(routes, "/healthz")[0], asked(routes, "/readyz")[0]) == (200, 200)


def test_without_its_library_metrics_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert asked(of(), "/metrics") == (
        501,
        'metrics need: pip install "posse-bandits[metrics]"\n',
    )
