"""The HTTP door: JSON, OpenFeature's protocol by its own SDK, and what is refused."""

import asyncio
import http.client
import json
import math
import re
import socket
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

import posse.live.http
from posse.errors import PosseError
from posse.live import Agent, AsyncAgent, LiveError, RewardRefused, address
from posse.live.desk import DeskSettings
from posse.live.http import read_token
from posse.live.openapi import document
from posse.live.service import Service
from tests.support.browser import CHROMIUM, Browser
from tests.support.remote import until

TOKEN = "a-token-of-many-letters"


@pytest.fixture
def opened(tmp_path):
    services: list[Service] = []

    def make(token: str = "", rate: float = 0.0, **settings) -> tuple[Service, str]:
        told = {"names": ("blue", "green"), "timeout": 60.0, "flag": "button", **settings}
        service = Service(DeskSettings(**told), tmp_path / f"{len(services)}.decisions")
        services.append(service)
        service.begin(b"run")
        file = tmp_path / "token"
        file.write_text(token)
        file.chmod(0o600)
        where = "http://127.0.0.1:0"
        door = address.open_door(service, where, file if token else None, rate)
        service.doors.append(door)
        return service, door.address

    yield make
    for service in services:
        service.close()


def call(where: str, method: str, path: str, body: object = None, **headers: str):
    connection = http.client.HTTPConnection(where.removeprefix("http://"), timeout=10)
    sent = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    connection.request(method, path, data, sent)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    is_json = reply.headers.get_content_type() == "application/json" and content
    return reply.status, json.loads(content) if is_json else content, reply.headers


def test_asked_and_told(opened) -> None:
    service, where = opened(TOKEN)
    service.order(object(), (0, 1), (1, 2), explore=False)
    with Agent(where, token=TOKEN) as agent:
        decisions = [agent.ask() for _ in range(3)]
        assert sorted(d.name for d in decisions) == ["blue", "green", "green"]
        assert [agent.tell(d, 1.0) for d in decisions] == [True] * 3
        assert agent.tell(decisions[0], 1.0) is False
        with pytest.raises(RewardRefused, match="another reward"):
            agent.tell(decisions[0], 0.0)
        assert agent.status()["counts"]["rewards"] == 3
    with Agent(where, token="no") as agent, pytest.raises(LiveError, match="give the token"):
        agent.ask()

    async def one() -> str:
        async with AsyncAgent(where, token=TOKEN) as agent:
            return (await agent.ask()).idle

    assert asyncio.run(one()) == "waits"


def test_a_batch_says_what_became_of_each(opened) -> None:
    service, where = opened()
    service.order(object(), (0,), (2,), explore=False)
    ids = [call(where, "POST", "/v1/ask")[1]["id"] for _ in range(2)]
    batch = [{"id": ids[0], "reward": 1}, {"id": ids[1], "reward": 7}, {"id": "x-1", "reward": 0}]
    status, told, _ = call(where, "POST", "/v1/rewards", batch)
    assert (status, [t.get("refused", t["used"]) for t in told]) == (
        200,
        [True, "range", "unknown"],
    )
    assert call(where, "POST", "/v1/rewards", batch[:1])[1] == [{"used": False}]
    assert call(where, "POST", "/v1/rewards", {"id": ids[0], "reward": 0.5})[0] == 409
    assert call(where, "POST", "/v1/rewards", {"id": ids[1], "reward": math.nan})[0] == 409
    assert service.read(0, 0, 9) == [1.0]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/ask", {}, {"Host": "evil.example"}, 403),
        ("/v1/ask", {}, {"Origin": "http://evil.example"}, 403),
        ("/v1/ask", {}, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}, 403),
        ("/v1/ask", {}, {"Authorization": ""}, 401),
        ("/v1/ask", {}, {"Authorization": "", "X_API_Key": TOKEN}, 200),
        ("/v1/ask", {}, {"Content_Type": "text/plain"}, 415),
        ("/v1/ask", b"{", {}, 400),
        ("/v1/ask", b"\xff", {}, 400),
        ("/v1/ask", b'{"person": "\\ud800"}', {}, 400),
        ("/v1/ask", b"[" * 100_000, {}, 400),
        ("/v1/ask", {"person": "x" * 1_001}, {}, 400),
        ("/v1/ask", {"person": 1}, {}, 400),
        ("/v1/ask", b" " * (1 << 20) + b"{}", {}, 413),
        ("/v1/rewards", {"id": "1-1"}, {}, 400),
        ("/v1/rewards", [], {}, 200),
        ("/v1/rewards", {"id": "1-1", "reward": "x"}, {}, 400),
        ("/v1/nowhere", {}, {}, 404),
        ("/ofrep/v1/evaluate/flags/other", {}, {}, 404),
        ("/ofrep/v1/evaluate/flags/button", {"context": 1}, {}, 400),
        ("/ofrep/v1/evaluate/flags/button", {"context": {"targetingKey": "x" * 5_000}}, {}, 200),
    ],
)
def test_what_is_refused(opened, path, body, headers, status) -> None:
    _, where = opened(TOKEN)
    sent = {"Authorization": f"Bearer {TOKEN}", **headers}
    assert call(where, "POST", path, body, **sent)[0] == status


def test_a_page_of_another_site_gets_no_leave_and_ours_has_no_number_in_it(opened) -> None:
    _, where = opened(TOKEN)
    status, page, headers = call(where, "GET", "/")
    assert status == 200
    assert b"Live traffic" in page
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert call(where, "GET", "/v1/status")[0] == 401
    assert "Access-Control-Allow-Origin" not in headers


def test_the_rate_is_bounded(opened) -> None:
    _, where = opened(rate=2.0)
    replies = [call(where, "POST", "/v1/ask") for _ in range(4)]
    assert [status for status, _, _ in replies][:2] == [200, 200]
    assert replies[-1][0] == 429
    assert replies[-1][2]["Retry-After"] == "1"


def test_the_token_is_its_owners_alone_and_no_short_word(tmp_path) -> None:
    file = tmp_path / "token"
    for text, mode in (("short", 0o600), (TOKEN, 0o644)):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(PosseError, match=r"chmod 600.*characters"):
            read_token(file)
    with pytest.raises(PosseError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_health_says_when_the_application_tells_nothing(opened) -> None:
    service, where = opened(timeout=1e-6)
    service.order(object(), (0,), (9,), explore=False)
    assert call(where, "GET", "/healthz")[:2] == (200, b"it serves\n")
    for _ in range(5):
        call(where, "POST", "/v1/ask")
    status, why, _ = call(where, "GET", "/healthz")
    assert status == 503
    assert b"tells nothing" in why


def test_the_document_names_every_path_and_what_it_answers(opened) -> None:
    service, where = opened()
    service.order(object(), (0,), (9,), explore=False)
    status, described, _ = call(where, "GET", "/v1/openapi.json")
    assert (status, described) == (200, document(("blue", "green")))
    schemas = described["components"]["schemas"]
    decision = call(where, "POST", "/v1/ask")[1]
    told = call(where, "POST", "/v1/rewards", {"id": decision["id"], "reward": 1})[1][0]
    now = call(where, "GET", "/v1/status")[1]
    for answer, name in ((decision, "Decision"), (told, "Told"), (now, "LiveStatus")):
        assert set(schemas[name]["required"]) <= set(answer) <= set(schemas[name]["properties"])


def test_the_python_provider_of_openfeature_asks(opened) -> None:
    service, where = opened(TOKEN)
    service.order(object(), (0, 1), (10, 10), explore=False)
    provider = OFREPProvider(where, headers_factory=lambda: {"Authorization": f"Bearer {TOKEN}"})
    try:
        api.set_provider_and_wait(provider, "shop")
        client = api.get_client("shop")
        shown = Counter[str]()
        for visitor in range(20):
            who = EvaluationContext(targeting_key=f"visitor {visitor}")
            details = client.get_string_details("button", "grey", who)
            again = client.get_string_details("button", "grey", who)
            assert again.flag_metadata == details.flag_metadata  # no second decision
            assert (details.reason, details.value) == ("SPLIT", details.variant)
            shown[details.value] += 1
            id_ = details.flag_metadata["decision"]
            body = {"id": id_, "reward": 1}
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            assert call(where, "POST", "/v1/rewards", body, **bearer)[1] == [{"used": True}]
        assert shown == {"blue": 10, "green": 10}
        idle = client.get_string_details("button", "grey")
        assert (idle.reason, idle.flag_metadata["idle"]) == ("STATIC", "waits")
        assert client.get_string_value("other", "grey") == "grey"
        assert client.get_string_details("other", "grey").error_code == ErrorCode.FLAG_NOT_FOUND
        assert client.get_boolean_details("button", False).error_code == ErrorCode.TYPE_MISMATCH
    finally:
        api.shutdown()
        provider.session.close()


def test_bulk_evaluation_is_one_decision_until_its_reward_is_told(opened) -> None:
    service, where = opened()
    service.order(object(), (0, 1), (5, 5), explore=False)
    path, who = "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "ann"}}
    status, answer, headers = call(where, "POST", path, who)
    (flag,) = answer["flags"]
    assert (status, flag["key"], flag["reason"]) == (200, "button", "SPLIT")
    assert call(where, "POST", path, who, If_None_Match=headers["ETag"])[0] == 304
    told = {"id": flag["metadata"]["decision"], "reward": 1}
    call(where, "POST", "/v1/rewards", told)
    assert call(where, "POST", path, who, If_None_Match=headers["ETag"])[0] == 200
    assert call(where, "GET", "/ofrep/v1/configuration")[1]["name"] == "posse"


def test_a_person_is_asked_for_where_persons_are_limited(opened) -> None:
    service, where = opened(most_of_person=1)
    service.order(object(), (0,), (5,), explore=False)
    path = "/ofrep/v1/evaluate/flags/button"
    status, answer, _ = call(where, "POST", path, {})
    assert (status, answer["errorCode"]) == (400, "TARGETING_KEY_MISSING")
    who = {"context": {"targetingKey": "ann"}}
    first = call(where, "POST", path, who)[1]
    call(where, "POST", "/v1/rewards", {"id": first["metadata"]["decision"], "reward": 1})
    second = call(where, "POST", path, who)[1]
    assert (second["reason"], second["metadata"]["idle"]) == ("STATIC", "person")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_the_page_shows_what_happens_in_a_browser(opened) -> None:
    service, where = opened(TOKEN)
    service.order(object(), (0, 1), (2, 2), explore=False)
    with Browser() as browser, Agent(where, token=TOKEN) as agent:
        browser.open(f"{where}/#{TOKEN}")
        decision = agent.ask()
        agent.tell(decision, 1.0)
        service.finish(1)

        def shown() -> str:
            return str(browser.evaluate("document.body.innerText"))

        until(lambda: "every request gets green" in shown(), "the page says the answer")
        assert "decisions\n1" in shown()
        assert "rewards\n1" in shown()
        errors = [m for m in browser.messages if "request" not in m]
        assert [m for m in errors if "favicon" not in str(m)] == []


def silent(where: str, count: int, said: bytes = b"") -> list[socket.socket]:
    """Connections that say no more than this."""
    place = where.removeprefix("http://").split(":")
    made = [socket.create_connection((place[0], int(place[1])), 30) for _ in range(count)]
    for one in made:
        one.sendall(said)
    return made


GOT = b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POSTED = (
    b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)


@pytest.mark.parametrize("said", [b"", b"GET /v1/status HTTP/1.1\r\n", GOT])
def test_who_connects_and_asks_nothing_keeps_nobody_out(opened, monkeypatch, said):
    """Of those that are idle one that never asked goes first, then the oldest."""
    monkeypatch.setattr("posse.live.http._AT_ONCE", 8)
    _, where = opened()
    host = where.removeprefix("http://")
    own = http.client.HTTPConnection(host, timeout=30)
    for _ in range(3):
        held = silent(where, 20, said)
        if said != GOT:  # this connection has asked, so it stays
            own.request("GET", "/v1/status")
            assert own.getresponse().read()
        assert call(where, "GET", "/v1/status")[0] == 200
        for one in held:
            one.close()
    own.close()


def test_the_document_names_every_status_of_a_failure():
    answered = {
        *re.findall(r"_(?:problem|Unread)\((\d{3})", Path(posse.live.http.__file__).read_text())
    }
    assert "408" in answered
    for path in document(["blue", "green"])["paths"].values():
        for operation in path.values():
            assert answered <= operation["responses"].keys()


def test_a_body_that_does_not_arrive_is_not_waited_for(opened, monkeypatch):
    monkeypatch.setattr("posse.live.http._PATIENCE", 0.05)
    monkeypatch.setattr("posse.live.http._AT_ONCE", 8)
    _, where = opened()
    held = silent(where, 8, POSTED)
    assert all(one.recv(100).startswith(b"HTTP/1.1 408") for one in held)
    assert call(where, "GET", "/v1/status")[0] == 200
    for one in held:
        one.close()


def test_what_is_read_at_the_same_time_is_bounded(opened, monkeypatch):
    monkeypatch.setattr("posse.live.http._UNDER_WAY", 100)
    _, where = opened()
    assert call(where, "POST", "/v1/ask", {"person": "a" * 100})[0] == 503
    assert call(where, "POST", "/v1/ask", {})[0] == 200


ASKED = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        ASKED + b"X: " + bytes(1 << 20).replace(b"\0", b"a"),
        ASKED + b"a: b\r\n" * 20_000,
        b"GET /" + b"a" * (1 << 20),
        BODY + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"a" * (1 << 20),
        (ASKED + b"\r\n") * 100,
    ],
    ids=["a header", "headers", "an address", "after a body", "requests in a row"],
)
def test_what_a_parser_would_keep_is_bounded(opened, sent) -> None:
    """Of 150 MiB before a request's end its process kept all."""
    _, where = opened()
    host, port = where.removeprefix("http://").split(":")
    with (
        suppress(ConnectionError),
        socket.create_connection((host, int(port)), timeout=10) as connection,
    ):
        for _ in range(8):
            connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert not connection.recv(1 << 16)  # it neither answers nor waits
    assert call(where, "GET", "/v1/status")[0] == 200


def test_who_leaves_in_the_middle_of_a_request_is_no_line_of_the_log(opened, caplog) -> None:
    _, where = opened()
    host, port = where.removeprefix("http://").split(":")
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(BODY + b"Content-Length: 9\r\n\r\n{")
            time.sleep(0.05)
    assert call(where, "GET", "/v1/status")[0] == 200
    assert not caplog.records


@pytest.mark.parametrize("name", [b"Host", b"Origin"])
def test_a_header_that_is_there_twice_is_refused(opened, name) -> None:
    """Each reader takes another of the two."""
    _, where = opened()
    host, port = where.removeprefix("http://").split(":")
    for values in ([b"evil.example", b"localhost"], [b"localhost", b"evil.example"]):
        lines = b"".join(name + b": " + value + b"\r\n" for value in values)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            first, _, host_line = ASKED.partition(b"\r\n")
            kept = host_line if name != b"Host" else b""
            connection.sendall(first + b"\r\n" + kept + lines + b"\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 403 ")
