"""Requests to connect that the kernel drops: real sockets on the loopback."""

import socket
import sys
from collections.abc import Iterator, Mapping

import pytest

from posse.wire.admission import source_of
from posse.wire.syn_filter import MOST_SOURCES, attach, program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a filter of Linux")

LISTENS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


@pytest.fixture(params=LISTENS, ids=["four", "six"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with socket.socket(request.param) as here:
        try:
            here.bind((LISTENS[request.param], 0))
        except OSError:
            pytest.skip("no such address here")
        here.listen()
        yield here


def connects(listener: socket.socket, source: str) -> bool:
    """Whether a request gets through at once; the kernel would send it again after a second."""
    with socket.socket(listener.family) as peer:
        peer.settimeout(0.2)
        peer.bind((source, 0))
        try:
            peer.connect(listener.getsockname())
        except TimeoutError:
            return False
        accepted, _ = listener.accept()
        with accepted:
            accepted.sendall(b"passes")  # the accepted socket has the filter, too
            peer.sendall(b"passes")
            return peer.recv(10) == accepted.recv(10) == b"passes"


def limited(listener: socket.socket, share: Mapping[str, float], others: float) -> None:
    sources = {source_of(host): part for host, part in share.items()}
    assert attach(listener, program({s: p for s, p in sources.items() if s}, others, []))


def test_the_share_of_a_source_is_let_in(listener: socket.socket) -> None:
    here = listener.getsockname()[0]
    for share in (1.0, 0.0, 1.0):
        limited(listener, {here: share}, 1.0 - share)
        assert connects(listener, here) is (share == 1)


def test_another_source_has_the_share_of_others(listener: socket.socket) -> None:
    here, other = listener.getsockname()[0], "2001:db8::1" if listener.family == 10 else "127.0.0.2"
    limited(listener, {other: 0.0}, 1.0)
    assert connects(listener, here)
    limited(listener, {other: 1.0}, 0.0)
    assert not connects(listener, here)


def test_an_exempt_address_is_let_in_whatever_its_network(listener: socket.socket) -> None:
    here = listener.getsockname()[0]
    source = source_of(here)
    assert source is not None
    attach(listener, program({source: 0.0}, 0.0, [here, "no address"]))
    assert connects(listener, here)


def test_some_of_many_are_let_in(listener: socket.socket) -> None:
    limited(listener, {}, 0.5)
    came = sum(connects(listener, listener.getsockname()[0]) for _ in range(12))
    assert 0 < came < 12  # wrong once in 2,048 trials


def test_the_largest_program_is_taken(listener: socket.socket) -> None:
    many = {f"10.0.{n}.1": 0.5 for n in range(MOST_SOURCES)}
    many |= {f"2001:db8:0:{n:x}::1": 0.5 for n in range(MOST_SOURCES)}
    limited(listener, many, 0.5)
