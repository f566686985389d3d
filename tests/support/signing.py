"""Agents that sign, for tests."""

from typing import Any

from posse.engines import memory
from posse.plan import prepare
from posse.protocol.signing import HASH_BYTES, Signer, hash_of, public_of
from posse.results.record import RunRecord

RING = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]


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


def run_signed(
    system: str, edges: list[list[int]], on_missing: str = "continue", **parameters: Any
) -> RunRecord:
    """A run in memory on a graph of these edges, in which agents sign."""
    spec = {
        "system": system,
        "seed": 3,
        "agents": {"count": 1 + max(max(edge) for edge in edges)},
        "arms": {"kind": "bernoulli", "means": [0.9, 0.5, 0.3, 0.6]},
        "topology": {"kind": "edges", "edges": edges},
        "parameters": parameters,
        "engine": {"sign": True, "on_missing": on_missing},
    }
    return memory.run(prepare(spec), 0)


def states_anew(signer: Signer, kind: bytes, place: bytes, content: bytes) -> bytes:
    """A statement of a liar, which keeps no register of what it has stated before."""
    digest = hash_of(content)
    return digest + signer._sign(kind, place + digest)
