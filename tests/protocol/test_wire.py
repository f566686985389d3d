"""The codec: what is sent arrives, and no bytes of a peer's raise anything but one exception."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol import control
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import MOST_ARMS
from posse.protocol.message import Header, Message, Plane, kind_name
from posse.protocol.wire import (
    HEADER,
    Codec,
    encode,
    kind_of,
    measure_payloads,
    pack_floats,
    read_header,
    sent_at,
    unpack_floats,
)
from posse_systems.rio2023.messages import TO_COORDINATOR, Sample, Vote
from tests.support.conversations import examples

CODEC = Codec(
    (
        *TO_COORDINATOR,
        *control.TO_COORDINATOR,
        *control.TO_LABS_COORDINATOR,
        *control.TO_LOBBY,
    )
)

FULL = tuple(range(MOST_ARMS))
ARMS = st.lists(st.integers(0, MOST_ARMS - 1), min_size=1, max_size=20).map(tuple)
MESSAGES = st.one_of(
    st.builds(Vote, ARMS),
    st.builds(Sample, ARMS, st.binary(max_size=200)),
    st.builds(control.Due, st.floats(allow_nan=False)),
    st.builds(
        control.Join,
        st.integers(-1, MOST_AGENTS - 1),
        st.text(max_size=64),
        st.text(max_size=200),
        st.integers(0, 2**31),
    ),
    st.builds(control.Finished, st.none() | st.integers(0, MOST_ARMS - 1), st.text(max_size=50)),
)


def frame_of(message: Message, **changes: Any) -> bytes:
    fields: dict[str, Any] = {"run": 0, "source": 3, "sequence": 1, "now": 0.5, "sent": 9}
    return encode(message, **(fields | changes))


def decode(frame: bytes, codec: Codec = CODEC) -> Message:
    return codec.decode(read_header(frame).plane, frame)


def on_plane(plane: Plane, frame: bytes) -> bytes:
    return frame[:3] + bytes([plane]) + frame[4:]


def refused(frame: bytes, codec: Codec = CODEC) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(frame, codec)
    return caught.value.reason


@given(st.binary(max_size=80))
@example(bytes(HEADER.size) + b"\x92\xa4\x1b[2J")
@example(bytes(HEADER.size) + b"\x92\xbfVote")
def test_a_kind_is_a_name_or_nothing_whatever_the_bytes(frame: bytes) -> None:
    kind = kind_of(frame)
    assert kind == "" or (kind.isascii() and kind.isidentifier())


@given(
    MESSAGES,
    st.integers(0, 2**32 - 1),
    st.integers(-1, 2**31 - 1),
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 2**63 - 1),
)
def test_what_is_sent_arrives(
    message: Message, run: int, source: int, sequence: int, now: float, sent: int
) -> None:
    frame = encode(message, run=run, source=source, sequence=sequence, now=now, sent=sent)
    header = read_header(frame)
    assert frame[:3] == b"po\x01"
    assert header == Header(message.plane, run, source, sequence, now, sent)
    assert CODEC.decode(header.plane, frame) == message
    assert (kind_of(frame), sent_at(frame)) == (kind_name(type(message)), now)
    assert {sent_at(frame[:cut]) for cut in range(HEADER.size)} == {0.0}
    # the same message is the same bytes: what is measured in one engine is so in the other
    assert frame == encode(message, run=run, source=source, sequence=sequence, now=now, sent=sent)


@given(st.binary(max_size=300))
@example(b"")
@example(b"po")
def test_random_bytes_are_refused(frame: bytes) -> None:
    refused(frame)


@given(st.binary(max_size=300), st.sampled_from([0, 1, 2, 3, 255]))
@example(b"\x91" * 900_000, 0)
@example(b"\xdd\xff\xff\xff\xff", 0)
@example(b"\xc6\xff\xff\xff\xff", 1)
@example(b"\x92\xa4Vote\xdd\xff\xff\xff\xff", 0)
@example(b"\x92\xa4\x80ote\x91\x01", 0)  # a kind that is not UTF-8
def test_hostile_payloads_raise_nothing_else(payload: bytes, plane: int) -> None:
    frame = HEADER.pack(b"po", 1, plane, 0, 0, 0, 0.0, 0) + payload
    try:
        message = decode(frame)
    except RemoteProtocolError:
        return
    assert isinstance(message, (*TO_COORDINATOR, *control.TO_COORDINATOR, *control.TO_LOBBY))


@given(MESSAGES, st.data())
def test_a_damaged_frame_raises_nothing_else(message: Message, data: st.DataObject) -> None:
    frame = bytearray(frame_of(message))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(frame[: data.draw(st.integers(0, len(frame)))])
    try:
        decode(cut)
    except RemoteProtocolError as error:
        assert error.reason


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=50))
def test_floats_arrive_exactly(values: list[float]) -> None:
    data = pack_floats(np.array(values))
    assert len(data) == 8 * len(values)
    assert unpack_floats(data, len(values)).tolist() == values


@given(st.binary(max_size=80), st.integers(0, 10))
def test_hostile_floats_raise_nothing_else(data: bytes, count: int) -> None:
    try:
        values = unpack_floats(data, count)
    except RemoteProtocolError as error:
        assert error.reason == ("wrong-length" if len(data) != 8 * count else "not-finite")
    else:
        assert values.shape == (count,)
        assert np.isfinite(values).all()


@given(st.lists(ARMS.map(Vote), min_size=1, max_size=40))
def test_messages_of_one_kind_take_as_much_together_as_one_by_one(votes: list[Vote]) -> None:
    assert measure_payloads(votes) == sum(len(frame_of(vote)) - HEADER.size for vote in votes)


@examples(Path(__file__).with_name("wire.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
