"""Words on the wire, eight bytes each, as many as were asked for; and keystreams over them."""

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.masking import (
    MAX_WORDS,
    Masked,
    PublicKey,
    keystream,
    keystream_bytes,
    keystreams,
    pack_words,
    unpack_words,
)

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


@given(st.integers(0, 200), st.integers(8 * MAX_WORDS - 99, 8 * MAX_WORDS + 99))
@example(32, 8 * MAX_WORDS)
@example(31, 8 * MAX_WORDS + 1)
@example(97, 0)
def test_keys_and_reports_have_their_lengths_on_the_wire(key: int, words: int) -> None:
    decode = msgspec.msgpack.Decoder(PublicKey | Masked).decode
    for message, fits in (
        (PublicKey(bytes(key)), 32 <= key <= 32 + 64),  # a signature may follow
        (Masked(1, bytes(words)), words <= 8 * MAX_WORDS),
    ):
        data = msgspec.msgpack.encode(message)
        if fits:
            assert decode(data) == message
        else:
            with pytest.raises(msgspec.ValidationError):
                decode(data)


@given(
    st.lists(st.binary(min_size=32, max_size=32), max_size=4),
    st.integers(0, 2**64 - 1),
    st.integers(0, 20),
)
@example([bytes(range(32))], 77, 12)
@example([], 5, 7)
def test_a_keystream_is_chacha20_from_block_one_and_each_seed_has_a_row(
    seeds: list[bytes], number: int, words: int
) -> None:
    # RFC 8439, section 2.8: the AEAD encrypts with block counter 1
    nonce = (1).to_bytes(4, "little") + b"mask" + number.to_bytes(8, "little")
    rows = keystreams(seeds, number, words)
    assert rows.shape == (len(seeds), words)
    for seed, row in zip(seeds, rows, strict=True):
        cipher = Cipher(algorithms.ChaCha20(seed, nonce), mode=None)
        plain = cipher.encryptor().update(bytes(8 * words))
        assert keystream_bytes(seed, number, 8 * words) == plain
        assert keystream(seed, number, words).tolist() == row.tolist()
        assert row.tolist() == np.frombuffer(plain, dtype="<u8").tolist()
