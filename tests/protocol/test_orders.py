"""A chain of signed orders: nothing can be taken out, put in, moved or changed."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol import control
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.message import Message
from posse.protocol.orders import (
    DRAWN,
    MARK,
    SEAL_BYTES,
    chain_of,
    is_order,
    opened,
    place_of,
    sealed,
    unsealed,
)
from posse.protocol.signing import Signer, hash_of, public_of
from posse.protocol.wire import HEADER, Codec, encode
from posse.wire.forwarding import FORWARD, HEAD

SECRET = bytes(range(32))
WHO = b"agents's"
RANK = 3


def signer() -> Signer:
    return Signer(SECRET, {}, b"")


def checker() -> Signer:
    return Signer(None, {-1: public_of(SECRET)}, b"")


def framed(message: Message) -> bytes:
    return encode(message, run=0, source=-1, sequence=7, now=1.0, sent=0)


GONE = [framed(control.Gone(rank)) for rank in range(6)]


def sent(frames: list[bytes], drawn: bytes = bytes(DRAWN)) -> list[bytes]:
    """Frames of a session behind their seals."""
    said, data = chain_of(drawn, WHO), []
    for number, frame in enumerate(frames, 1):
        _, behind, said = sealed(signer(), said, place_of(RANK, number), frame)
        data.append(behind)
    return data


def taken(data: list[bytes]) -> list[bytes]:
    """What an agent takes them for."""
    said, frames = b"", []
    for number, one in enumerate(data, 1):
        order, frame, said = opened(checker(), said, WHO, place_of(RANK, number), one)
        assert order is not None
        assert order.frame == frame == unsealed(one)
        frames.append(frame)
    return frames


def test_a_seal_is_a_mark_random_bytes_a_hash_and_a_signature() -> None:
    first, second = sent(GONE[:2], bytes(range(DRAWN)))
    assert first[:4] == MARK == b"ps\x01\x00"
    assert first[4:20] == bytes(range(DRAWN))
    assert first[20:52] == hash_of(GONE[0])
    assert second[20:52] == hash_of(first[20:52] + GONE[1])
    assert (SEAL_BYTES, first[116:]) == (116, GONE[0])
    place = (RANK).to_bytes(4, "little") + (1).to_bytes(8, "big")
    name = chain_of(bytes(range(DRAWN)), WHO)
    Signer(None, {-1: public_of(SECRET)}, name).check_statement(-1, b"order", place, first[20:116])


@given(st.data())
def test_whatever_is_done_to_a_chain_is_found(data: st.DataObject) -> None:
    honest = sent(GONE)
    assert taken(honest) == GONE
    at = data.draw(st.integers(0, len(honest) - 2))
    where = data.draw(st.integers(0, len(honest[at]) - 1))
    other = bytearray(honest[at])
    other[where] ^= data.draw(st.integers(1, 255))
    changed: list[list[bytes]] = [
        [*honest[:at], *honest[at + 1 :]],
        [*honest[:at], honest[at + 1], honest[at], *honest[at + 2 :]],
        [*honest[:at], honest[at], *honest[at:]],
        [*honest[:at], bytes(other), *honest[at + 1 :]],
        [*honest[: at + 1], *sent(GONE, b"another session!")[at + 1 :]],
        [*honest[: at + 1], GONE[at + 1]],
    ]
    for one in changed:
        with pytest.raises((RemoteProtocolError, AssertionError)):
            taken(one)


@pytest.mark.parametrize("message", [*control.TO_AGENT, control.Configure])
def test_what_decides_is_an_order_however_it_is_written(message: type[Message]) -> None:
    """msgpack has three ways to begin an array: a decoder takes all, so each must be signed."""
    values: dict[str, Any] = {"seed": 1, "run": 0, "agent": 2, "rank": 0, "setup": b""}
    values |= {"view": 1, "neighbours": (), "knowledge": b"", "round": 1, "begun": 1}
    values |= {"slot": 1, "arms": (0,)}
    made = message(**{name: values[name] for name in message.__struct_fields__ if name in values})
    frame = framed(made)
    payload = frame[HEADER.size :]
    count = payload[0] & 0x0F
    codec = Codec((*control.TO_AGENT, control.Configure))
    for begins in (payload[:1], b"\xdc" + count.to_bytes(2), b"\xdd" + count.to_bytes(4)):
        other = frame[: HEADER.size] + begins + payload[1:]
        assert codec.decode(1, other) == made
        assert is_order(other)
        with pytest.raises(RemoteProtocolError, match="bad-signature"):
            opened(checker(), chain_of(bytes(DRAWN), WHO), WHO, place_of(RANK, 1), other)


@given(st.binary(max_size=40))
def test_what_may_come_unsigned_is_no_order_to_any_decoder(tail: bytes) -> None:
    codec = Codec((*control.TO_AGENT, control.Configure))
    for kind in set(control.TO_JOINING) - {control.Configure}:
        for begins in (b"\x91", b"\x99", b"\xdc", b"\xdd", b"\x81"):
            named = begins + msgspec.msgpack.encode(kind.__name__)
            frame = framed(control.Stop())[: HEADER.size] + named + tail
            if not is_order(frame):
                with pytest.raises(RemoteProtocolError):
                    codec.decode(1, frame)


@given(st.integers(0, MOST_AGENTS - 1), st.binary(max_size=60))
@example(257, bytes(40))
def test_what_is_handed_on_for_a_neighbour_is_no_order(rank: int, tail: bytes) -> None:
    """Whatever its rank is: it stands where a frame has its plane."""
    assert not is_order(HEAD.pack(FORWARD, rank) + tail)
