"""Who may ask a server of posse, by the headers of a request."""

from pathlib import Path

import pytest

from posse.cli.served import ServedPage
from posse.gates.http import is_token, new_token, refusal
from posse.hosts.status import AgentStatus, CoordinatorStatus
from posse.operate import health
from posse.operate.web import Web
from tests.operate.test_web import get

HEALTH = ("/healthz", "/readyz", "/metrics")


@pytest.mark.parametrize(
    ("host", "more", "own"),
    [
        ("127.0.0.1:80", {}, True),
        ("localhost:80", {}, True),
        ("LOCALHOST:80", {}, True),
        ("node-1.example:80", {}, True),
        ("coordinator:9100", {}, True),
        ("10.0.0.7", {}, True),
        ("[::1]:80", {"origin": "http://[::1]:80"}, True),
        ("10.0.0.7", {"origin": "https://10.0.0.7"}, True),
        ("10.0.0.7", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, True),
        ("10.0.0.7", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, True),
        ("10.0.0.7", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ("10.0.0.7", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, False),
        ("evil.example:80", {}, False),
        ("evil.example.", {}, False),
        ("127.0.0.1.evil.example", {}, False),
        ("127.0.0.1@evil.example", {}, False),
        ("localhost,evil.example", {}, False),
        ("127.0.0.1:80", {"origin": "http://evil.example"}, False),
        ("127.0.0.1:80", {"origin": "http://127.0.0.1:81"}, False),
        ("127.0.0.1:80", {"origin": "null"}, False),
        ("[bad", {}, False),
        ("", {}, False),
    ],
)
def test_only_under_a_name_of_its_own_is_it_asked(
    host: str, more: dict[str, str], own: bool
) -> None:
    assert (refusal({"host": host, **more}, "node-1.example") == "") is own
    assert refusal(more)  # without a name


def test_a_token_is_needed_whole() -> None:
    token = new_token()
    assert is_token(token, token)
    assert not any(is_token(given, token) for given in ("", token[:-1], token + "x", "\udce9"))
    assert new_token() != token


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.evil.example", "Origin": "http://rebound.evil.example"},
        {"Origin": "http://evil.example"},
    ],
)
def test_every_endpoint_refuses_another_name_and_another_site(
    headers: dict[str, str], tmp_path: Path
) -> None:
    routes = [
        health.of_coordinator(lambda: CoordinatorStatus(agents=3), tmp_path, field=False),
        health.of_agent(lambda: AgentStatus(connected=True, running=True, links_down=0)),
    ]
    for own in routes:
        assert own.keys() >= {*HEALTH}
        served = Web("--http", ":0", own)
        for path in (*own, "/nothing"):
            assert get(served, path, **headers)[0] == 403
        assert get(served, "/healthz") == (200, "it is up\n")
        served.close()
    with ServedPage(tmp_path, "--watch", ":0") as page:
        assert get(page._web, f"/?token={page._token}", **headers)[0] == 403
