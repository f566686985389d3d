"""Agents' signatures, which prove that content passed on by others is its origin's, unchanged.

Ed25519 (RFC 8032), from `cryptography`. The signed text begins with the name of the run and the
kind of content, so a signature made in one run or for one purpose is invalid in any other.

What agents state once at each place of a run (a round) they sign as a hash. Two statements of one
place prove by themselves that their origin stated two things (PeerReview, Haeberlen et al. 2007).
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from posse.protocol.errors import Contradiction, LocalProtocolError, RemoteProtocolError

SIGNATURE_BYTES = 64
HASH_BYTES = 32
STATEMENT_BYTES = HASH_BYTES + SIGNATURE_BYTES


_SMALL = frozenset(
    bytes.fromhex(point)
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""The points of order 1, 2, 4 and 8, as libsodium's `has_small_order` has them, their sign 0."""


def is_weak(public: bytes) -> bool:
    """Whether this Ed25519 key is of small order, so that anybody can sign for it."""
    return public[:31] + bytes([public[31] & 0x7F]) in _SMALL


Register = Callable[[bytes, bytes, bytes, bytes], None]
"""Called with run, kind, place and hash before each signature, once for each place: it keeps them,
and raises if another content was signed there."""


PAYLOADS: Final = frozenset({b"answer", b"masking key"})
"""Kinds of what is signed itself, without a place: cut in two it could pass for a statement."""


class Signer:
    """Signs for one agent, and checks the signatures of others.

    `secret` is its own key, 32 bytes, or None if it only checks; `known` has public keys by rank;
    `run` is the run's name. What is signed is first entered in the `register`; without one only the
    last of each kind is known.
    """

    def __init__(
        self,
        secret: bytes | None,
        known: Mapping[int, bytes],
        run: bytes,
        register: Register | None = None,
    ) -> None:
        self._last: dict[bytes, tuple[bytes, bytes]] = {}
        self._register = self._keep_last if register is None else register
        self._own = Ed25519PrivateKey.from_private_bytes(secret) if secret is not None else None
        self._known = {rank: Ed25519PublicKey.from_public_bytes(k) for rank, k in known.items()}
        self.name(run)

    @property
    def run(self) -> bytes:
        """The run's name."""
        return self._name

    def name(self, run: bytes) -> None:
        """Give the run its name, where that is known only when all agents have come."""
        self._name = run
        self._run = len(run).to_bytes(1, "little") + run

    def sign(self, kind: bytes, payload: bytes) -> bytes:
        """The agent's own signature of the one payload of this kind in the run, 64 bytes."""
        self._register(self._name, kind, b"", hash_of(payload))
        return self._sign(kind, payload)

    def _sign(self, kind: bytes, payload: bytes) -> bytes:
        assert self._own is not None
        return self._own.sign(self._text(kind, payload))

    def _keep_last(self, run: bytes, kind: bytes, place: bytes, digest: bytes) -> None:
        before, held = self._last.get(kind, (b"", digest))
        if place and place == before and digest != held:
            raise LocalProtocolError(f"{kind!r} is signed once for each place, and this differs")
        self._last[kind] = place, digest

    def alias(self, name: str) -> bytes:
        """16 bytes by which others know a name again, in every run, and learn nothing of it."""
        assert self._own is not None
        key = self._own.private_bytes_raw()
        return blake2b(name.encode(), digest_size=16, key=key, person=b"posse alias").digest()

    def check(self, rank: int, kind: bytes, payload: bytes, signature: bytes) -> None:
        """Raise `RemoteProtocolError` unless agent `rank` signed this."""
        if not self.signed(rank, kind, payload, signature):
            raise RemoteProtocolError("bad-signature", f"of agent {rank}")

    def signed(self, rank: int, kind: bytes, payload: bytes, signature: bytes) -> bool:
        """Whether agent `rank` signed this; False if its key is unknown."""
        key = self._known.get(rank)
        if key is None:
            return False
        try:
            key.verify(signature, self._text(kind, payload))
        except InvalidSignature:
            return False
        return True

    def state(self, kind: bytes, place: bytes, content: bytes) -> bytes:
        """The agent's own statement at a place of the run: a hash of the content, a signature."""
        digest = hash_of(content)
        self._register(self._name, kind, place, digest)
        return digest + self._sign(kind, place + digest)

    def check_statement(self, rank: int, kind: bytes, place: bytes, statement: bytes) -> None:
        """Raise `RemoteProtocolError` unless agent `rank` made this statement."""
        digest, signature = statement[:HASH_BYTES], statement[HASH_BYTES:]
        self.check(rank, kind, place + digest, signature)

    def check_contradiction(self, proof: Contradiction) -> None:
        """Raise `RemoteProtocolError` unless this proves that its origin stated two things."""
        if proof.kind in PAYLOADS:
            raise RemoteProtocolError("no-proof", "of what is no statement")
        first, second = proof.statements
        if first[:HASH_BYTES] == second[:HASH_BYTES]:
            raise RemoteProtocolError("no-proof", "two statements that do not contradict")
        for statement in proof.statements:
            self.check_statement(proof.origin, proof.kind, proof.place, statement)

    def _text(self, kind: bytes, payload: bytes) -> bytes:
        return b"posse " + self._run + len(kind).to_bytes(1, "little") + kind + payload


def nonce_of(incarnation: bytes) -> bytes:
    """An agent's part of a run's name: a hash of 16 bytes of its process's random number."""
    return blake2b(incarnation, digest_size=16, person=b"posse nonce").digest()


def run_name(own: bytes, nonces: Iterable[bytes]) -> bytes:
    """The run's name, 32 bytes, from what its coordinator drew and every agent's nonce, by rank.

    As each agent finds its own nonce in it, what others signed under this name is of this run.
    """
    return hash_of(len(own).to_bytes(1, "little") + own + b"".join(nonces))


def hash_of(content: bytes) -> bytes:
    """The hash of 32 bytes (BLAKE2b) that a statement is of."""
    return blake2b(content, digest_size=HASH_BYTES).digest()


def public_of(secret: bytes) -> bytes:
    """The Ed25519 public key of 32 secret bytes."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
