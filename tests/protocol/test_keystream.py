"""Keystreams: ChaCha20, a stream per seed and number."""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from protocol.keystream import keystream, keystream_bytes, keystreams


def test_a_keystream_is_chacha20_from_block_one() -> None:
    # RFC 8439, section 2.8: the AEAD encrypts with block counter 1
    seed = bytes(range(32))
    nonce = (1).to_bytes(4, "little") + b"mask" + (77).to_bytes(8, "little")
    plain = Cipher(algorithms.ChaCha20(seed, nonce), mode=None).encryptor().update(bytes(100))
    assert keystream_bytes(seed, 77, 100) == plain
    assert keystream(seed, 77, 12).tolist() == np.frombuffer(plain[:96], dtype="<u8").tolist()


def test_several_seeds_are_a_row_each() -> None:
    seeds = [bytes([n] * 32) for n in range(3)]
    rows = keystreams(seeds, 5, 7)
    assert [row.tolist() for row in rows] == [keystream(seed, 5, 7).tolist() for seed in seeds]
    assert keystreams([], 5, 7).shape == (0, 7)


def test_numbers_and_seeds_give_streams_of_their_own() -> None:
    streams = {
        keystream_bytes(bytes([n] * 32), number, 64) for n in range(3) for number in range(3)
    }
    assert len(streams) == 9
    assert keystream_bytes(bytes(32), 0, 64).startswith(keystream_bytes(bytes(32), 0, 20))
