"""What addresses mean on this machine."""

import errno
import socket
from pathlib import Path

import pytest

from posse.wire.lookup import (
    closed_by_us,
    in_the_way,
    is_ipv6,
    is_own,
    own_address,
    unresolved,
    why_silent,
)


@pytest.mark.parametrize(
    "endpoint", ["ipc:///tmp/x", "inproc://x", "tcp://127.0.0.1:7000", "tcp://localhost:7000"]
)
def test_addresses_that_mean_something(endpoint: str) -> None:
    assert unresolved(endpoint) == ""
    assert own_address(endpoint) == "127.0.0.1"


def test_a_name_that_means_nothing_is_said() -> None:
    said = unresolved("tcp://no-such-host.invalid:7000")
    assert said.startswith("the name no-such-host.invalid does not resolve (")


def test_why_nobody_answers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not resolve" in why_silent("tcp://no-such-host.invalid:7000")
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert why_silent(endpoint) == why_silent("ipc:///tmp/x") == ""
    assert why_silent(endpoint) == "connection refused"

    def used_up(*given: object) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(socket, "create_connection", used_up)
    assert why_silent(endpoint).startswith("this machine has no local port left for it; widen")


def test_a_file_that_is_no_socket_s_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("precious")
    assert in_the_way(f"ipc://{tmp_path}/notes").startswith("something else is there")
    assert in_the_way(f"ipc://{tmp_path}/free") == in_the_way("tcp://127.0.0.1:1") == ""


def test_an_address_of_ipv6_is_one() -> None:
    assert own_address("tcp://[::1]:7000") == "::1"
    assert unresolved("tcp://[::1]:7000") == ""
    assert is_ipv6("tcp://[::1]:7000")
    for other in ("tcp://127.0.0.1:7000", "tcp://*:7000", "ipc:///tmp/x"):
        assert not is_ipv6(other)


@pytest.mark.parametrize(
    ("kinds", "said"),
    [([socket.AF_INET, socket.AF_INET6], False), ([socket.AF_INET6], True), ([], False)],
)
def test_a_name_is_taken_for_ipv6_where_it_has_nothing_else(
    kinds: list[int], said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_up(host: str, port: object) -> list[tuple[int]]:
        if not kinds:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(kind,) for kind in kinds]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    assert is_ipv6("tcp://name:7000") is said


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_whose_connection_was_closed_here_is_known_for_a_while(host: str) -> None:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind) as listening:
        listening.bind((host, 0))
        listening.listen()
        port = listening.getsockname()[1]
        with socket.create_connection((host, port)) as other:
            ours, _ = listening.accept()
            assert closed_by_us(port) == set()
            ours.close()
            assert other.recv(1) == b""
            assert closed_by_us(port) == {host.removeprefix("::ffff:")}
        assert closed_by_us(port) == {host.removeprefix("::ffff:")}


@pytest.mark.parametrize(("host", "own"), [("127.0.0.1", True), ("192.0.2.1", False), ("x", False)])
def test_whose_address_is_this_machine_s(host: str, own: bool) -> None:
    assert is_own(host) is own
