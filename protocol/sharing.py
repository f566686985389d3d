"""Shamir's secret sharing over a prime field: whole numbers modulo the order of Ed25519's group.

Shamir, "How to share a secret", CACM 1979. n numbers are the values of one polynomial of degree
n - 1 at n places. All n give its value anywhere; n - 1 leave its value at any other place as
uniform as it was. tests/protocol/test_sharing.py has the test vectors of RFC 9591.
"""

import math
import struct
from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ORDER = 2**252 + 27742317777372353535851937790883648493

SHARE_BYTES = 32

_WIDE = 64
"""Bytes of a number before it is reduced, so many that what is left is uniform to 2^-256."""

_INFO = struct.Struct("<15sIQ")


def interpolated(values: dict[int, int], place: int) -> int:
    """The value at `place` of the polynomial of least degree with these `values` by place."""
    if place in values:
        return values[place]
    weights = _weights(tuple(values), place)
    return sum(w * y for w, y in zip(weights, values.values(), strict=True)) % ORDER


@lru_cache(maxsize=4096)
def _weights(places: tuple[int, ...], place: int) -> tuple[int, ...]:
    """Lagrange's weights of the values at `places`."""
    above = math.prod(place - other for other in places)
    parts = zip(places, _inverses(places), strict=True)
    return tuple(above // (place - own) * inverse % ORDER for own, inverse in parts)


@lru_cache(maxsize=512)
def _inverses(places: tuple[int, ...]) -> tuple[int, ...]:
    """Of the product of each place's distances from the others."""
    distances = (math.prod(own - other for other in places if other != own) for own in places)
    return tuple(pow(distance, -1, ORDER) for distance in distances)


def derived(key: bytes, owner: int, number: int) -> int:
    """A number that looks uniform, from 32 secret bytes, of agent `owner` in round `number`."""
    info = _INFO.pack(b"posse share", owner, number)
    wide = HKDF(algorithm=SHA256(), length=_WIDE, salt=None, info=info).derive(key)
    return int.from_bytes(wide, "little") % ORDER


def pack(values: list[int]) -> bytes:
    """Numbers as bytes, 32 little-endian bytes each."""
    return b"".join(value.to_bytes(SHARE_BYTES, "little") for value in values)


def unpack(data: bytes) -> list[int]:
    """The numbers in bytes."""
    starts = range(0, len(data), SHARE_BYTES)
    return [int.from_bytes(data[start : start + SHARE_BYTES], "little") for start in starts]


def place_of(rank: int) -> int:
    """Where the share of agent `rank` is the polynomial's value; the secret is at 0."""
    return rank + 1


def place_of_point(number: int) -> int:
    """Where a public value is the polynomial's value; beyond all ranks."""
    return (1 << 33) + number
