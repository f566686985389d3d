"""Secure aggregation on an agent's side: what leaves it can be read as a sum over its group only.

After Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS
2017, without its secret sharing: who drops out makes its group's round worthless instead.

Every pair of agents agrees on a seed once (X25519, HKDF with SHA-256). For round n agent i of group
G sends

    y_i = x_i + b_i + Σ_{j in G, j ≠ i} ±PRG(seed_ij, n)      modulo 2^64,

with + for i < j and - for i > j, so that the pairs' masks cancel in the sum over G. b_i is the
self-mask, a stream from a seed of its own for each n. Only when the reports of all members are
there does the coordinator ask for these seeds. A member that is gone by then takes its b_i along:
the round has no sum, and the others' reports stay hidden behind their masks with it.

`SumMasker` does this. `Masker` does it for each round s of the anonymous family's schedule, in
which the s-th member is left out: there a pair's mask stands only where both take part.

The agent trusts nobody to choose groups. It refuses

    a roster of fewer than C        the sum would cover too few
    a number that does not grow     masks used twice cancel in the difference
    repeated names                  a roster of C names of which some are one
    a second unmask                 and one for a round that is not its last
"""

import struct
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from protocol.errors import RemoteProtocolError
from protocol.masking import Words, check_key, keystream, keystream_bytes, keystreams
from protocol.signing import Signer

_SEAL_NONCE = struct.Struct("<QI")


def public_key(private: bytes) -> bytes:
    """The X25519 public key of a private one, 32 bytes each."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def _derive(secret: bytes, info: bytes) -> bytes:
    """Two keys of 32 bytes."""
    return HKDF(algorithm=SHA256(), length=64, salt=None, info=info).derive(secret)


@dataclass(slots=True)
class SumMasker:
    """Agent `rank`'s keys and the rounds that it has taken part in.

    `private` is its X25519 key, any 32 secret bytes. `group_size` is the fewest agents that a sum
    may cover. `signer` knows by which keys the others sign, where they do. `keys` are the public
    keys by rank, `seeds` what it agreed on with those it has met: 32 bytes for masks and 32 for
    sealed reports.
    """

    left_out: ClassVar[int] = 0
    """How many members of a group are not in a sum over it."""

    rank: int
    group_size: int
    private: bytes
    signer: Signer | None = None
    keys: dict[int, bytes] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    last: int = -1
    reported: int = -1
    revealed: int = -1
    self_key: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.self_key = _derive(self.private, b"posse self-mask")[:32]

    @property
    def public(self) -> bytes:
        """The agent's own public key, signed if agents sign."""
        key = public_key(self.private)
        return key if self.signer is None else key + self.signer.sign(b"masking key", key)

    def meet(self, keys: dict[int, bytes]) -> None:
        """Take everybody's public keys, by rank, or raise RemoteProtocolError.

        They come by way of the coordinator. With a `signer` one that it replaced is found out;
        without it is trusted not to.
        """
        if keys.get(self.rank) != self.public:
            raise RemoteProtocolError("wrong-keys", "our own public key is not among them")
        self.keys = {rank: check_key(rank, word, self.signer) for rank, word in keys.items()}

    def begin(self, number: int, group: tuple[int, ...]) -> None:
        """Take part in round `number` in this group, empty for none; or RemoteProtocolError."""
        if number <= self.last:
            raise RemoteProtocolError("number-not-increasing", f"{number} after {self.last}")
        if group:
            self._join(group)
        self.last = number

    def _join(self, group: tuple[int, ...]) -> None:
        if len(set(group)) != len(group):
            raise RemoteProtocolError("repeated-names", f"group {group}")
        if (covered := len(group) - self.left_out) < self.group_size:
            raise RemoteProtocolError(
                "small-roster", f"{covered} users where C = {self.group_size}"
            )
        if self.rank not in group:
            raise RemoteProtocolError("wrong-group", f"agent {self.rank} is not in {group}")
        if missing := [user for user in group if user not in self.keys]:
            raise RemoteProtocolError("no-key", f"agent {missing[0]} has no public key")
        if strangers := [user for user in group if user not in self.seeds and user != self.rank]:
            self._agree(strangers)

    def mask(self, number: int, group: tuple[int, ...], words: Words) -> Words:
        """Hide a report, once per round that was begun."""
        self._report(number)
        masked = words + keystream(self.own_seed(number), number, len(words))
        streams = self._streams(number, group, len(words))
        below = np.array([peer for peer in group if peer != self.rank]) < self.rank
        masked += streams[~below].sum(axis=0, dtype=np.uint64)
        masked -= streams[below].sum(axis=0, dtype=np.uint64)
        return masked

    def own_seed(self, number: int) -> bytes:
        """The seed of the self-mask b_i of one round."""
        return keystream_bytes(self.self_key, number, 32)

    def reveal(self, number: int) -> bytes:
        """The self-mask's seed, once, and only for the last report."""
        if number == self.revealed:
            raise RemoteProtocolError("second-unmask", f"assignment {number}")
        if number != self.reported or number != self.last:
            raise RemoteProtocolError("stale-unmask", f"assignment {number}")
        self.revealed = number
        return self.own_seed(number)

    def _report(self, number: int) -> None:
        """A report leaves, once per round and only for the last that was begun."""
        if number != self.last or number == self.reported:
            raise RemoteProtocolError("second-report", f"assignment {number}")
        self.reported = number

    def _streams(self, number: int, group: tuple[int, ...], width: int) -> Words:
        """A row of masks per other member, in the group's order."""
        seeds = [self.seeds[peer][:32] for peer in group if peer != self.rank]
        return keystreams(seeds, number, width)

    def _agree(self, peers: list[int]) -> None:
        """Agree on seeds with those that this agent meets for the first time."""
        private = X25519PrivateKey.from_private_bytes(self.private)
        for peer in peers:
            try:
                secret = private.exchange(X25519PublicKey.from_public_bytes(self.keys[peer]))
            except ValueError:
                raise RemoteProtocolError("bad-key", f"agent {peer}'s public key") from None
            pair = struct.pack("<II", *sorted((self.rank, peer)))
            self.seeds[peer] = _derive(secret, b"posse pair" + pair)


@dataclass(slots=True)
class Masker(SumMasker):
    """Masks over the anonymous family's schedule of 2C + 2 rounds; `group_size` is C."""

    left_out = 1

    def begin(self, number: int, group: tuple[int, ...]) -> None:
        if len(group) > 2 * self.group_size + 1:
            raise RemoteProtocolError("large-group", f"{len(group)} users")
        SumMasker.begin(self, number, group)

    def mask(self, number: int, group: tuple[int, ...], words: Words) -> Words:
        """Hide a report of 2C + 2 words, 0 for the round in which this agent is left out."""
        masked = SumMasker.mask(self, number, group, words)
        masked[1 + group.index(self.rank)] = 0
        return masked

    def _streams(self, number: int, group: tuple[int, ...], width: int) -> Words:
        """See `SumMasker._streams`; 0 where the peer is left out: both must take part."""
        streams = SumMasker._streams(self, number, group, width)
        steps = [step for step, peer in enumerate(group, start=1) if peer != self.rank]
        streams[np.arange(len(steps)), steps] = 0
        return streams

    def seal(self, number: int, group: tuple[int, ...], report: bytes) -> bytes:
        """A report for the group's first member alone, bound to the assignment and the group."""
        self._report(number)
        nonce = _SEAL_NONCE.pack(number, self.rank)
        return ChaCha20Poly1305(self.seeds[group[0]][32:]).encrypt(nonce, report, _names(group))

    def open(self, number: int, group: tuple[int, ...], sender: int, box: bytes) -> bytes:
        """What `sender` sealed, or RemoteProtocolError."""
        nonce = _SEAL_NONCE.pack(number, sender)
        try:
            return ChaCha20Poly1305(self.seeds[sender][32:]).decrypt(nonce, box, _names(group))
        except InvalidTag:
            raise RemoteProtocolError("bad-seal", f"from agent {sender}") from None


def _names(group: tuple[int, ...]) -> bytes:
    return np.array(group, dtype="<u4").tobytes()
