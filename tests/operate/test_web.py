"""The small HTTP endpoint."""

import contextlib
import http.client
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.errors import InputError, PosseError
from posse.operate import web
from posse.operate.web import Web, answer, place
from tests.support.patience import PATIENCE


def said(environ, start):
    return answer(start, f"asked {environ['QUERY_STRING']}\n", 200, X_Kind="test")


def raises(environ, start):
    raise ZeroDivisionError("of the test")


@pytest.fixture
def up() -> Iterator[Web]:
    served = Web("--http", ":0", {"/said": said, "/raises": raises})
    yield served
    served.close()


def get(served: Web, path: str, **headers: str) -> tuple[int, str]:
    asked = urllib.request.Request(served.url + path, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_an_application_answers_its_own_path_alone(up: Web) -> None:
    assert get(up, "/said?a=1") == (200, "asked a=1\n")
    assert get(up, "/said/more") == (404, "/raises\n/said\n")
    up.routes["/later"] = said
    assert get(up, "/later")[0] == 200


def test_nothing_is_changed_by_who_asks(up: Web) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=PATIENCE)
    connection.request("POST", "/said", "x")
    assert connection.getresponse().status == 405


def test_what_raises_is_an_answer_and_a_line_of_the_log(up: Web, caplog) -> None:
    assert get(up, "/raises") == (500, "see the log\n")
    assert "/raises cannot be answered: ZeroDivisionError" in caplog.text


def test_whoever_asks_slowly_holds_up_nobody(up: Web) -> None:
    """More slow readers than are served at once: the oldest are closed, not the newest."""
    where = ("127.0.0.1", up.port)
    slow = [socket.create_connection(where, timeout=PATIENCE) for _ in range(web._AT_ONCE + 8)]
    for _ in range(3):
        assert get(up, "/said")[0] == 200
    assert slow[0].recv(1) == b""  # closed long before its time to ask is over
    for connection in slow:
        connection.close()


def test_who_says_nothing_is_not_listened_to_for_ever(
    up: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web._Request, "timeout", 0.05)
    with socket.create_connection(("127.0.0.1", up.port)) as silent:
        silent.settimeout(20)
        assert silent.recv(1) == b""


def test_who_asks_byte_by_byte_is_not_listened_to_for_ever(
    up: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web._Request, "timeout", 0.5)
    with socket.create_connection(("127.0.0.1", up.port), timeout=PATIENCE) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):  # as it is closed before all was read
            while True:
                slow.sendall(b"x")
                time.sleep(0.05)


def test_a_reader_has_its_own_time_however_late_it_asked(
    up: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float | None] = []

    def application(environ, start):
        left.append(environ["wsgi.input"].raw._connection.gettimeout())
        return answer(start, "")

    up.routes["/left"] = application
    assert get(up, "/left")[0] == 200
    assert left == [web._PATIENCE]


@given(st.sampled_from(["", "0.0.0.0", "[::1]", "a.example", "::1", "http://host"]),
       st.none() | st.integers(0, 99_999))  # fmt: skip
@example("", 9100)
@example("[::1]", 9100)
@example("::1", 9100)
@example("", 65_536)
@example("nonsense", None)
def test_a_place_is_this_machine_alone_unless_a_host_is_named(host: str, port: int | None) -> None:
    given_ = host if port is None else f"{host}:{port}"
    if port is None or port > 65_535 or host in ("::1", "http://host"):
        with pytest.raises(InputError, match=r"--watch .*: must be \[HOST\]:PORT"):
            place("--watch", given_)
    else:
        assert place("--http", given_) == (host.strip("[]") or "127.0.0.1", port)


def test_it_is_reached_by_ipv6() -> None:
    try:
        served = Web("--http", "[::1]:0", {"/said": said})
    except PosseError:
        pytest.skip("this machine has no IPv6")
    try:
        assert served.url == f"http://[::1]:{served.port}"
        assert get(served, "/said")[0] == 200
    finally:
        served.close()


def test_a_port_that_is_taken_is_said_so(up: Web) -> None:
    with pytest.raises(PosseError, match=r"--http :\d+ cannot be bound: Address already in use"):
        Web("--http", f":{up.port}", {})
