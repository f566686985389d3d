"""The messages of secure aggregation, and numbers modulo 2^64.

See agent/masking.py for what they do. The anonymous family sends them for each assignment, CDP-MAB
with shared noise in each round.
"""

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from protocol.errors import RemoteProtocolError
from protocol.wire import Message

Words = NDArray[np.uint64]

WORD_BITS = 64
"""Sums are taken modulo 2^64."""

MAX_WORDS = 2_002
"""Words of a report: 16 KB, far below the limit of a payload."""

Index = Annotated[int, Meta(ge=0, le=1 << 32)]
Count = Annotated[int, Meta(ge=0, le=1 << 48)]
Key = Annotated[bytes, Meta(min_length=32, max_length=32)]
Report = Annotated[bytes, Meta(max_length=8 * MAX_WORDS)]


class PublicKey(Message, frozen=True):
    """Agent to coordinator, once: its X25519 public key."""

    key: Key


class Keys(Message, frozen=True):
    """Coordinator to agents, once: everybody's public key, by rank."""

    keys: dict[Index, Key]


class Masked(Message, frozen=True):
    """Agent to coordinator: its masked words, little-endian."""

    number: Count
    words: Report


class Unmask(Message, frozen=True):
    """Coordinator to the members of a group whose masked reports are all there."""

    number: Count


class Unmasked(Message, frozen=True):
    """Agent to coordinator: the seed of its self-mask for this number."""

    number: Count
    seed: Key


def pack_words(words: Words) -> bytes:
    """Words as eight little-endian bytes each."""
    return np.ascontiguousarray(words, dtype="<u8").tobytes()


def unpack_words(data: bytes, count: int) -> Words:
    """`count` words from a peer's bytes, or `RemoteProtocolError`."""
    if len(data) != 8 * count:
        raise RemoteProtocolError("wrong-length", f"{len(data)} bytes for {count} words")
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)
