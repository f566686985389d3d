"""Secure aggregation: its messages, words modulo 2^64, and the keystreams that mask them.

agent/masking.py explains the protocol. The anonymous family runs it for each assignment, CDP-MAB
with shared noise for each round.

Both ends expand a keystream from a common seed: ChaCha20 (RFC 8439), from `cryptography`, applied
to zeros. It is called through ChaCha20-Poly1305, whose set-up costs a fifth of the plain cipher's;
the tag is dropped. A pair (seed, number) gives one stream, so numbers must not repeat under a seed.
"""

import struct
from functools import lru_cache
from typing import Annotated, ClassVar, get_args

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec import Meta
from numpy.typing import NDArray

from posse.protocol.bounds import MOST_AGENTS, Rank
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.message import Message
from posse.protocol.sharing import SHARE_BYTES
from posse.protocol.signing import SIGNATURE_BYTES, Signer

Words = NDArray[np.uint64]

WORD_BITS = 64
"""Sums are taken modulo 2^64."""

KEY_BYTES = 32
_ANY_KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
"""With a public key of small order every exchange gives zeros, and fails."""

_NONCE = struct.Struct("<4sQ")

MAX_DROPOUTS = 256
"""Most agents of a sum that may be lost."""

Dropouts = Annotated[
    int,
    Meta(ge=0, le=MAX_DROPOUTS, description="agents that a masked sum can do without, if lost"),
]

MAX_WORDS = 2_002
"""Most words of a report: 16 KB, far below the limit of a payload."""

TAG_BYTES = 16
"""Nobody guesses a tag of this many bytes, and each may be tried once in a round."""

Index = Annotated[int, Meta(ge=0, le=1 << 32)]
Unsigned48 = Annotated[int, Meta(ge=0, le=1 << 48)]
Key = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
SignedKey = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES + SIGNATURE_BYTES)]
ReportWords = Annotated[bytes, Meta(max_length=8 * MAX_WORDS)]


Tags = Annotated[bytes, Meta(max_length=TAG_BYTES << 16)]


class PublicKey(Message, frozen=True):
    """Agent to coordinator, once: its X25519 public key, then its signature where agents sign."""

    reveals = "a public key of this run, signed"

    key: SignedKey


class Keys(Message, frozen=True):
    """Coordinator to agents, once: everybody's `PublicKey`, by rank."""

    reveals = "all agents' public keys"

    keys: Annotated[dict[Rank, SignedKey], Meta(max_length=MOST_AGENTS)]


class Masked(Message, frozen=True):
    """Agent to coordinator: its masked words, little-endian."""

    reveals = "the agent's sums behind masks: alone, nothing"

    number: Unsigned48
    words: ReportWords


class Covered(Message, frozen=True):
    """Agent to coordinator, in place of `Masked` where agents may drop out.

    `points` are public values of the polynomial whose value at 0 is the seed of its self-mask.
    """

    reveals = (
        "with `dropouts`: as `Masked`, and public values that say nothing of its mask without the "
        "shares of all but `dropouts` of its group"
    )

    number: Unsigned48
    words: ReportWords
    points: Annotated[bytes, Meta(max_length=SHARE_BYTES * MAX_DROPOUTS)]


class Survivors(Message, frozen=True):
    """Coordinator to agents: these reported and are there; say what you share with the others."""

    reveals = "the same: who of the group reported and is there"

    number: Unsigned48
    ranks: Annotated[tuple[Index, ...], Meta(min_length=1, max_length=100_000)]


class Rest(Message, frozen=True):
    """Agent to coordinator: the sum of the masks that its report shares with no survivor.

    `survivors` says how many there were when it was asked; they only get fewer.
    """

    reveals = (
        "the same: masks that the agent shares with lost members, whose own masks stay unknown"
    )

    number: Unsigned48
    survivors: Index
    words: ReportWords


class Settle(Message, frozen=True):
    """Coordinator to agents: these survivors are the last; tell each other whom you take for them.

    Whoever is lost from now on stays in the sum.
    """

    reveals = "the same: that no more is asked about the lost"

    number: Unsigned48


class Settled(Message, frozen=True):
    """Agent to coordinator: for each other survivor a tag of keys, group and survivors.

    In the order of their ranks, of 16 bytes each. No more `Rest` follows.
    """

    reveals = "the same: tags of whom the agent takes for survivors"

    number: Unsigned48
    tags: Tags


class Confirm(Message, frozen=True):
    """Coordinator to an agent, in place of `Unmask` where agents may drop out.

    `tags` has what the other survivors told it in `Settled`, or zeros.
    """

    reveals = "the same: the others' tags"

    proof: ClassVar[str] = "tags"

    number: Unsigned48
    tags: Tags


class Reveal(Message, frozen=True):
    """Coordinator to agents: a survivor is lost; send your share of its self-mask's seed."""

    reveals = "the same: who of the group is lost after it reported"

    number: Unsigned48
    rank: Index


class Share(Message, frozen=True):
    """Agent to coordinator: its share of the seed of the self-mask of agent `rank`."""

    reveals = "the same: a share of the seed of that member's own mask"

    number: Unsigned48
    rank: Index
    share: Key


class Unmask(Message, frozen=True):
    """Coordinator to the members of a group whose masked reports are all there."""

    reveals = "that the reports of the whole group are there"

    number: Unsigned48


class Unmasked(Message, frozen=True):
    """Agent to coordinator: the seed of its self-mask for this number."""

    reveals = (
        "the seed of the agent's own mask, after which the group's sums alone can be read (with "
        "shared noise covered by the claim)"
    )

    number: Unsigned48
    seed: Key


Question = Unmask | Survivors | Settle | Confirm | Reveal
"""What a coordinator asks after the reports."""

Answer = Rest | Settled | Unmasked | Share
"""What an agent answers to it."""

MASKED_TO_AGENT = (Keys, *get_args(Question))
MASKED_TO_COORDINATOR = (PublicKey, Masked, Covered, *get_args(Answer))

UNREADABLE = (*MASKED_TO_COORDINATOR, Keys, Confirm)
"""Messages of keys, masked words and shares, which tell no numbers."""


def check_key(rank: int, word: bytes, signer: Signer | None) -> bytes:
    """The X25519 public key in agent `rank`'s `PublicKey`; `RemoteProtocolError` if it is bad.

    With a key of small order, others would know what two agents agree on. With a `signer` the agent
    itself must have signed the key: the coordinator, which passes keys on, could replace it.
    """
    key, signature = word[:KEY_BYTES], word[KEY_BYTES:]
    if signer is not None:
        signer.check(rank, b"masking key", key, signature)
    elif signature:
        raise RemoteProtocolError("bad-key", f"agent {rank} signed, and nobody does here")
    if not agrees(key):
        raise RemoteProtocolError("bad-key", f"agent {rank}'s public key")
    return key


@lru_cache(maxsize=4096)
def agrees(key: bytes) -> bool:
    """Whether key agreement works with this key; cached for the agents of one process."""
    try:
        _ANY_KEY.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return True


def pack_words(words: Words) -> bytes:
    """Words as bytes, eight little-endian bytes per word."""
    return np.ascontiguousarray(words, dtype="<u8").tobytes()


def unpack_words(data: bytes, count: int) -> Words:
    """`count` words from a peer's bytes, or `RemoteProtocolError`."""
    if len(data) != 8 * count:
        raise RemoteProtocolError("wrong-length", f"{len(data)} bytes for {count} words")
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)


def keystream_bytes(seed: bytes, number: int, count: int) -> bytes:
    """`count` bytes of the keystream of (seed, number); the seed has 32 bytes."""
    nonce = _NONCE.pack(b"mask", number)
    return ChaCha20Poly1305(seed).encrypt(nonce, bytes(count), None)[:count]


def keystreams(seeds: list[bytes], number: int, count: int) -> Words:
    """The keystream of each seed as words uniform modulo 2^64, shape (len(seeds), count)."""
    data = bytearray().join(keystream_bytes(seed, number, 8 * count) for seed in seeds)
    words = np.frombuffer(data, dtype="<u8").reshape((len(seeds), count))
    return np.asarray(words, dtype=np.uint64)


def keystream(seed: bytes, number: int, count: int) -> Words:
    """The keystream of one seed as `count` words uniform modulo 2^64."""
    stream: Words = keystreams([seed], number, count)[0]
    return stream
