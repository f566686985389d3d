"""One end of a run's links: what is refused changes nothing, what is sent is counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.hosts.endpoint import Endpoint, blamed_peer
from posse.protocol import control
from posse.protocol.control import LinkCount
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.protocol.wire import HEADER, VERSION, Codec
from posse_systems.rio2023.messages import Eliminated, Vote
from tests.support.conversations import examples
from tests.support.hosts import frame

CODEC = Codec((Eliminated, control.Advance))


def endpoint(**changes: Any) -> Endpoint:
    given: dict[str, Any] = {
        "name": 3,
        "run": 7,
        "peers": {COORDINATOR, 1, 2},
        "codec": CODEC,
        "stamp": lambda: 1_000,
        "effects": [],
    }
    return Endpoint(**(given | changes))


def opened(end: Endpoint, sender: int | None, data: bytes) -> Any:
    return end.open(sender, data)[-1]


def raw(kind: str, *fields: Any, plane: int = 0, source: int = 1) -> bytes:
    header = HEADER.pack(b"po", VERSION, plane, 7, source, 0, 0.0, 0)
    return header + msgspec.msgpack.encode([kind, *fields])


BAD = {
    "short": (1, b"po"),
    "garbage": (1, bytes(64)),
    "version": (1, b"po\xff" + bytes(61)),
    "not-finite": (1, frame(Eliminated((1,)), 1, 0, 7, now=float("inf"))),
    "wrong-source": (2, frame(Eliminated((1,)), 1, 0, 7)),
    "stranger": (None, frame(Eliminated((1,)), 4, 0, 7)),
    "unknown-kind": (1, raw("Surrender", 1)),
    "malformed": (1, raw("Eliminated", "all")),
    "unknown-kind on its plane": (1, raw("Advance", [1])),
    "unknown-kind in the world": (1, raw("Vote", [1], plane=int(Plane.WORLD))),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_frame_is_refused_and_its_number_stays_free(reason: str) -> None:
    end = endpoint()
    sender, data = BAD[reason]
    with pytest.raises(RemoteProtocolError) as error:
        opened(end, sender, data)
    assert error.value.reason == reason.split(maxsplit=1)[0]
    assert opened(end, 1, frame(Eliminated((1,)), 1, 0, 7)) == Eliminated((1,))
    assert end.meter.links() == []


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_taken_or_refused(data: bytes) -> None:
    for sender in (None, 1):
        for whole in (data, HEADER.pack(b"po", VERSION, 0, 7, 1, 0, 0.0, 0) + data):
            try:
                opened(endpoint(), sender, whole)
            except RemoteProtocolError:
                assert blamed_peer(1, whole) == 1


def test_what_is_sent_is_counted_on_each_link_that_it_crosses() -> None:
    end = endpoint()
    end.send(1, Vote((0,)), 0.0)
    end.send_to_all((1, 2), Vote((0,)), 0.0)
    end.send(COORDINATOR, control.SlotReached(), 0.0)
    vote = len(msgspec.msgpack.encode(Vote((0,))))
    said = len(msgspec.msgpack.encode(control.SlotReached()))
    assert end.meter.links() == [
        LinkCount(3, COORDINATOR, 1, "SlotReached", 1, said, said + HEADER.size),
        LinkCount(3, 1, 0, "Vote", 2, 2 * vote, 2 * (vote + HEADER.size)),
        LinkCount(3, 2, 0, "Vote", 1, vote, vote + HEADER.size),
    ]


@examples(Path(__file__).with_name("endpoint.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
