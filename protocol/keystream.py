"""Keystreams that two ends expand from one seed.

The cipher is ChaCha20 (RFC 8439) from `cryptography`; the ciphertext of zeros is the keystream. It
is called through ChaCha20-Poly1305, which costs a fifth of the plain cipher's set-up, and the tag
is dropped. A pair (seed, number) gives one stream: numbers must not repeat under one seed.
"""

import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from numpy.typing import NDArray

_NONCE = struct.Struct("<4sQ")


def keystream_bytes(seed: bytes, number: int, count: int) -> bytes:
    """`count` bytes from a seed of 32 bytes."""
    nonce = _NONCE.pack(b"mask", number)
    return ChaCha20Poly1305(seed).encrypt(nonce, bytes(count), None)[:count]


def keystreams(seeds: list[bytes], number: int, count: int) -> NDArray[np.uint64]:
    """A row of `count` words, uniform modulo 2^64, from each seed; shape (len(seeds), count)."""
    data = bytearray().join(keystream_bytes(seed, number, 8 * count) for seed in seeds)
    words = np.frombuffer(data, dtype="<u8").reshape((len(seeds), count))
    return np.asarray(words, dtype=np.uint64)


def keystream(seed: bytes, number: int, count: int) -> NDArray[np.uint64]:
    """`count` words, uniform modulo 2^64."""
    stream: NDArray[np.uint64] = keystreams([seed], number, count)[0]
    return stream
