"""One end of a run's links: what is refused changes nothing, what is sent is counted."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posse.hosts.effects import SendFrame
from posse.hosts.endpoint import NEIGHBOURS, Endpoint, blamed_peer
from posse.protocol import control
from posse.protocol.control import LinkCount
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.protocol.wire import HEADER, VERSION, Codec, encode, read_header
from posse_systems.rio2023.messages import Eliminated, Vote
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


def test_an_honest_frame_is_taken_once() -> None:
    end = endpoint()
    message = Eliminated((1,))
    assert opened(end, 1, frame(message, 1, 0, run=7)) == message
    with pytest.raises(RemoteProtocolError, match="replayed: sequence 0"):
        opened(end, 1, frame(message, 1, 0, run=7))
    assert opened(end, None, frame(message, 1, 5, run=7)) == message
    with pytest.raises(RemoteProtocolError, match="replayed: sequence 4"):
        opened(end, 1, frame(message, 1, 4, run=7))
    # another peer has numbers of its own
    assert opened(end, 2, frame(message, 2, 0, run=7)) == message


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


def test_who_is_to_blame_is_who_the_transport_says() -> None:
    bad = frame(Eliminated((1,)), 4, 0)
    assert blamed_peer(2, bad) == 2
    assert blamed_peer(None, bad) == 4
    assert blamed_peer(None, b"po") is None


def test_delays_are_measured_where_frames_are_stamped() -> None:
    end = endpoint()
    for sent, at in ((0, 0), (200, 0), (200, 1_000), (999, 1_001)):
        end.arrived(1, sent, at)
    # 800 ns twice and 2 ns once, in buckets of an eighth of an octave
    assert end.delays == {1: {round(8 * 9.6439): 2, 8: 1}}


def test_an_agents_frames_have_one_row_of_numbers() -> None:
    effects: list[SendFrame] = []
    end = endpoint(effects=effects)
    end.send(1, Vote((0,)), 1.5)
    end.send_to_all((1, 2), Vote((1,)), 2.5)
    end.send(COORDINATOR, Vote((2,)), 3.5)
    assert effects == [
        SendFrame(to, encode(Vote((n,)), run=7, source=3, sequence=n, now=n + 1.5, sent=1_000))
        for n, to in enumerate((1, NEIGHBOURS, COORDINATOR))
    ]


def test_a_coordinators_links_have_numbers_of_their_own() -> None:
    effects: list[SendFrame] = []
    end = endpoint(name=COORDINATOR, peers=range(3), effects=effects, per_link=True)
    for to in (0, 1, 0, 2, 0):
        end.send(to, Vote((0,)), 0.0)
    numbers = [(e.target, read_header(e.frame).sequence) for e in effects]
    assert numbers == [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]


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
