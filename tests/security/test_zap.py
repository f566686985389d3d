"""The gate of keys: who is let in, and when."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import zmq

from posse.security import zap as gate
from posse.security.zap import Authenticator, ZapStatus, connect_with, serve_with
from tests.support.patience import PATIENCE


class Door:
    """A PULL socket behind a gate that says `verdict`; `asked` is set at the first question."""

    def __init__(self, verdict: ZapStatus) -> None:
        self.verdict = verdict
        self.asked = threading.Event()
        self.refused: list[str] = []
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.PULL)
        self.public, secret = (key.decode() for key in zmq.curve_keypair())
        refused = lambda address, key: self.refused.append(key)  # noqa: E731
        Authenticator(self._context.socket(zmq.ROUTER), self._decide, refused).start()
        serve_with(self.socket, secret)
        self.socket.bind("tcp://127.0.0.1:*")
        self.address = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def _decide(self, key: str) -> ZapStatus:
        self.asked.set()
        return self.verdict

    def close(self) -> None:
        self.socket.close()
        self._context.term()


@contextmanager
def door(verdict: ZapStatus) -> Iterator[Door]:
    one = Door(verdict)
    try:
        yield one
    finally:
        one.close()


@contextmanager
def knocking(at: Door, *, keys: bool = True) -> Iterator[str]:
    """A peer that has sent one message to the door, or tries to; its public key."""
    context = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.setsockopt(zmq.LINGER, 0)
    public, secret = (key.decode() for key in zmq.curve_keypair())
    if keys:
        connect_with(socket, public, secret, at.public)
    socket.connect(at.address)
    socket.send(b"hello")
    try:
        yield public
    finally:
        socket.close()
        context.term()


def test_who_is_known_is_let_in_under_its_key() -> None:
    with door(ZapStatus.YES) as at, knocking(at) as public:
        assert at.socket.poll(20_000), "nothing came through a gate that says yes"
        part = at.socket.recv(copy=False)
        assert (part.bytes, gate.key_of(part)) == (b"hello", public)
        assert at.refused == []


def test_who_comes_too_early_is_let_in_as_soon_as_it_is_known() -> None:
    """Eight doors: where the answer is status 300 three in four of them stay shut for 30 s."""
    with ExitStack() as stack:
        doors = [stack.enter_context(door(ZapStatus.NOT_YET)) for _ in range(8)]
        for at in doors:
            stack.enter_context(knocking(at))
        for at in doors:
            assert at.asked.wait(PATIENCE), "nobody asked the gate"
            at.verdict = ZapStatus.YES
        for number, at in enumerate(doors):
            assert at.socket.poll(15_000), f"door {number} stayed shut"


def test_a_stranger_and_who_has_no_key_are_refused() -> None:
    with door(ZapStatus.NO) as at, knocking(at) as public:
        assert at.asked.wait(PATIENCE), "nobody asked the gate"
        assert not at.socket.poll(100)
        assert set(at.refused) == {public}
    with door(ZapStatus.YES) as at, knocking(at, keys=False):
        assert not at.socket.poll(300)
        assert not at.asked.is_set()


def test_strangers_without_number_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MOST_KEPT", 1)
    with door(ZapStatus.NOT_YET) as at, knocking(at) as first:
        assert at.asked.wait(PATIENCE), "nobody asked the gate"
        with knocking(at) as second:
            for _ in range(200):
                if second in at.refused:
                    break
                at.socket.poll(100)
            assert {first, second} <= set(at.refused)
            at.verdict = ZapStatus.YES
            assert at.socket.poll(15_000), "who was kept was not let in"
