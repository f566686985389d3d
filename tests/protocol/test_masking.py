"""Words on the wire: eight bytes each, as many as were asked for."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import RemoteProtocolError
from protocol.masking import MAX_WORDS, Masked, PublicKey, pack_words, unpack_words

WORDS = st.lists(st.integers(0, 2**64 - 1), max_size=40)


@given(WORDS)
def test_words_come_back_and_add_up_modulo_2_to_the_64(values: list[int]) -> None:
    words = np.array(values, dtype=np.uint64)
    assert unpack_words(pack_words(words), len(values)).tolist() == values
    assert (words - words).tolist() == [0] * len(values)


@given(st.binary(max_size=100), st.integers(0, 12))
def test_bytes_of_another_length_are_refused(data: bytes, count: int) -> None:
    if len(data) == 8 * count:
        assert pack_words(unpack_words(data, count)) == data
        return
    with pytest.raises(RemoteProtocolError) as caught:
        unpack_words(data, count)
    assert caught.value.reason == "wrong-length"


def test_keys_and_reports_have_their_lengths_on_the_wire() -> None:
    decode = msgspec.msgpack.Decoder(PublicKey | Masked).decode
    for message in (PublicKey(bytes(32)), Masked(1, bytes(8 * MAX_WORDS))):
        assert decode(msgspec.msgpack.encode(message)) == message
    for message in (
        PublicKey(bytes(31)),
        PublicKey(bytes(97)),
        Masked(1, bytes(8 * MAX_WORDS + 1)),
    ):
        with pytest.raises(msgspec.ValidationError):
            decode(msgspec.msgpack.encode(message))
