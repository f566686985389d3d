"""The coordinator's socket: what its monitor tells."""

import contextlib
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from posse.coordinator.roster import Member
from posse.coordinator.router import NotAccepted, Router
from posse.errors import PosseError
from posse.security import keys
from posse.wire.line import Interceptor
from tests.support.remote import until


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name leaves room for a socket's."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def bound(at: Path, pairs: keys.CoordinatorKeys | None = None) -> Router:
    return Router(f"ipc://{at}", 5.0, 0.02, pairs, 1, dict, Interceptor())


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (None, "the other side may have keys while this one has none"),
        (keys.make_ephemeral_keys(1)[0], "the other side may have no keys"),
    ],
)
def test_who_goes_away_in_the_handshake_over_ipc_is_one_sentence(
    short: Path, pairs: keys.CoordinatorKeys | None, why: str
) -> None:
    """A path has no port by which to look up where a connection came from."""
    router = bound(short / "hub", pairs)
    said: list[str] = []

    def told() -> bool:
        said.extend(event.text for event in router.connections() if isinstance(event, NotAccepted))
        return bool(said)

    with contextlib.closing(socket.socket(socket.AF_UNIX)) as stranger:
        stranger.connect(str(short / "hub"))
        stranger.sendall(b"\xff")
    try:
        until(told, "that it is told of")
    finally:
        router.close(flush=False)
    assert len(said) == 1
    assert why in said[0]


def test_an_interrupt_within_a_message_is_no_error(short: Path) -> None:
    """Ctrl-C may come when the sender was read and the content was not."""
    router = bound(short / "hub")
    dealer: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
    dealer.connect(f"ipc://{short / 'hub'}")
    try:
        dealer.send(b"content")
        until(lambda: router._socket.poll(0), "that it is there")
        router._socket.recv()
        assert router.next() is None
        dealer.send(b"the next")
        until(lambda: router._socket.poll(0), "that it is there")
        received = router.next()
        assert received is not None
        assert received[1].bytes == b"the next"
    finally:
        dealer.close(linger=0)
        router.close(flush=False)


@pytest.mark.parametrize("parts", [0, 1, 2])
def test_an_interrupt_while_a_message_is_sent_costs_no_other_one(short: Path, parts: int) -> None:
    """Ctrl-C may come before, between and after its parts: the next agent has its goodbye."""
    router = bound(short / "hub")
    dealers: list[zmq.Socket[bytes]] = [zmq.Context.instance().socket(zmq.DEALER) for _ in "01"]
    try:
        for name, dealer in zip((b"0", b"1"), dealers, strict=True):
            dealer.setsockopt(zmq.RCVTIMEO, 5_000)
            dealer.setsockopt(zmq.ROUTING_ID, name)
            dealer.connect(router.endpoint)
            dealer.send(b"here")
            router._socket.recv_multipart()
        send, left = router._send, iter(range(parts))
        member = Member(0, b"0", b"", "", takes_part=True, connection=1, heard=0.0)
        router.link(member)

        def interrupted(data: bytes, flags: int = 0) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            send(data, flags)

        router._send = interrupted
        with contextlib.suppress(KeyboardInterrupt):
            member.line.send(b"to the first")
        router._send = send
        if parts == 2:
            router._half = b"to the first"  # as if it came before this was forgotten
        router.reply(b"1", b"to the next")
        router.reply(b"0", b"at last")
        heard = [dealers[1].recv_multipart(), dealers[0].recv_multipart()]
        if parts:
            heard.append(dealers[0].recv_multipart())
    finally:
        for dealer in dealers:
            dealer.close(linger=0)
        router.close(flush=False)
    assert [[part[-12:] for part in one] for one in heard] == [
        [b"to the next"],
        *[[b"to the first"]] * (parts > 0),
        [b"at last"],
    ]


@pytest.mark.parametrize("flush", [False, True])
def test_no_socket_file_stays(short: Path, flush: bool) -> None:
    router = bound(short / "hub")
    assert (short / "hub").is_socket()
    router.close(flush=flush)
    assert list(short.iterdir()) == []


def test_a_file_that_another_bound_there_since_stays(short: Path) -> None:
    first = bound(short / "hub")
    with pytest.raises(PosseError, match="cannot be bound: it is in use; stop the program"):
        bound(short / "hub")
    (short / "hub").unlink()
    second = bound(short / "hub")
    first.close(flush=False)
    assert (short / "hub").is_socket()
    second.close(flush=False)
    assert list(short.iterdir()) == []


def test_an_address_without_a_file_takes_none_with_it(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(short)
    (short / "@hub").touch()
    router = Router(f"ipc://@{short.name}", 5.0, 0.02, None, 1, dict, Interceptor())
    (short / f"@{short.name}").touch()
    router.close(flush=False)
    assert len(list(short.iterdir())) == 2


LOST_BY_THE_THOUSAND = """
import resource, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
import zmq
from posse.coordinator.router import Router
from posse.wire.line import Interceptor

router = Router(sys.argv[1], 5.0, 0.02, None, 1, dict, Interceptor())
contexts = [zmq.Context() for _ in range(3)]
peers = [context.socket(zmq.DEALER) for context in contexts for _ in range(800)]
for peer in peers:
    peer.connect(sys.argv[1])
    peer.send(b"")
for _ in peers:
    router._socket.poll(30_000)
    router._socket.recv_multipart()
for peer in peers:
    peer.close(0)
time.sleep(0.5)
router.close(flush=False)
"""


@pytest.mark.slow
def test_it_ends_beside_thousands_of_lost_connections_that_nobody_read_of(short: Path) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 8_000:
        pytest.skip("2,400 connections need 8,000 descriptors")
    command = [sys.executable, "-c", LOST_BY_THE_THOUSAND, f"ipc://{short / 'at'}"]
    subprocess.run(command, check=True, timeout=60)
