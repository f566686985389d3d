"""Secure aggregation, the agent's side: the coordinator can read only the sum over a group.

After Bonawitz et al., "Practical secure aggregation for privacy-preserving machine learning", CCS
2017. Without `dropouts` nothing is shared: if a member drops out, its group's round has no sum.

Every pair of agents agrees on a seed once (X25519, HKDF with SHA-256). For round n agent i of group
G sends

    y_i = x_i + b_i + Σ_{j in G, j ≠ i} ±PRG(seed_ij, n)      modulo 2^64,

with + for i < j and - for i > j, so that the pairs' masks cancel in the sum over G. b_i is the
self-mask, a stream from a separate seed for each n. The coordinator asks for these seeds only when
it has all members' reports. If a member is gone by then, nobody can remove its b_i, and the masks
that the others share with it keep their reports hidden.

`SumMasker` does this. `Masker` does it for each round s of the anonymous family's schedule, which
leaves the s-th member out; a pair's mask is used only in rounds with both.

Of n members d = `dropouts` may be lost. Seeds of pairs last for the whole run, so they are never
shared: with them, and the self-masks that it revealed itself, all earlier reports of a lost agent
could be read. Whoever is left says instead which masks, of this round alone, its report shares with
members that did not report (`rest`). If one of those left is lost after that, its b_i must be
found: the seed is the value at 0 of a polynomial of degree n - 1. Its values at the places of the
other n - 1 are their shares, which both ends of a pair derive from their secret; d more values, in
the report, are public. So n - d shares find the seed, and fewer tell nothing of it.

An agent gives its masks with another, or its share of the other's seed, and never both in a round:
the first before, and the second after it revealed its own seed. That is not enough where the
coordinator tells one agent that all survived, and the others that this one did not: it would give
its seed, and they their masks with it. So survivors *settle* once who survived (the consistency
check of Bonawitz et al.): each has a tag for each other, under the secret of the pair, of all keys
that it was told, of the group and of the survivors, and gives no masks from then on. An agent
reveals its seed only if n - d of its group, itself included, have settled for the very survivors
that it knows. With 2 (n - d) > n no two sets of survivors are settled for, and no mask between two
of those n - d is ever told; with n > 2d + 1 nobody else's report can be read without one of theirs
(one more, as a round may leave a member out), also if the coordinator lies. c agents that collude
with it count as lost: n - c.

The agent does not trust the coordinator to choose groups. It refuses

    a sum over fewer than C                  it would cover too few
    a number that does not increase          masks used twice cancel in the difference
    repeated names                           the group would be smaller than it looks
    a second unmask, or one of an old round
    survivors that were not there before, or are too few
    its masks with another after it settled, or its share of the seed before it revealed its own
    to reveal its seed before enough others have settled for the same survivors
"""

import hashlib
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import ClassVar

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from posse.protocol.arrays import BoolArray
from posse.protocol.errors import RemoteProtocolError, Unsettled
from posse.protocol.masking import (
    TAG_BYTES,
    Answer,
    Confirm,
    Covered,
    Masked,
    Question,
    Rest,
    Reveal,
    Settle,
    Settled,
    Share,
    Survivors,
    Unmask,
    Unmasked,
    Words,
    check_key,
    keystream,
    keystream_bytes,
    keystreams,
    pack_words,
)
from posse.protocol.sharing import derived, interpolated, pack, place_of, place_of_point
from posse.protocol.signing import Signer

_SEAL_NONCE = _SETTLED = struct.Struct("<QI")


def public_key(private: bytes) -> bytes:
    """The X25519 public key of a private one, 32 bytes each."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def _split(tags: bytes) -> Iterator[bytes]:
    for start in range(0, len(tags), TAG_BYTES):
        yield tags[start : start + TAG_BYTES]


def _derive(secret: bytes, info: bytes) -> bytes:
    """Two keys of 32 bytes."""
    return HKDF(algorithm=SHA256(), length=64, salt=None, info=info).derive(secret)


@dataclass(slots=True)
class SumMasker:
    """Agent `rank`'s keys and its progress through rounds.

    `private` is its X25519 key, any 32 secret bytes. `group_size` is the fewest agents that a sum
    may cover, from which `dropouts` may be lost. `signer` checks the others' signatures, where
    agents sign. `keys` has the public keys by rank. `seeds` has the secrets agreed on with each
    peer so far: 32 bytes for masks, then 32 for sealed reports and shares.
    """

    left_out: ClassVar[int] = 0
    """The number of members of a group that a sum over it leaves out."""

    rank: int
    group_size: int
    private: bytes
    signer: Signer | None = None
    dropouts: int = 0
    keys: dict[int, bytes] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    last: int = -1
    reported: int = -1
    revealed: int = -1
    settled: int = -1
    members: tuple[int, ...] = ()
    survivors: frozenset[int] = frozenset()
    covers: bool = field(init=False)
    """Whether agents may drop out, by its own run file: then it settles, whoever was lost."""
    self_key: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.covers = self.dropouts > 0
        self.self_key = _derive(self.private, b"posse self-mask")[:32]

    @property
    def public(self) -> bytes:
        """The agent's own public key, signed if agents sign."""
        key = public_key(self.private)
        return key if self.signer is None else key + self.signer.sign(b"masking key", key)

    def take_keys(self, keys: dict[int, bytes]) -> None:
        """Take everybody's public keys, by rank, or raise `RemoteProtocolError`.

        The coordinator passes them on. With a `signer` the agent detects a replaced key; without,
        it trusts the coordinator to replace none.
        """
        if keys.get(self.rank) != self.public:
            raise RemoteProtocolError("wrong-keys", "this agent's own public key is not among them")
        self.keys = {rank: check_key(rank, word, self.signer) for rank, word in keys.items()}

    def go_on_without(self, lost: int) -> None:
        """Let this many fewer be lost, who were lost before they had a key.

        Else the shares of fewer than `group_size` - `dropouts` agents would find a seed.
        """
        self.group_size -= lost
        self.dropouts -= lost

    def begin(self, number: int, group: tuple[int, ...]) -> None:
        """Begin round `number` in this group, or () for none; may raise `RemoteProtocolError`."""
        if number <= self.last:
            raise RemoteProtocolError("number-not-increasing", f"{number} after {self.last}")
        if group:
            self._join(group)
        self.last, self.members, self.survivors = number, group, frozenset(group)

    def _check_size(self, group: Collection[int], least: int) -> None:
        if len(set(group)) != len(group):
            raise RemoteProtocolError("repeated-names", f"group {group}")
        if (covered := len(group) - self.left_out) < least:
            raise RemoteProtocolError("small-roster", f"{covered} users where C = {least}")

    def _join(self, group: tuple[int, ...]) -> None:
        self._check_size(group, self.group_size)
        if self.rank not in group:
            raise RemoteProtocolError("wrong-group", f"agent {self.rank} is not in {group}")
        if missing := [user for user in group if user not in self.keys]:
            raise RemoteProtocolError("no-key", f"agent {missing[0]} has no public key")
        if strangers := [user for user in group if user not in self.seeds and user != self.rank]:
            self._agree(strangers)

    def mask(self, number: int, group: tuple[int, ...], words: Words) -> Words:
        """Mask a report; allowed once, for the last round begun."""
        self._report(number)
        masked = words + keystream(self.own_seed(number), number, len(words))
        everybody = np.ones(len(group) - 1, dtype=bool)
        masked += self._shared_masks(number, group, everybody, len(words))
        return masked

    def make_report(self, number: int, words: Words) -> Masked | Covered:
        """The masked report of the last round begun, which may leave once."""
        packed = pack_words(self.mask(number, self.members, words))
        if not self.covers:
            return Masked(number, packed)
        return Covered(number, packed, self.points(number, self.members))

    def _shared_masks(
        self, number: int, group: tuple[int, ...], which: BoolArray, width: int
    ) -> Words:
        """The sum of the masks shared with those of the group's other members that `which` says."""
        streams = self._streams(number, group, width)
        below = np.array([peer for peer in group if peer != self.rank]) < self.rank
        total: Words = streams[which & ~below].sum(axis=0, dtype=np.uint64)
        total -= streams[which & below].sum(axis=0, dtype=np.uint64)
        return total

    def points(self, number: int, group: tuple[int, ...]) -> bytes:
        """The public values of the polynomial that shares the self-mask's seed."""
        values = {0: int.from_bytes(self.own_seed(number), "little")}
        for peer in sorted(set(group) - {self.rank}):
            values[place_of(peer)] = derived(self.seeds[peer][32:], self.rank, number)
        return pack([interpolated(values, place_of_point(n)) for n in range(self.dropouts)])

    def answer(self, asked: Question, width: int) -> Answer:
        """What the coordinator is told about a report of `width` words."""
        match asked:
            case Survivors(number, ranks):
                rest = self.rest(number, self.members, ranks, width)
                return Rest(number, len(ranks), pack_words(rest))
            case Settle(number):
                return Settled(number, self.settle(number))
            case Unmask(number):
                return Unmasked(number, self.reveal(number))
            case Confirm(number, tags):
                return Unmasked(number, self.reveal(number, tags))
            case Reveal(number, owner):
                return Share(number, owner, self.share(number, owner))

    def rest(
        self, number: int, group: tuple[int, ...], survivors: tuple[int, ...], width: int
    ) -> Words:
        """The masks in the last report that it shares with none of these; they may get fewer."""
        self._check_open(number)
        self._check_size(survivors, len(group) - self.left_out - self.dropouts)
        if self.rank not in survivors or not self.survivors.issuperset(survivors):
            raise RemoteProtocolError("wrong-group", f"survivors {survivors}")
        self.survivors = frozenset(survivors)
        lost = np.array([peer not in self.survivors for peer in group if peer != self.rank])
        return self._shared_masks(number, group, lost, width)

    def _check_open(self, number: int) -> None:
        """Raise `RemoteProtocolError` unless survivors may still be settled."""
        if not self.covers or number == self.settled:
            raise RemoteProtocolError("second-unmask", f"assignment {number}")
        if number != self.reported or number != self.last:
            raise RemoteProtocolError("stale-unmask", f"assignment {number}")

    def settle(self, number: int) -> bytes:
        """For each other survivor a tag of whom this agent takes for them; allowed once."""
        self._check_open(number)
        self.settled = number
        who = self._hash_survivors()
        return b"".join(self._make_tag(peer, self.rank, who) for peer in self._others())

    def _others(self) -> list[int]:
        """The other survivors, in the order of tags."""
        return sorted(self.survivors - {self.rank})

    def _hash_survivors(self) -> bytes:
        """A hash of all keys that it was told, of the group in its order, and of its survivors."""
        hashed = hashlib.blake2b(_pack_names(tuple(sorted(self.keys))), digest_size=32)
        for _, key in sorted(self.keys.items()):
            hashed.update(key)
        hashed.update(_pack_names((len(self.members), *self.members, *sorted(self.survivors))))
        return hashed.digest()

    def _make_tag(self, peer: int, sender: int, who: bytes) -> bytes:
        """The tag between this agent and a peer, of which one is the sender."""
        return hashlib.blake2b(
            _SETTLED.pack(self.last, sender) + who,
            key=self.seeds[peer][32:],
            digest_size=TAG_BYTES,
            person=b"posse survivors",
        ).digest()

    def share(self, number: int, owner: int) -> bytes:
        """This agent's share of the seed of a survivor's self-mask, after it revealed its own."""
        if not self.covers or number != self.revealed or number != self.last:
            raise RemoteProtocolError("stale-unmask", f"assignment {number}")
        if owner not in self.survivors or owner == self.rank:
            raise RemoteProtocolError("wrong-member", f"agent {owner}")
        return pack([derived(self.seeds[owner][32:], owner, number)])

    def own_seed(self, number: int) -> bytes:
        """The seed of the self-mask b_i of one round."""
        if self.covers:
            return pack([derived(self.self_key, self.rank, number)])
        return keystream_bytes(self.self_key, number, 32)

    def reveal(self, number: int, tags: bytes = b"") -> bytes:
        """The self-mask's seed; allowed once, for the last round and after its report.

        Where agents may drop out, the others' `tags` must show that enough settled for the same
        survivors: also if the coordinator says that all that may be lost were lost before.
        """
        if number == self.revealed:
            raise RemoteProtocolError("second-unmask", f"assignment {number}")
        if number != self.reported or number != self.last:
            raise RemoteProtocolError("stale-unmask", f"assignment {number}")
        if self.covers:
            if number != self.settled:
                raise RemoteProtocolError("stale-unmask", f"assignment {number} is not settled")
            who = self._hash_survivors()
            tag_of = dict(zip(self._others(), _split(tags), strict=False))
            same = [
                peer
                for peer, tag in tag_of.items()
                if compare_digest(tag, self._make_tag(peer, peer, who))
            ]
            agreed, least = 1 + len(same), len(self.members) - self.dropouts
            if agreed < least:
                # zeros stand for who was lost before it settled
                lying = [peer for peer, tag in tag_of.items() if peer not in same and any(tag)]
                raise Unsettled(agreed, least, tuple(lying))
        self.revealed = number
        return self.own_seed(number)

    def _report(self, number: int) -> None:
        """Note that a report leaves; allowed once, for the last round begun."""
        if number != self.last or number == self.reported:
            raise RemoteProtocolError("second-report", f"assignment {number}")
        self.reported = number

    def _streams(self, number: int, group: tuple[int, ...], width: int) -> Words:
        """The pairwise masks, a row for each other member in the group's order."""
        seeds = [self.seeds[peer][:32] for peer in group if peer != self.rank]
        return keystreams(seeds, number, width)

    def _agree(self, peers: list[int]) -> None:
        """Agree on seeds with peers that this agent meets for the first time."""
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
        """Mask a report of 2C + 2 words, 0 for the round that leaves this agent out."""
        masked = SumMasker.mask(self, number, group, words)
        masked[1 + group.index(self.rank)] = 0
        return masked

    def rest(
        self, number: int, group: tuple[int, ...], survivors: tuple[int, ...], width: int
    ) -> Words:
        words = SumMasker.rest(self, number, group, survivors, width)
        words[1 + group.index(self.rank)] = 0
        return words

    def _streams(self, number: int, group: tuple[int, ...], width: int) -> Words:
        """The pairwise masks, 0 in the rounds that leave the peer out."""
        streams = SumMasker._streams(self, number, group, width)
        steps = [step for step, peer in enumerate(group, start=1) if peer != self.rank]
        streams[np.arange(len(steps)), steps] = 0
        return streams

    def seal(self, number: int, group: tuple[int, ...], report: bytes) -> bytes:
        """Encrypt a report for the group's first member, bound to the assignment and the group."""
        self._report(number)
        nonce = _SEAL_NONCE.pack(number, self.rank)
        return ChaCha20Poly1305(self.seeds[group[0]][32:]).encrypt(
            nonce, report, _pack_names(group)
        )

    def open(self, number: int, group: tuple[int, ...], sender: int, box: bytes) -> bytes:
        """Decrypt what `sender` sealed; `RemoteProtocolError` if it is not authentic."""
        nonce = _SEAL_NONCE.pack(number, sender)
        try:
            return ChaCha20Poly1305(self.seeds[sender][32:]).decrypt(nonce, box, _pack_names(group))
        except InvalidTag:
            raise RemoteProtocolError("bad-seal", f"from agent {sender}") from None


def _pack_names(group: tuple[int, ...]) -> bytes:
    return np.array(group, dtype="<u4").tobytes()
