"""Agents that sign, for tests."""

from posse.protocol.signing import HASH_BYTES, Signer, public_of
from posse.results.record import RunRecord


def signers(count: int, run: bytes = b"run") -> list[Signer]:
    """One for each agent, who know each other."""
    secrets = [bytes([rank + 1]) * 32 for rank in range(count)]
    known = {rank: public_of(secret) for rank, secret in enumerate(secrets)}
    return [Signer(secret, known, run) for secret in secrets]


def require_proof(record: RunRecord, signer: Signer, kind: bytes) -> None:
    """Anybody with the key of agent 0 can check what is kept of its two statements."""
    proof = record.document()["proofs"][0]
    place, (one, other) = bytes.fromhex(proof["place"]), proof["statements"]
    for statement in (one, other):
        signer.check_statement(0, kind, place, bytes.fromhex(statement))
    assert one[: 2 * HASH_BYTES] != other[: 2 * HASH_BYTES]
